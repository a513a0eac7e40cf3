package review

import (
	"errors"
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
)

// open reports whether another look may improve a report: a wanted case was not judged,
// or its verdict at base is unknown. Invalid definitions stay invalid until the next
// commit.
func open(rep *report.Report) bool {
	return rep.Gate.Result == report.GateUndetermined && slices.ContainsFunc(rep.Cases, func(row report.Row) bool {
		return row.Error != nil && !row.Invalid() || row.Class != nil && *row.Class == report.Unclear
	})
}

// errUnchanged means that another look found nothing, so that the stored report remains.
var errUnchanged = errors.New("the stored report is still right")

// unchanged reports whether another look at the open cases of a report got no answer and
// the same results. The report of such a look would only say that nothing was rerun.
func unchanged(last, now *report.Report) bool {
	return report.Due(now) == 0 && now.Summary.Calls == 0 && now.Summary.NotRun == last.Summary.NotRun &&
		now.Gate.Result == last.Gate.Result && now.Gate.Reason == last.Gate.Reason && slices.EqualFunc(last.Cases, now.Cases, sameResult)
}

func sameResult(a, b report.Row) bool {
	return a.Key == b.Key && a.Target == b.Target && equal(a.Verdict, b.Verdict) && equal(a.Class, b.Class) && equal(a.Error, b.Error)
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
