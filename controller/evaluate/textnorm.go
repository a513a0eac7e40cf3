package evaluate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold normalizes texts that people read as the same. It is toNFKC_Casefold of the
// Unicode Standard (chapter 3.13, R5), but removes only the invisible characters that
// occur in running text instead of all default-ignorable ones, so that a zero-width
// space does not hide a word.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = strings.Map(func(r rune) rune {
		switch r {
		case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
			return -1
		}
		return r
	}, s)
	// Folding can undo composition, and composing can create new capitals; after the
	// second round nothing changes.
	folded := cases.Fold().String(norm.NFKC.String(s))
	return norm.NFKC.String(folded)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain folds a text, collapses its white space, and removes the quotes, emphasis and
// final stop that models put around an answer.
func plain(s string) string {
	s = strings.Join(strings.Fields(Fold(s)), " ")
	for {
		t := strings.Trim(s, " \"'`*_“”‘’«»")
		t = strings.TrimRight(t, ".!。")
		if t == s {
			return t
		}
		s = t
	}
}

// isWordRune reports whether a rune is part of a word.
func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// clip shortens a text for a reason to at most 80 characters on one line.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 80
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// quote clips and quotes a text for a reason.
func quote(s string) string { return strconv.Quote(clip(strings.ToValidUTF8(s, "\ufffd"))) }

// apart says at which character a text parts from another one that begins like it, since
// texts that differ may look the same; empty if the first character differs.
func apart(got, want string) string {
	if got == want {
		return ""
	}
	a, b := []rune(got), []rune(want)
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == 0 {
		return ""
	}
	return fmt.Sprintf("; character %d is %s, not %s", at+1, character(a, at), character(b, at))
}

// character names a character of a text, or its end.
func character(text []rune, at int) string {
	switch {
	case at >= len(text):
		return "the end"
	case text[at] > ' ' && text[at] < utf8.RuneSelf:
		return strconv.Quote(string(text[at]))
	case unicode.IsGraphic(text[at]) && !unicode.IsSpace(text[at]) && !unicode.IsMark(text[at]):
		return fmt.Sprintf("%q (U+%04X)", string(text[at]), text[at])
	case text[at] == ' ':
		return "a space"
	case text[at] == '\n':
		return "a line break"
	}
	return fmt.Sprintf("U+%04X", text[at])
}

// quoteAll quotes the first ten of a list.
func quoteAll(list []string) string {
	const most = 10
	quoted := make([]string, 0, min(len(list), most+1))
	for i, s := range list {
		if i == most {
			quoted = append(quoted, strconv.Itoa(len(list)-most)+" more")
			break
		}
		quoted = append(quoted, quote(s))
	}
	return strings.Join(quoted, ", ")
}

// ofJSON formats a JSON value for a sentence: a string without its quotes, null as
// nothing, anything else unchanged.
func ofJSON(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}

// A fence is a block of code in Markdown.
type fence struct {
	// Lang is the text after the opening marks, in lower case.
	Lang string
	Body string
}

// fences finds the blocks between lines of ``` or ~~~; an unclosed one ends with the
// text.
func fences(text string) []fence {
	var found []fence
	var open string
	var body []string
	var lang string
	for line := range strings.SplitSeq(text, "\n") {
		t := strings.TrimSpace(line)
		mark := fenceMark(t)
		switch {
		case open == "" && mark != "":
			open, body = mark, nil
			lang = strings.ToLower(strings.TrimSpace(t[len(mark):]))
		case open != "" && strings.HasPrefix(t, open) && strings.Trim(t, open[:1]) == "":
			found = append(found, fence{lang, strings.Join(body, "\n")})
			open = ""
		case open != "":
			body = append(body, line)
		}
	}
	if open != "" {
		found = append(found, fence{lang, strings.Join(body, "\n")})
	}
	return found
}

// fenceMark returns the run of at least three ` or ~ at the beginning of a line.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, c) {
			return line[:n]
		}
	}
	return ""
}

// unfenced returns the body of a block of code that is the whole text, else the trimmed
// text.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if fenceMark(firstLine(text)) == "" {
		return text
	}
	if found := fences(text); len(found) == 1 && fenceMark(lastLine(text)) != "" {
		return strings.TrimSpace(found[0].Body)
	}
	return text
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}

func lastLine(s string) string {
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
