package terminal

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// short shortens a chance for a table.
var short = strings.NewReplacer("over ", "> ", "under ", "< ")

// Power writes what comparisons of a suite would show, one line for each way to have it.
func Power(w io.Writer, table report.PowerTable, o Options) error {
	p := newPage(o)
	said := textfmt.Count(table.Cases, "case")
	if table.Certain > 0 {
		said += fmt.Sprintf(", of which %s nothing to chance", textfmt.Int(int64(table.Certain))+" "+textfmt.Verb(table.Certain, "leaves", "leave"))
	}
	if table.Unjudged > 0 {
		said += fmt.Sprintf("; %s no stored result", textfmt.Int(int64(table.Unjudged))+" "+textfmt.Verb(table.Unjudged, "has", "have"))
	}
	p.paragraph(margin{}, said, bold)
	if len(table.Rows) == 0 {
		return p.writeTo(w)
	}
	widest := 0
	for _, row := range table.Rows {
		widest = max(widest, len(row.Name))
	}
	head := []string{"broken", "halved", "−.10", "−.05", "calls"}
	fmt.Fprintf(p, "\n%s", strings.Repeat(" ", widest))
	for _, name := range head {
		p.WriteString("  " + strings.Repeat(" ", max(0, 7-textfmt.Columns(name))) + name)
	}
	p.WriteString("\n")
	for i, row := range table.Rows {
		line := textfmt.Pad(row.Name, widest)
		for _, chance := range []float64{row.Broken, row.Halved, row.Fall, row.Slip} {
			line += fmt.Sprintf("  %7s", short.Replace(report.Chance(chance)))
		}
		line += fmt.Sprintf("  %7s", textfmt.Int(int64(math.Round(row.Measurements))))
		color := ""
		if i == 0 {
			color = bold
		}
		p.WriteString(p.paint(color, textfmt.Fit(line, p.Width)) + "\n")
	}
	p.WriteString("\n")
	if first := table.Rows[0]; !first.Tests() {
		p.paragraph(margin{}, fmt.Sprintf("The mean of fewer than %d cases that can differ is not tested, and these are %d.", first.Needed, first.Units), "")
	}
	p.paragraph(margin{}, "broken: one case always fails · halved: one passes half as often · −.10, −.05: each case passes less often by that much · calls: further measurements if nothing got worse", dim)
	return p.writeTo(w)
}
