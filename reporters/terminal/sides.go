package terminal

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// sides writes a table of cases and targets, in several parts if the targets do not fit
// next to each other.
func (p *page) sides(r *report.Report) {
	const mostRows, mostTarget, leastKey = 50, 16, 16
	s := reporters.Sides(r)
	if len(s.Rows) == 0 {
		return
	}
	keys := 0
	for _, row := range s.Rows {
		keys = max(keys, textfmt.Columns(textfmt.Line(row.Key)))
	}
	keys = max(min(keys, p.Width-2-2*(mostTarget+2)), leastKey)
	var names []string
	wide := textfmt.Columns("✗ 0.00")
	for _, name := range s.Targets {
		names = append(names, textfmt.Fit(textfmt.Line(name), mostTarget))
		wide = max(wide, textfmt.Columns(names[len(names)-1]))
	}
	columns := max((p.Width-2-keys)/(wide+2), 1)
	for from := 0; from < len(names); from += columns {
		to := min(from+columns, len(names))
		head := strings.Repeat(" ", keys+2)
		for _, name := range names[from:to] {
			head += "  " + textfmt.Pad(name, wide)
		}
		p.WriteString(p.paint(dim, strings.TrimRight(head, " ")) + "\n")
		for _, row := range s.Rows[:min(mostRows, len(s.Rows))] {
			p.side(row.Key, row.Cells[from:to], keys, wide)
		}
		if rest := len(s.Rows) - mostRows; rest > 0 {
			p.WriteString(p.paint(dim, "  and "+textfmt.Int(int64(rest))+" more") + "\n")
		}
		p.WriteString("\n")
	}
}

// side writes one case with its cells.
func (p *page) side(key string, cells []*report.Row, keys, wide int) {
	line := "  " + textfmt.Pad(textfmt.Fit(textfmt.Line(key), keys), keys)
	for i, row := range cells {
		cell := reporters.Cell(row)
		room := wide - textfmt.Columns(cell)
		if i == len(cells)-1 {
			room = 0
		}
		line += "  " + p.paint(verdictColor(row), cell) + strings.Repeat(" ", room)
	}
	p.WriteString(line + "\n")
}

func verdictColor(row *report.Row) string {
	if row == nil || row.Verdict == nil {
		return dim
	}
	switch *row.Verdict {
	case verdict.Pass:
		return green
	case verdict.Fail:
		return red
	case verdict.Skipped:
		return dim
	}
	return yellow
}

// rest writes the cases that the sections omit, each with its verdict.
func (p *page) rest(r *report.Report, s reporters.Sections, keys int) {
	shown := map[*report.Row]bool{}
	for _, rows := range [][]*report.Row{s.Blocking, s.Also, s.Planned} {
		for _, row := range rows {
			shown[row] = true
		}
	}
	for i := range r.Cases {
		row := &r.Cases[i]
		if shown[row] {
			continue
		}
		mark, word := "·", row.Action.Text()
		switch {
		case row.Verdict != nil:
			mark, _, _ = strings.Cut(reporters.Cell(row), " ")
			word = string(*row.Verdict)
		case row.Withdrawn != "":
			word = row.Withdrawn
		}
		p.row(entry{mark, verdictColor(row), word, row}, keys)
		p.note(row.VerdictReason, dim)
	}
}
