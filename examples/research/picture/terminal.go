package main

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A cell of a terminal in pixels, and the space around all of them.
const (
	cellWidth, cellHeight = 8.4, 18
	margin                = 14
)

// mark is a change of the style in a stored frame: ‹38;5;210› is red, ‹› plain.
var mark = regexp.MustCompile(`‹([0-9;]*)›`)

// A style is the meaning of the marks for the text after them.
type style struct {
	text, ground string // colors; empty for the terminal's
	bold         bool
}

// terminal makes a picture from a frame of a terminal, as the tests of the screen store
// it. The text of the picture can be selected.
func terminal(frame, theme string) ([]byte, error) {
	text, ground := "#1f2328", "#ffffff"
	if theme == "dark" {
		text, ground = "#f0f6fc", "#0d1117"
	}
	var body bytes.Buffer
	widest := 0
	lines := strings.Split(strings.TrimRight(frame, "\n"), "\n")
	for row, line := range lines {
		columns, err := drawLine(&body, line, row)
		if err != nil {
			return nil, err
		}
		widest = max(widest, columns)
	}
	var out bytes.Buffer
	width, height := float64(widest)*cellWidth+2*margin, len(lines)*cellHeight+2*margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %d" width="%.1f" height="%d" fill="%s" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">`+"\n", width, height, width, height, text)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="%s" stroke="#80808080"/>`+"\n", ground)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// drawLine draws a line with its marks and returns how many columns it has.
func drawLine(out *bytes.Buffer, line string, row int) (int, error) {
	now, column := style{}, 0
	for line != "" {
		at := mark.FindStringSubmatchIndex(line)
		if at == nil {
			at = []int{len(line), len(line), len(line), len(line)}
		}
		now.draw(out, line[:at[0]], row, column)
		column += utf8.RuneCountInString(line[:at[0]])
		var err error
		if now, err = styled(line[at[2]:at[3]]); err != nil {
			return 0, err
		}
		line = line[at[1]:]
	}
	return column, nil
}

// word is the text that is drawn at once: browsers do not agree on spaces.
var word = regexp.MustCompile(`[^ ]+`)

// draw writes a text in a style. Each word begins in its column and has a fixed length,
// so that columns agree whatever font there is.
func (s style) draw(out *bytes.Buffer, text string, row, column int) {
	wide := func(text string) float64 { return float64(utf8.RuneCountInString(text)) * cellWidth }
	x, y := margin+float64(column)*cellWidth, margin+row*cellHeight
	if s.ground != "" && text != "" {
		fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, wide(text), cellHeight, s.ground)
	}
	look := ""
	if s.text != "" {
		look += ` fill="` + s.text + `"`
	}
	if s.bold {
		look += ` font-weight="bold"`
	}
	for _, at := range word.FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		fmt.Fprintf(out, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
			x+wide(text[:at[0]]), y+13, wide(found), look, html.EscapeString(found))
	}
}

// styled reads the numbers of a mark, which are those of an escape sequence.
func styled(numbers string) (style, error) {
	s := style{}
	left := strings.Split(numbers, ";")
	for len(left) > 0 {
		switch {
		case left[0] == "":
			left = left[1:]
		case left[0] == "1":
			s.bold, left = true, left[1:]
		case len(left) >= 3 && (left[0] == "38" || left[0] == "48") && left[1] == "5":
			color, err := palette(left[2])
			if err != nil {
				return style{}, err
			}
			if left[0] == "38" {
				s.text = color
			} else {
				s.ground = color
			}
			left = left[3:]
		default:
			return style{}, fmt.Errorf("the style %q is not one that pictures have", numbers)
		}
	}
	return s, nil
}

// palette returns one of the 256 colors of terminals, from 16 on, where all terminals
// agree.
func palette(number string) (string, error) {
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 16 || n > 255:
		return "", fmt.Errorf("the color %q is not from 16 to 255", number)
	case n >= 232:
		gray := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", gray, gray, gray), nil
	}
	part := func(level int) int {
		if level == 0 {
			return 0
		}
		return 55 + 40*level
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", part(n/36), part(n/6%6), part(n%6)), nil
}
