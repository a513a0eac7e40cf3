package textfmt

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Wrap breaks one line of text to the room.
func Wrap(text string, room int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
		case Columns(line+" "+word) <= room:
			line += " " + word
			continue
		default:
			lines = append(lines, line)
		}
		head := Cut(word, room)
		for len(head) < len(word) {
			lines = append(lines, head)
			word = word[len(head):]
			head = Cut(word, room)
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Cut returns the longest start of s that fits the room, at least one character. A
// letter with its accents counts as one, and so does an emoji made of several.
func Cut(s string, room int) string {
	used, end := 0, 0
	for all := displaywidth.StringGraphemes(s); all.Next(); {
		if used += all.Width(); used > room && end > 0 {
			return s[:end]
		}
		end += len(all.Value())
	}
	return s
}

// Tail returns the longest end of s that fits the room, cut between characters.
func Tail(s string, room int) string {
	left := Columns(s)
	for all := displaywidth.StringGraphemes(s); left > room && all.Next(); {
		left -= all.Width()
		s = s[len(all.Value()):]
	}
	return s
}

// Fit shortens s to the room with an ellipsis if it is too wide.
func Fit(s string, room int) string {
	if Columns(s) <= room {
		return s
	}
	start := Cut(s, room-1)
	if Columns(start) >= room {
		start = "" // not even one character fits next to the sign
	}
	return start + "…"
}

// Pad fills s up to n columns.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Columns(s))) }

// Columns returns the width of s on a terminal: a joined character counts once, and
// a character of East Asia or an emoji as two.
func Columns(s string) int { return displaywidth.String(s) }
