package review

import (
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
