package confirm

import (
	"cmp"
	"slices"
	"time"
)

const (
	// alike is how many errors with one symptom, of different cases and within
	// a minute, may be an outage.
	alike = 5
	// seldom is how many measurements there are for each of these errors, from the first
	// to the last of them, if they come at random and not in an outage.
	seldom = 10
	// probes is how many of them are measured again to find out.
	probes = 3
)

// An Outage is a window of time in which a source was out of order. Everything that was
// measured in it was measured again, whatever the outcome: measuring only the bad
// outcomes again would make them better than they are.
type Outage struct {
	From, To time.Time
	// Cases counts the cases that were measured again.
	Cases int
}

// An outage is a possible outage.
type outage struct {
	source   string
	from, to time.Time
	// errors are the requests that take the place of its errors, and past counts the
	// errors whose place an outcome took before.
	errors []Request
	past   int
}

// has reports whether an outcome was measured within the outage, or in part. An outage
// begins before its first error and ends after its last one, by about as much as its
// errors are apart; of the gaps between independent errors 95 % are within three times
// their mean.
func (o outage) has(x Outcome) bool {
	margin := max(time.Second, 3*o.to.Sub(o.from)/time.Duration(len(o.errors)+o.past-1))
	return x.Source == o.source && !x.At.After(o.to.Add(margin)) && !x.At.Add(x.Took).Before(o.from.Add(-margin))
}

// retake measures again the outcomes that an outage may have spoiled, and then the
// errors that are left. Some errors of each possible outage go first; if all of them
// come again, no outage is over. If one does not, all cases of the window are measured
// again, on both sides, once. It returns false if an outcome is missing.
func (d *decision) retake() bool {
	for _, o := range d.outages() {
		probe := o.errors[:min(probes, len(o.errors))]
		if o.past > 0 {
			probe = nil // it is over
		}
		if !d.replaceOutcomes(probe) {
			return false
		}
		over := o.past > 0 || slices.ContainsFunc(probe, func(r Request) bool { return d.first[r.Side][r.Case].Verdict.Rank() >= 0 })
		if !over {
			continue
		}
		rest, cases := d.within(o)
		if cases == 0 {
			continue
		}
		if !d.affords(len(rest)) {
			for _, r := range rest {
				d.findings[r.Case].Spoiled = true
			}
			continue
		}
		if !d.replaceOutcomes(rest) {
			return false
		}
		d.over = append(d.over, Outage{From: o.from, To: o.to, Cases: cases})
	}
	return d.replaceOutcomes(d.retries())
}

// retries returns the first outcomes that are errors which may not occur again.
func (d *decision) retries() []Request {
	var requests []Request
	for i, c := range d.cases {
		if c.Head.Retry && !d.findings[i].Retaken[Head] {
			requests = append(requests, Request{Case: i, Side: Head})
		}
		if base := d.first[Base][i]; base.Retry && c.Fresh && !c.Gone && !d.findings[i].Retaken[Base] {
			requests = append(requests, Request{Case: i, Side: Base})
		}
	}
	return requests
}

// within returns the replacements for everything else that was measured in an outage,
// and the number of its cases. Both sides of a case whose base is fresh are measured
// again, so that they stay a pair.
func (d *decision) within(o outage) (requests []Request, cases int) {
	for i, c := range d.cases {
		paired := c.Fresh && !c.Gone && len(c.Base) > 0
		if c.Certain || !o.has(c.Head) && (!paired || !o.has(c.Base[len(c.Base)-1])) {
			continue
		}
		cases++
		if !d.findings[i].Retaken[Head] {
			requests = append(requests, Request{Case: i, Side: Head})
		}
		if paired && !d.findings[i].Retaken[Base] {
			requests = append(requests, Request{Case: i, Side: Base})
		}
	}
	return requests, cases
}

// replaceOutcomes replaces first outcomes by new ones. If the budget does not allow it
// they stay unchanged, and errors leave the gate undetermined.
func (d *decision) replaceOutcomes(places []Request) bool {
	if len(places) == 0 || !d.affords(len(places)) {
		return true
	}
	requests := make([]Request, len(places))
	for k, r := range places {
		requests[k] = d.ask(r.Case, r.Side)
	}
	if !d.measure(requests) {
		return false
	}
	for _, r := range requests {
		d.first[r.Side][r.Case] = d.outcomes[r]
		d.findings[r.Case].Retaken[r.Side] = true
	}
	d.retaken += len(requests)
	return true
}

// A failure is a first outcome that is an error, or was one in the past.
type failure struct {
	place Request
	Outcome
	isPast bool
}

// outageOf returns the window of errors of one source, sorted by time.
func outageOf(failures []failure) outage {
	o := outage{source: failures[0].Source, from: failures[0].At, to: failures[0].At}
	for _, f := range failures {
		if f.isPast {
			o.past++
		} else {
			o.errors = append(o.errors, f.place)
		}
		if ended := f.At.Add(f.Took); ended.After(o.to) {
			o.to = ended
		}
	}
	return o
}

// measuredIn counts the first outcomes of an outage's source from its first error to its
// last, including errors whose place another outcome took.
func (d *decision) measuredIn(o outage) int {
	n := o.past
	during := func(x Outcome) bool {
		return x.Source == o.source && !x.At.Before(o.from) && !x.At.After(o.to)
	}
	for i, c := range d.cases {
		if during(c.Head) {
			n++
		}
		if c.Fresh && during(d.first[Base][i]) {
			n++
		}
	}
	return n
}

// outages returns the possible outages, in the order of their first errors.
func (d *decision) outages() []outage {
	failures := d.failures()
	slices.SortStableFunc(failures, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Symptom, b.Symptom), a.At.Compare(b.At))
	})
	var all []outage
	for len(failures) > 0 {
		first := failures[0]
		end := slices.IndexFunc(failures, func(f failure) bool {
			return f.Source != first.Source || f.Symptom != first.Symptom || f.At.Sub(first.At) > time.Minute
		})
		if end < 0 {
			end = len(failures)
		}
		if end >= alike {
			if o := outageOf(failures[:end]); d.measuredIn(o) < seldom*end {
				all = append(all, o)
			}
		}
		failures = failures[end:]
	}
	slices.SortStableFunc(all, func(a, b outage) int { return a.from.Compare(b.from) })
	return all
}

// failures returns the first outcomes that are errors, or were before.
func (d *decision) failures() (failures []failure) {
	for i, c := range d.cases {
		if !c.Certain && c.Head.Symptom != "" && c.Head.Verdict.Rank() < 0 {
			failures = append(failures, failure{place: Request{Case: i, Side: Head}, Outcome: c.Head})
		}
		if base := d.first[Base][i]; c.Fresh && !c.Gone && base.Symptom != "" && base.Verdict.Rank() < 0 {
			failures = append(failures, failure{place: Request{Case: i, Side: Base}, Outcome: base})
		}
		if c.Certain {
			continue
		}
		for _, side := range []Side{Base, Head} {
			for _, past := range c.Failures[side] {
				failures = append(failures, failure{Request{Case: i, Side: side}, past, true})
			}
		}
	}
	return failures
}
