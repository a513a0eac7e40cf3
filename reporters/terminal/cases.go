package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// listColumns is the width of the verdict and the score before a name.
const listColumns = 2 + len(verdict.Borderline) + 2 + 4 + 2

// Cases writes a line for each case, below its file: the last verdict and score, the name
// in full and the target, which is in a line of its own where both are too wide.
func Cases(w io.Writer, list report.CaseList, o Options) error {
	p := newPage(o)
	width, judged, failed := 0, 0, 0
	for _, c := range list.Cases {
		width = max(width, textfmt.Columns(textfmt.Line(c.Name)))
		switch {
		case c.Verdict == nil:
		case *c.Verdict == verdict.Error:
			failed++
		default:
			judged++
		}
	}
	width = min(width, p.Width-listColumns-2)
	file := ""
	for i, c := range list.Cases {
		if c.File != file || i == 0 {
			file = c.File
			p.WriteString(p.paint(bold, textfmt.Line(file)) + "\n")
		}
		p.listed(c, width)
	}
	said := fmt.Sprintf("%s, %s judged", textfmt.Count(len(list.Cases), "case"), textfmt.Int(int64(judged)))
	if failed > 0 {
		said += fmt.Sprintf(", %s ended in an error", textfmt.Int(int64(failed)))
	}
	p.paragraph(margin{}, said, bold)
	return p.writeTo(w)
}

// mostTitle bounds a title in the list.
const mostTitle = 60

func (p *page) listed(c report.ListedCase, width int) {
	word, color := "not run", dim
	switch {
	case c.Skip != "":
		word = "skipped"
	case c.Verdict != nil:
		word, color = string(*c.Verdict), colorOf(*c.Verdict)
	}
	line := "  " + p.paint(color, textfmt.Pad(word, len(verdict.Borderline))) + "  " + textfmt.Pad(textfmt.Score(c.Score, 2), 4) + "  "
	if c.Target == "" || strings.HasSuffix(c.Name, " @ "+c.Target) {
		p.WriteString(line + textfmt.Line(c.Name) + "\n")
		return
	}
	name, target := textfmt.Pad(textfmt.Line(c.Name), width), textfmt.Line(c.Target)
	if c.Dialect == schema.DialectMatrix || c.Dialect == schema.DialectSkill { // whose keys say little
		target += " · " + textfmt.Clip(textfmt.Line(c.Title), mostTitle)
	}
	line += name
	if columns := listColumns + textfmt.Columns(name) + 2; columns+textfmt.Columns(target) > p.Width {
		line += "\n" + strings.Repeat(" ", listColumns)
	} else {
		line += "  "
	}
	p.WriteString(line + p.paint(dim, target) + "\n")
}
