package screen

import (
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A color is the meaning of a piece of text, not its look.
type color int

const (
	plain color = iota
	strong
	dim
	red
	green
	yellow
	rule
)

// palettes hold the SGR parameters of each color: readable on their background, and
// distinguishable for people who do not see red.
var palettes = map[bool][]string{
	true:  {"", "1", "38;5;246", "38;5;210", "38;5;114", "38;5;221", "38;5;240"}, // dark
	false: {"", "1", "38;5;242", "38;5;160", "38;5;28", "38;5;130", "38;5;250"},  // light
}

// marked are the backgrounds of the selected row.
var marked = map[bool]string{true: "48;5;237", false: "48;5;254"}

// A span is text in one color.
type span struct {
	color
	text string
}

// A line is a row of the screen.
type line []span

func text(c color, s string) line { return line{{c, s}} }

// columns returns the width of a line.
func (l line) columns() int {
	n := 0
	for _, s := range l {
		n += textfmt.Columns(s.text)
	}
	return n
}

// fit cuts a line to the width and fills it up.
func (l line) fit(width int) line {
	var out line
	left := width
	for _, s := range l {
		n := textfmt.Columns(s.text)
		if n > left {
			if left > 0 {
				s.text = textfmt.Fit(s.text, left)
				out, left = append(out, s), left-textfmt.Columns(s.text)
			}
			break
		}
		out, left = append(out, s), left-n
	}
	return append(out, span{plain, strings.Repeat(" ", max(left, 0))})
}

// ends puts one line at the left and another at the right: the first of the given ones
// that fits. If none fits, the left one is cut for the last of them, unless that would
// take half of it.
func ends(left line, width int, rights ...line) line {
	last := rights[len(rights)-1]
	for _, right := range rights {
		if gap := width - left.columns() - right.columns(); gap >= 2 {
			return slices.Concat(left, line{{plain, strings.Repeat(" ", gap)}}, right)
		}
	}
	if room := width - last.columns() - 2; room >= width/2 {
		return slices.Concat(left.fit(room), text(plain, "  "), last)
	}
	return left.fit(width)
}

// paint colors the line.
func (l line) paint(palette []string, background string) string {
	var b strings.Builder
	for _, s := range l {
		if s.text == "" {
			continue
		}
		codes := palette[s.color]
		if background != "" {
			codes = strings.Trim(codes+";"+background, ";")
		}
		if codes == "" {
			b.WriteString(s.text)
			continue
		}
		b.WriteString("\x1b[" + codes + "m" + s.text + "\x1b[m")
	}
	return b.String()
}
