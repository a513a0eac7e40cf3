// Package reporters arranges a report for readers and has the words shared by all
// renderings: the headline, labels, remarks, effort and cost. It also describes the state
// of a watch ([WatchSnapshot]), which is a value: each [WatchUpdate] has a new one.
//
// Most callers want [Arrange] and [Sections.Headline]. The packages below render the
// report for one kind of reader each, or publish it.
package reporters

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// Sections are the interesting rows, each in one section.
type Sections struct {
	// Blocking rows are regressions and cases that fail and did not fail before, the
	// worst first.
	Blocking []*report.Row
	// Also are errors, then improved, moved, new and removed cases.
	Also []*report.Row
	// Planned rows would run, if nothing was run.
	Planned []*report.Row
	// Regressed and Failing count the blocking rows of each kind.
	Regressed, Failing int
	// Standing counts cases that fail as they did at base.
	Standing int
}

// Arrange sorts the rows of a report into sections.
func Arrange(r *report.Report) Sections {
	var s Sections
	for i := range r.Cases {
		row := &r.Cases[i]
		kind := blocks(r, row)
		switch {
		case r.NotRunReason != "" && toRun(row):
			s.Planned = append(s.Planned, row)
		case kind == report.Regression:
			s.Regressed++
			s.Blocking = append(s.Blocking, row)
		case kind != "":
			s.Failing++
			s.Blocking = append(s.Blocking, row)
		case changed(row) != 0:
			s.Also = append(s.Also, row)
		case row.Verdict != nil && *row.Verdict == verdict.Fail:
			s.Standing++
		}
	}
	slices.SortStableFunc(s.Blocking, func(a, b *report.Row) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(drop(a), drop(b)))
	})
	slices.SortStableFunc(s.Also, func(a, b *report.Row) int { return cmp.Compare(changed(a), changed(b)) })
	return s
}

func toRun(row *report.Row) bool {
	return row.Action == plan.Run || row.Action == plan.Rejudge || row.Action == plan.Redecide
}

// order puts regressions before other failures.
func order(row *report.Row) int {
	if row.Class != nil && *row.Class == report.Regression {
		return 0
	}
	return 1
}

// drop sorts by difference, then by score.
func drop(row *report.Row) float64 {
	switch {
	case row.Score == nil:
		return 1
	case row.BaseScore == nil:
		return *row.Score
	}
	return *row.Score - *row.BaseScore
}

// blocks returns the reason why a row counts against the change: Regression, New for a
// case that fails and did not at base, Unchanged for one that fails as at base if the
// gate forbids any failure or requires this case to pass. Empty for all others,
// including cases in error.
func blocks(r *report.Report, row *report.Row) report.Class {
	if row.OutOfGate() {
		return ""
	}
	if row.Class != nil && *row.Class == report.Regression {
		return report.Regression
	}
	if row.Verdict == nil {
		return ""
	}
	if c := row.Confirmation; c != nil && r.Gate.FailOn != report.FailOnAny {
		// Reruns say more than one verdict.
		isNew := row.Class != nil && *row.Class == report.New
		if c.Held != nil && !*c.Held && isNew {
			return report.New
		}
		if c.Held != nil && (*c.Held || isNew) || row.Class != nil && (*row.Class == report.Unclear || *row.Class == report.Flaky) {
			return ""
		}
	}
	strict := r.Gate.FailOn == report.FailOnAny || row.Required && r.Gate.FailOn != report.FailOnNever
	bad := *row.Verdict == verdict.Fail || strict && *row.Verdict == verdict.Borderline
	switch {
	case !bad:
		return ""
	case row.Class == nil, *row.Class == report.New, *row.Class == report.Unclear:
		return report.New
	case strict:
		return report.Unchanged
	}
	return ""
}

// Standing reports whether a case fails and the gate lets it pass: it fails as at base,
// it was accepted, or it is quarantined.
func Standing(r *report.Report, row *report.Row) bool {
	return row.Verdict != nil && *row.Verdict == verdict.Fail && blocks(r, row) == ""
}

