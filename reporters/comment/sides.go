package comment

import (
	"strings"

	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// sides writes how each case did against each of several targets.
func (c *comment) sides() {
	s := reporters.Sides(c.r)
	if len(s.Rows) == 0 {
		return
	}
	c.line("<details><summary>Each case against each target</summary>")
	c.line("")
	head, align := "| |", "|:--|"
	for _, name := range s.Targets {
		head, align = head+" "+textfmt.Markdown(name, 30)+" |", align+"--:|"
	}
	c.line(head)
	c.line(align)
	shown := c.limit(len(s.Rows))
	for _, row := range s.Rows[:shown] {
		var cells []string
		for _, one := range row.Cells {
			cells = append(cells, reporters.Cell(one))
		}
		c.line("| " + textfmt.Markdown(row.Key, 80) + " | " + strings.Join(cells, " | ") + " |")
	}
	if rest := len(s.Rows) - shown; rest > 0 {
		c.line("| <sub>and " + textfmt.Int(int64(rest)) + " more</sub> |")
	}
	c.line("</details>")
	c.line("")
}
