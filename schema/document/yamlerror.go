package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// yamlMistake turns an error of the parser into a mistake.
func yamlMistake(data []byte, err error) *mistake {
	s := search{data: data, left: maxSearch, depth: depthOf(data)}
	s.problem, s.line = problemOf(err)
	if strings.HasPrefix(s.problem, "exceeded max depth") {
		return &mistake{1, 1, "too-deep", fmt.Sprintf("values are nested more than %d deep", maxDepth), "flatten the file"}
	}
	at := s.findPosition()
	e := explainYAML(s.problem, data, at)
	line := s.lineAt(at)
	switch {
	case e.atLine:
		at = line + len(indent(string(data[line:])))
	case e.until != "":
		at += max(strings.Index(string(data[at:]), e.until), 0)
	case e.begins != "":
		at = max(line, line+strings.LastIndex(string(data[line:at+1]), e.begins))
	}
	return placed(data, at, mistake{Rule: "syntax", Message: "not valid YAML: " + e.message, Hint: e.hint})
}

// yamlPlace is how the parser begins the text of an error.
var yamlPlace = lazyregexp.New(`^yaml: (?:line ([0-9]+): )?`)

// problemOf returns the parser's message, and the line that it names, or 1.
func problemOf(err error) (problem string, line int) {
	text := err.Error()
	found := yamlPlace.FindStringSubmatch(text)
	if found == nil {
		return text, 1
	}
	if n, err := strconv.Atoi(found[1]); err == nil {
		line = n
	}
	return text[len(found[0]):], max(line, 1)
}

// maxSearch is how many bytes are parsed at most to find a place.
const maxSearch = 2 << 20

// A search finds the place of a problem. The parser has it in the line before
// the one that it names, in that one or behind it, and tells no column. But it
// reads no further than to where it finds one: the last character of the
// shortest text with that problem is the place. Something that is not closed
// is reported where it was opened.
type search struct {
	data    []byte
	problem string
	line    int // that the parser names
	left    int // of maxSearch
	depth   int // nesting of brackets, whose square is the cost of parsing them
}