// changed ranks the other interesting rows; 0 for the rest.
func changed(row *report.Row) int {
	if row.Accepted != nil || row.Quarantine != nil && row.Verdict != nil && *row.Verdict != verdict.Skipped && len(row.Reasons) > 0 {
		return 2
	}
	if row.Class == nil {
		switch {
		case row.Error != nil:
			return 1
		case row.Withdrawn != "":
			return 6
		}
		return tried(row)
	}
	switch *row.Class {
	case report.Failed:
		return 1
	case report.Improvement:
		return 2
	case report.Unclear:
		return 3
	case report.Flaky:
		return 4
	case report.New:
		return 7
	case report.Gone:
		return 8
	case report.Moved:
		return 9
	}
	if moved(row) || redecided(row) {
		return 5
	}
	return tried(row)
}

// redecided reports whether only another rule gave the row its verdict.
func redecided(row *report.Row) bool {
	return row.Class != nil && *row.Class == report.Unchanged && row.Verdict != nil && row.BaseVerdict != nil && *row.Verdict != *row.BaseVerdict
}

// tried ranks cases that passed in a noteworthy way.
func tried(row *report.Row) int {
	if row.Retried() && row.Verdict != nil && *row.Verdict == verdict.Pass {
		return 10
	}
	return 0
}

// moved reports whether the score differs by an amount that two decimals can show.
func moved(row *report.Row) bool {
	return row.Score != nil && row.BaseScore != nil && math.Abs(*row.Score-*row.BaseScore) >= 0.005
}

// Label returns the word for the result of a row that does not block: accepted,
// quarantined, improved, re-decided, unclear, flaky, new, moved, error, not run,
// skipped, passed, lower, higher, removed, or another way in which it is withdrawn.
func Label(row *report.Row) string {
	if row.Accepted != nil {
		return "accepted"
	}
	if row.Quarantine != nil && row.Verdict != nil {
		return "quarantined"
	}
	if row.Unrun() {
		return "not run"
	}
	if row.Withdrawn != "" {
		return row.Withdrawn
	}
	kind := report.Unchanged
	if row.Class != nil {
		kind = *row.Class
	}
	switch kind {
	case report.Improvement:
		return "improved"
	case report.Unclear, report.Flaky, report.New, report.Gone, report.Moved, report.Failed:
		return string(kind)
	}
	switch {
	case row.Error != nil:
		return "error"
	case row.Verdict != nil && *row.Verdict == verdict.Skipped:
		return "skipped"
	case redecided(row):
		return "re-decided"
	case tried(row) > 0 && !moved(row):
		return "passed"
	case drop(row) < 0:
		return "lower"
	}
	return "higher"
}

// Remeasured describes the reruns of a row; empty without any.
func Remeasured(row *report.Row) string {
	if row.Confirmation == nil {
		return ""
	}
	return row.Confirmation.Sentence
}

// Remark returns the remark about such a row next to its label; may be empty.
func Remark(row *report.Row) string {
	label := Label(row)
	if said := Remeasured(row); said != "" && (label == "unclear" || label == "flaky" || label == "new" || label == "improved" && row.Confirmation.Confirmed) {
		return said
	}
	switch label {
	case "accepted":
		return row.Accepted.String()
	case "quarantined":
		return string(*row.Verdict) + ", " + row.Quarantine.String()
	case "error", "not run":
		return strings.TrimPrefix(deref(row.Error), report.NotRunPrefix)
	case "unclear":
		return strings.TrimSuffix("base has no verdict to compare with: "+strings.TrimPrefix(row.BaseError, report.NotRunPrefix), ": ")
	case "flaky":
		return row.Turn() + " under the same definition"
	case "re-decided":
		return row.Turn() + " by another rule"
	case "new":
		if row.Verdict != nil && *row.Verdict == verdict.Skipped {
			return "skipped"
		}
	case "moved":
		return "from " + deref(row.MovedFrom)
	case report.WithdrawnRemoved:
		return ""
	case report.WithdrawnIgnored:
		return ".gavelignore names its file"
	case "skipped":
		return plan.Summarise(row.Reasons)
	case "passed":
		return NewAttempts(row.Attempts, row.Comparison).Remark(row.Scale())
	}
	if row.Withdrawn != "" {
		return plan.Summarise(row.Reasons)
	}
	return ""
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
