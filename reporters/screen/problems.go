package screen

import (
	"fmt"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// problemID is what is selected where a problem is: no key has a zero byte.
func problemID(p *schema.Problem) string {
	return "\x00" + p.Position.String() + "\x00" + p.Message
}

// ids are what can be selected, in the order of the screen: the problems, then the
// cases that are listed.
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

// problem is the selected one, with its place; nil where a case or nothing is.
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

// problemText is the message with the repair on one line.
func problemText(p *schema.Problem) string {
	if p.Hint == "" {
		return textfmt.Line(p.Message)
	}
	return textfmt.Line(p.Message + "; " + p.Hint)
}

// problems are at most so many lines of them: the first, or those around the
// selected one, and how many more there are.
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

// problemPane is all that is known of a problem.
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
