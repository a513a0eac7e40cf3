// Package terminal renders plans, reports and problems as text.
//
// No text of a repository or a model can move the cursor or change a colour. Lines fit
// the width, except the first one of a problem, from which editors read the position.
package terminal

import (
	"io"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Options are the width and colours of the text.
type Options struct {
	// Width in columns. Defaults to 80; less than 40 counts as 40.
	Width int
	// Color turns ANSI colours on.
	Color bool
	// Verbose lists every case of a report, including passing ones.
	Verbose bool
}

// A page collects the text.
type page struct {
	strings.Builder
	Options
}

func newPage(o Options) *page {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	return &page{Options: o}
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
	bold   = "1"
)

// paint colours own text or cleaned text; an empty code leaves it unchanged.
func (p *page) paint(code, text string) string {
	if !p.Color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// A margin precedes each line of a paragraph: first on its first line, in its own
// colour, and spaces of the same width on the others.
type margin struct{ first, color string }

// paragraph writes foreign text in a colour, broken at spaces to the width. Words wider
// than a line are broken anywhere.
func (p *page) paragraph(m margin, text, color string) {
	const limit = 600
	indent := textfmt.Columns(m.first)
	lines := textfmt.Wrap(textfmt.Clip(textfmt.Line(text), limit), p.Width-indent)
	for i, line := range lines {
		start := strings.Repeat(" ", indent)
		if i == 0 {
			start = p.paint(m.color, m.first)
		}
		p.WriteString(start + p.paint(color, line) + "\n")
	}
}
