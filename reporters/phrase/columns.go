package phrase

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Wrap breaks one line of text to the room.
func Wrap(text string, room int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		n := Columns(word)
		if line != "" && used+1+n > room {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		for used+n > room {
			head := Cut(word, room-used)
			lines = append(lines, line+head)
			word = word[len(head):]
			line, used, n = "", 0, Columns(word)
		}
		line, used = line+word, used+n
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Cut is the longest start of s that fits the room, at least one character.
func Cut(s string, room int) string {
	used := 0
	for i, r := range s {
		used += runeColumns(r)
		if used > room && i > 0 {
			return s[:i]
		}
	}
	return s
}

// Fit shortens s to the room with an ellipsis where it is too wide.
func Fit(s string, room int) string {
	if Columns(s) <= room {
		return s
	}
	start := Cut(s, room-1)
	if Columns(start) >= room {
		start = "" // not even one character has room beside the sign
	}
	return start + "…"
}

// Pad fills s up to n columns.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Columns(s))) }

// Columns is the width of s on a terminal.
func Columns(s string) int {
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
