package review

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
)

// open reports whether another look may find more than a report has: a case
// that was wanted and not judged, or one whose verdict at base is not known.
// Definitions that are invalid stay so until the next commit.
func open(rep *report.Report) bool {
	return rep.Gate.Result == report.GateUndetermined && slices.ContainsFunc(rep.Cases, func(row report.Row) bool {
		return row.Error != nil && !row.Invalid() || row.Class != nil && *row.Class == report.Unclear
	})
}