// depthOf tells how many brackets are open at most, in texts and comments too.
func depthOf(data []byte) int {
	depth, most := 0, 0
	for _, b := range data {
		switch b {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	return most
}

// hasProblem reports whether the text up to a byte has the problem.
func (s *search) hasProblem(to int) bool {
	s.left -= to + s.depth*s.depth/8
	err := decodeAll(io.MultiReader(bytes.NewReader(s.data[:to]), strings.NewReader("\n")))
	if err == nil {
		return false
	}
	problem, _ := problemOf(err)
	return problem == s.problem
}

// lineAt returns the start of the line of a byte.
func (s *search) lineAt(at int) int { return bytes.LastIndexByte(s.data[:at], '\n') + 1 }

func (s *search) findPosition() int {
	r := &slowReader{data: s.data}
	_ = decodeAll(r) // it is known how that ends
	end := s.lineEnd(r.read)
	for end > 0 && s.left > 0 {
		_, size := utf8.DecodeLastRune(s.data[:end])
		if s.data[end-1] != '\n' && !s.hasProblem(end-size) {
			return end - size
		}
		end -= size
	}
	return s.lineAt(end)
}

// lineEnd returns the end of the line with the problem, of which so many bytes were
// read: the end of the first prefix by lines that has the problem permanently.
func (s *search) lineEnd(read int) int {
	starts := []int{0}
	for i, b := range s.data[:read] {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	starts = append(starts, read)
	for _, n := range []int{s.line, s.line + 1} { // an unclosed part begins here
		if n < len(starts) && s.hasProblem(starts[n]) && !s.hasProblem(starts[n-1]) {
			return starts[n]
		}
	}
	for n := len(starts) - 2; n > 0 && s.left > 0; n-- {
		if !s.hasProblem(starts[n]) {
			return starts[n+1]
		}
	}
	return starts[min(1, len(starts)-1)]
}

// A slowReader gives one byte at a time, and so tells how many were wanted.
type slowReader struct {
	data []byte
	read int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.read == len(r.data) || len(p) == 0 {
		return 0, io.EOF
	}
	p[0] = r.data[r.read]
	r.read++
	return 1, nil
}

func decodeAll(r io.Reader) error {
	dec := yaml.NewDecoder(r)
	for {
		err := dec.Decode(new(yaml.Node))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// An explanation rewords the parser's message.
type explanation struct {
	message, hint string
	// atLine puts the place to where the line begins, begins to where these
	// characters are last, and until to where these are next.
	atLine bool
	begins string
	until  string
}

// questions is the rest of a text without quotes that has a question mark in it.
var questions = lazyregexp.New(`^[^"'?\[\]{},]*\?`)

// explainYAML describes the mistake at a position, and its repair.
func explainYAML(problem string, data []byte, at int) explanation {
	c, _ := utf8.DecodeRune(data[at:])
	anchor, isAnchor := strings.CutPrefix(problem, "unknown anchor ")
	switch {
	case isAnchor:
		name := strings.Trim(strings.TrimSuffix(anchor, " referenced"), "'")
		return explanation{"unknown anchor &" + clip(name), "define the anchor before this alias, correct its name, or put the text in quotes", false, "*", ""}
	case problem == "found character that cannot start any token":
		return explanation{message: fmt.Sprintf("a text cannot begin with %c", c), hint: "put it in quotes"}
	case problem == "did not find expected alphabetic or numeric character":
		return explanation{message: "* begins an alias and & an anchor, and no name follows", hint: "put the text in quotes"}
	}
	if rest, _, _ := bytes.Cut(data[at:], []byte("\n")); strings.HasPrefix(problem, "did not find expected ',' or") && questions.Match(rest) {
		return explanation{message: "a text that is not in quotes cannot have a ? here", hint: "put the text in quotes: within [ ] and { }, texts with ? : , or # in them need quotes", until: "?"}
	}
	if e, known := explanations[problem]; known {
		return e
	}
	return explanation{message: problem, hint: "look for a missing colon, quote or bracket, or an indentation that is off, in or before this line", atLine: true}
}

// explanations map the parser's messages.
var explanations = map[string]explanation{
	"mapping values are not allowed in this context": {
		message: "a key is not allowed here", hint: "put a text with a colon in it in quotes; if this is meant as a key, give its line the indentation of the other keys",
	},
	"found unknown escape character": {message: "unknown escape sequence", hint: `write \\ for a backslash, or use single quotes`, begins: `\`},
	"found unexpected end of stream": {message: "the quote that begins here is not closed", hint: "close it"},
	"did not find expected ',' or ']'": {
		message: "the list that begins before this place is not closed, or lacks a comma", hint: "close it with ], and put a comma between items",
	},
	"did not find expected ',' or '}'": {
		message: "the object that begins before this place is not closed, or lacks a comma", hint: "close it with }, and put a comma between fields",
	},
	"did not find expected <document start>": {message: "the value of the file ends before this place", hint: "put the whole of a text in quotes"},
	"did not find expected node content":     {message: "a value is missing before this place", hint: "write one, remove the comma, or close the bracket"},
	"did not find expected key": {
		message: "the line does not continue the lines before it", hint: "give it the indentation of the other keys, and put quotes around the whole of a text", atLine: true,
	},
	"did not find expected '-' indicator": {
		message: "the line does not go on with the list before it", hint: "begin an item with -, or give the line the indentation of what it belongs to", atLine: true,
	},
	"could not find expected ':'": {
		message: "a key has no colon", hint: "write key: value; a text over several lines is indented more than its key", atLine: true,
	},
	"block sequence entries are not allowed in this context": {message: "a list cannot begin here", hint: "put the - on the next line, or the text in quotes"},
	"found incompatible YAML document":                       {message: "this version of YAML is not known", hint: "remove the line", atLine: true},
	"control characters are not allowed":                     {message: "the file contains a control character", hint: "remove it, or write it as an escape such as \\x07 in double quotes"},
	"found a tab character that violates indentation":        {message: "the line is indented with a tab, and YAML allows only spaces", hint: "use spaces"},
}
