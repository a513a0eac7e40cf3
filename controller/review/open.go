package review

import (
	"slices"

	"github.com/gavel-evals/gavel/reporters"
)

// open reports whether another look may find more than a report has: a case
// that was wanted and not judged, or one whose verdict at base is not known.
// Definitions that are invalid stay so until the next commit.
func open(report *reporters.Report) bool {
	return report.Gate.Result == reporters.GateUndetermined && slices.ContainsFunc(report.Cases, func(row reporters.Row) bool {
		return row.Error != nil && !row.Invalid() || row.Class != nil && *row.Class == reporters.Unclear
	})
}
