package confirm

import (
	"cmp"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/verdict"
)

const (
	// alike is how many failures with one symptom, of different cases and within
	// a minute, may be an outage.
	alike = 5
	// probes is how many of them are measured again to find out.
	probes = 3
)

// A failure is a first outcome with a symptom.
type failure struct {
	place int
	side  Side
	Outcome
}

// retake measures again what may have failed because of an outage. Some of each
// group of failures go first; where one of them no longer fails, the others are
// taken again too. Where all fail again, the failures are real. It returns false
// where an outcome is missing.
func (d *decision) retake() bool {
	for _, group := range d.outages() {
		n := min(probes, len(group))
		if !d.replaceOutcomes(group[:n]) {
			return false
		}
		if !slices.ContainsFunc(group[:n], func(f failure) bool { return !failed(d.first[f.side][f.place]) }) {
			continue
		}
		if !d.replaceOutcomes(group[n:]) {
			return false
		}
	}
	return true
}

// replaceOutcomes replaces first outcomes by new ones.
func (d *decision) replaceOutcomes(group []failure) bool {
	if !d.affords(len(group)) {
		return true // the outcomes stay as they are
	}
	var requests []Request
	for _, f := range group {
		requests = append(requests, d.ask(f.place, f.side))
	}
	if !d.measure(requests) {
		return false
	}
	for _, r := range requests {
		d.first[r.Side][r.Case] = d.outcomes[r]
		d.findings[r.Case].Retaken[r.Side] = true
	}
	d.retaken += len(group)
	return true
}

// outages are the groups of failures that may have one cause, in the order of
// their first failure.
func (d *decision) outages() [][]failure {
	var failures []failure
	for i, c := range d.cases {
		if !c.Certain && c.Head.Symptom != "" && failed(c.Head) {
			failures = append(failures, failure{i, Head, c.Head})
		}
		if base := d.first[Base][i]; c.Fresh && !c.Gone && base.Symptom != "" && failed(base) {
			failures = append(failures, failure{i, Base, base})
		}
	}
	slices.SortStableFunc(failures, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.Symptom, b.Symptom), a.At.Compare(b.At))
	})
	var groups [][]failure
	for len(failures) > 0 {
		first := failures[0]
		end := slices.IndexFunc(failures, func(f failure) bool {
			return f.Symptom != first.Symptom || f.At.Sub(first.At) > time.Minute
		})
		if end < 0 {
			end = len(failures)
		}
		if end >= alike {
			groups = append(groups, failures[:end])
		}
		failures = failures[end:]
	}
	slices.SortStableFunc(groups, func(a, b []failure) int { return a[0].At.Compare(b[0].At) })
	return groups
}

// failed reports whether an outcome is a failure or no judgement at all.
func failed(o Outcome) bool { return o.Verdict == verdict.Fail || o.Verdict.Rank() < 0 }
