package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Messages that a file and a line share, but for the hint.
const (
	goesOn = "there is more text after the value"
	noJSON = "it begins with neither { nor ["
)

// hintsOfLines are the hints for lines of a .jsonl file.
var hintsOfLines = map[string]string{
	"not valid JSON: " + goesOn:                                 "write one object in each line",
	"not valid JSON: " + noJSON:                                 "write one object in each line",
	"not valid JSON: unexpected comma after the value":          "remove it; JSON lines have no commas between them",
	"not valid JSON: the object that begins here is not closed": "close it in its line",
}

// jsonMistake describes a mistake in JSON with its position, in words for people.
func jsonMistake(data []byte, err *json.SyntaxError) *mistake {
	// The parser counts the byte that it does not take, but not the end.
	at, problem := int(err.Offset)-1, err.Error()
	if problem == "unexpected end of JSON input" {
		return unclosed(data)
	}
	return explainJSON(data, min(max(at, 0), len(data)-1), problem)
}

// unclosed is the mistake of a text that ends too early.
func unclosed(data []byte) *mistake {
	var open []int // offsets of open brackets and the last quote
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			if inString = !inString; inString {
				open = append(open, i)
			} else {
				open = open[:len(open)-1]
			}
		case inString && c == '\\':
			i++
		case inString:
		case c == '[' || c == '{':
			open = append(open, i)
		case (c == ']' || c == '}') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	m := mistake{Rule: "syntax", Message: "not valid JSON: the file ends before its value does", Hint: "write the rest of it"}
	if len(open) == 0 {
		return placed(data, len(bytes.TrimRight(data, " \t\r\n")), m)
	}
	what := map[byte]string{'[': "list", '{': "object", '"': "string"}[data[open[len(open)-1]]]
	m.Message = "not valid JSON: the " + what + " that begins here is not closed"
	m.Hint = "close it, and look whether something is missing at the end"
	return placed(data, open[len(open)-1], m)
}

// explainJSON returns why the byte at a place is not taken.
func explainJSON(data []byte, at int, problem string) *mistake {
	c := data[at]
	before := bytes.TrimRight(data[:at], " \t\r\n")
	say := func(at int, message, hint string) *mistake {
		return placed(data, at, mistake{Rule: "syntax", Message: "not valid JSON: " + message, Hint: hint})
	}
	is := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(problem, w) })
	}
	switch {
	case is("in string literal"):
		return controlIn(data, at, say)
	case is("string escape code", "hexadecimal"):
		return say(at, "unknown escape sequence", `write \\ for a backslash`)
	case c == '#' || c == '/':
		return say(at, "JSON has no comments", "remove it, or write the file as YAML or CUE")
	case (c == ']' || c == '}') && bytes.HasSuffix(before, []byte(",")):
		return say(len(before)-1, fmt.Sprintf("trailing comma before %c", c), "remove it")
	case is("after top-level value") && c == ',':
		return say(at, "unexpected comma after the value", "remove it, or put several values into a list")
	case is("after top-level value"):
		return say(at, goesOn, "put several values into a list, or each into a line of a .jsonl file")
	case c == '\'':
		return say(at, "strings and keys need double quotes", `write "…"`)
	case is("after object key:value pair", "after array element") && (c == ']' || c == '}'):
		return say(at, "another bracket is open here", "close the innermost one first")
	case is("in literal", "beginning", "numeric literal") || isWord(rune(c)) && isWord(rune(data[max(at-1, 0)])):
		return strangeWord(data, at, problem, say)
	case is("after object key:value pair", "after array element"):
		return say(at, "a comma is missing before this place", "write one, and look whether a quote is missing or too many")
	case is("after object key"):
		return say(at, "a colon is missing before this place", "write one")
	}
	return say(at, problem, "look for a missing comma, quote or bracket before this place")
}

// controlIn explains a control character in a string.
func controlIn(data []byte, at int, say func(int, string, string) *mistake) *mistake {
	switch data[at] {
	case '\n', '\r':
		return say(at, "the string is not closed in its line", `close it; a line end in a text is written \n`)
	case '\t':
		return say(at, "a string contains a tab", `write \t`)
	}
	return say(at, "a string contains a control character", fmt.Sprintf(`remove it, or write \u%04x`, data[at]))
}

func isWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// strangeWord explains a word that has no quotes and is not a value.
func strangeWord(data []byte, at int, problem string, say func(int, string, string) *mistake) *mistake {
	from := at
	for from > 0 && strings.IndexByte(" \t\r\n,:[]{}\"", data[from-1]) < 0 {
		from--
	}
	rest := string(data[from:])
	end := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) && r != '.' && r != '+' && r != '-' })
	if end < 0 {
		end = len(rest)
	}
	word := rest[:end]
	first, _ := utf8.DecodeRuneInString(word)
	switch {
	case len(bytes.TrimSpace(data[:from])) == 0:
		return say(from, noJSON, "name a YAML file .yaml")
	case strings.Contains(problem, "object key string"):
		return say(from, "a key needs double quotes", `write "key": …`)
	case word == "None" || word == "undefined" || word == "nil" || word == "NULL" || word == "Null":
		return say(from, word+" is not a JSON value", "write null")
	case strings.EqualFold(word, "true") || strings.EqualFold(word, "false"):
		return say(from, word+" is not a JSON value", "write "+strings.ToLower(word))
	case strings.EqualFold(strings.TrimLeft(word, "+-"), "nan") || strings.HasPrefix(strings.ToLower(strings.TrimLeft(word, "+-")), "inf"):
		return say(from, "JSON has no number "+clip(word), "write a finite number, or null")
	case unicode.IsDigit(first) || first == '-' || first == '+' || first == '.':
		return say(from, clip(word)+" is not a JSON number", "write it in decimal digits without a + or zeros before it, such as 5 or 0.5, or in quotes for a text")
	case word == "":
		return say(at, "a value is missing before this place", "write one, or remove the comma or colon before it")
	}
	return say(from, "a string needs double quotes", `write "…"`)
}
