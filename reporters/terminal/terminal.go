// Package terminal renders plans, reports and problems as text.
//
// What always holds: nothing that a repository or a model wrote can move the
// cursor or change a colour. Lines keep to the width, except the first one of
// a problem, from which editors read the position.
package terminal

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/gavel-evals/gavel/reporters/phrase"
)

// Options say how wide and colourful the text is.
type Options struct {
	// Width in columns. Defaults to 80; less than 40 counts as 40.
	Width int
	// Color turns ANSI colours on.
	Color bool
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

// paint colours own text or text that was cleaned before; an empty code leaves
// it as it is.
func (p *page) paint(code, text string) string {
	if !p.Color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// A margin is what stands before each line of a paragraph: first on its first
// line, in its own colour, and room of the same width on the others.
type margin struct{ first, color string }

// paragraph writes foreign text in a colour, broken at spaces to the width.
// Words that are wider than a line are broken anywhere.
func (p *page) paragraph(m margin, text, color string) {
	const limit = 600
	indent := columns(m.first)
	lines := wrap(phrase.Clip(phrase.Line(text), limit), p.Width-indent)
	for i, line := range lines {
		start := strings.Repeat(" ", indent)
		if i == 0 {
			start = p.paint(m.color, m.first)
		}
		p.WriteString(start + p.paint(color, line) + "\n")
	}
}

// wrap breaks one line of text to the room.
func wrap(text string, room int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		n := columns(word)
		if line != "" && used+1+n > room {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		for used+n > room {
			head := cut(word, room-used)
			lines = append(lines, line+head)
			word = word[len(head):]
			line, used, n = "", 0, columns(word)
		}
		line, used = line+word, used+n
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// cut is the longest start of s that fits the room, at least one character.
func cut(s string, room int) string {
	used := 0
	for i, r := range s {
		used += runeColumns(r)
		if used > room && i > 0 {
			return s[:i]
		}
	}
	return s
}

// fit shortens s to the room with an ellipsis where it is too wide.
func fit(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	return cut(s, room-1) + "…"
}

// pad fills s up to n columns.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columns(s))) }

// columns is the width of s on a terminal.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
