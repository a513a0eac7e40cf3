package screen

import (
	"fmt"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// problemID identifies a problem in the selection: no key has a zero byte.
func problemID(p *schema.Problem) string {
	return "\x00" + p.Position.String() + "\x00" + p.Message
}

// ids returns the selectable items, in the order of the screen: the problems, then the
// listed cases.
func (m Model) ids() []string {
	rows := m.listed()
	out := make([]string, 0, len(m.board.Problems)+len(rows))
	for i := range m.board.Problems {
		out = append(out, problemID(&m.board.Problems[i]))
	}
	for i := range rows {
		out = append(out, rows[i].Key)
	}
	return out
}

// problem returns the selected problem with its place; nil if a case or nothing is
// selected.
func (m Model) problem() (p *schema.Problem, at int) {
	for i := range m.board.Problems {
		if problemID(&m.board.Problems[i]) == m.selected {
			return &m.board.Problems[i], i
		}
	}
	return nil, 0
}

func severityColor(p *schema.Problem) color {
	if p.Severity != schema.Error {
		return yellow
	}
	return red
}

// problemText formats the message with the repair on one line.
func problemText(p *schema.Problem) string {
	if p.Hint == "" {
		return textfmt.Line(p.Message)
	}
	return textfmt.Line(p.Message + "; " + p.Hint)
}

// problems renders at most a number of problem lines: the first, or the ones around the
// selected one, and the number of the rest.
func (m Model) problems(width, most int) []line {
	all := m.board.Problems
	selected, at := m.problem()
	from := 0
	if selected != nil {
		from = max(min(at-most+2, len(all)-most), 0)
	}
	var out []line
	for i := from; i < len(all); i++ {
		if len(out) == most-1 && i < len(all)-1 {
			return append(out, text(dim, "  and "+textfmt.Count(len(all)-i, "problem")+" more: gavel validate lists them"))
		}
		p, mark := &all[i], " ! "
		if i == at && selected != nil {
			mark = "›! "
		}
		out = append(out, line{{severityColor(p), mark}, {strong, textfmt.Line(p.Position.String())}, {plain, " " + problemText(p)}}.fit(width))
	}
	return out
}

// problemPane shows everything known about a problem.
func problemPane(s *sheet, p *schema.Problem) []line {
	s.paragraph("", strong, p.Position.String())
	s.paragraph("", severityColor(p), fmt.Sprintf("%s: %s", p.Severity, p.Message))
	if p.Hint != "" {
		s.title("what to do")
		s.paragraph("", plain, p.Hint)
	}
	s.lines = append(s.lines, nil)
	s.paragraph("", dim, "e opens the file at this line")
	return s.lines
}
