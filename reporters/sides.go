package reporters

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A SideBySide has a row per case with its results against several targets.
type SideBySide struct {
	Targets []string
	Rows    []SideRow
}

// A SideRow is one case. Cells are in the order of the targets; nil if the case has no
// row for one.
type SideRow struct {
	Key   string
	Cells []*report.Row
}

// Sides arranges the cases of a report side by side: cases with differing verdicts
// first, otherwise in the report's order. Without several targets it has no rows.
func Sides(r *report.Report) SideBySide {
	var out SideBySide
	if len(r.Targets) < 2 {
		return out
	}
	column := map[string]int{}
	for i, t := range r.Targets {
		out.Targets, column[t.Target] = append(out.Targets, t.Target), i
	}
	at := map[string]int{}
	for i := range r.Cases {
		row := &r.Cases[i]
		col, known := column[row.Target]
		if !known || !row.PerTarget {
			continue
		}
		if _, seen := at[row.Key]; !seen {
			at[row.Key] = len(out.Rows)
			out.Rows = append(out.Rows, SideRow{row.Key, make([]*report.Row, len(out.Targets))})
		}
		out.Rows[at[row.Key]].Cells[col] = row
	}
	slices.SortStableFunc(out.Rows, func(a, b SideRow) int {
		switch {
		case a.differs() == b.differs():
			return 0
		case a.differs():
			return -1
		}
		return 1
	})
	return out
}

func (s SideRow) differs() bool {
	return slices.ContainsFunc(s.Cells, func(row *report.Row) bool { return word(row) != word(s.Cells[0]) })
}

func word(row *report.Row) verdict.Verdict {
	if row == nil || row.Verdict == nil {
		return ""
	}
	return *row.Verdict
}

// Cell formats a mark for the verdict with the score: "✓ 1.00". A case that was not
// judged only has the mark.
func Cell(row *report.Row) string {
	marks := map[verdict.Verdict]string{
		verdict.Pass: "✓", verdict.Fail: "✗", verdict.Borderline: "~", verdict.Error: "!", verdict.Skipped: "·",
	}
	mark, known := marks[word(row)]
	switch {
	case !known:
		return "·"
	case row.Score == nil:
		return mark
	}
	return mark + " " + textfmt.Score(row.Score, 2)
}
