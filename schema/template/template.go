// Package template fills variables into texts as Nunjucks does, without its files,
// its escapes and its ways to run code.
//
// Most callers want [Engine.Fill]. A template is data of a stranger: it reaches its
// variables and nothing else, and its steps and its output are bounded.
package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A NeedError names an unsupported need of a text.
type NeedError struct{ What string }

// Error returns the need.
func (e *NeedError) Error() string { return e.What }

// A MistakeError reports a wrong value, whatever reads it.
type MistakeError struct {
	// Message describes the mistake, and Hint the replacement.
	Message, Hint string
	// Rule is the rule of its problem; empty for that of a wrong value.
	Rule string
}

// Error returns the mistake.
func (e *MistakeError) Error() string { return e.Message }

// An EnvironmentError is about a text that needs the variable of that name.
type EnvironmentError string

// Error names the variable.
func (e EnvironmentError) Error() string { return "the environment variable " + string(e) }

// An Error is about a place of a template that cannot be filled in.
type Error struct {
	// Line and Column count from 1, Column in Unicode code points.
	Line, Column int
	// Source is the text from that place to the end of its line.
	Source string
	// Message describes the mistake, and Hint the replacement.
	Message, Hint string
	// Wrong reports whether the template is invalid everywhere, rather than unsupported
	// here.
	Wrong bool
}

// Error describes the required template.
func (e *Error) Error() string { return "a template that can be filled in: " + e.Message }

// Variables are values by name, as JSON.
type Variables map[string]json.RawMessage

// The bounds of one text.
const (
	// maxFilled bounds a text after its variables are filled in, in bytes.
	maxFilled = 1 << 20
	// maxSteps bounds its computation: expressions, tags and passes of loops.
	maxSteps = 100_000
	// maxMade bounds the texts and lists that are made on the way, in bytes and items.
	maxMade = 8 << 20
)

// The bounds of all texts of an [Engine].
const (
	maxAllSteps = 5_000_000
	maxAllMade  = 1 << 30
	maxParsed   = 10_000
)

// An Engine fills in the texts of one definition, and bounds the effort. It is not safe
// for concurrent use.
type Engine struct {
	// Later are variables whose values are only known after other tests ran, with
	// descriptions. A text with one of them gives a [NeedError].
	Later map[string]string
	// Kept reports whether a value, as JSON, has a text in the place of one that is known
	// later. Such a variable may be inserted and not be computed with: that gives a
	// [NeedError]. If it is nil, no value has.
	Kept func(value string) bool
	// Environment are the values of {{ env.NAME }} from the definition itself.
	Environment map[string]string
	// Filters are the definition's own filters, by name.
	Filters map[string]Filter
	parsed  map[string]*parseResult
	steps   int // of all texts so far
	made    int // for all texts so far, in bytes and items
	missing map[string]bool
}

// Missing returns the missing variables that were used since its last call.
func (e *Engine) Missing() map[string]bool {
	missing := e.missing
	e.missing = nil
	return missing
}

// A parseResult is a template, or its error.
type parseResult struct {
	nodes []node
	err   error
}

// A Filter computes a value from a value and its arguments, all as JSON. Its error is a
// [*NeedError], or the reason for a missing result.
type Filter func(args []json.RawMessage) (json.RawMessage, error)

// isTemplate reports whether anything of a text is filled in.
func isTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#") || strings.Contains(text, "#}")
}

// Fill fills the variables into a text; an unknown one is empty. The error is an
// [EnvironmentError], a [*NeedError] about a variable that is known later, or an
// [*Error] about something unsupported or too slow.
func (e *Engine) Fill(vars Variables, text string) (string, error) {
	filled, _, err := e.FillKnown(vars, text)
	return filled, err
}

// FillKnown fills the variables into a text as [Engine.Fill] does, and reports whether
// all used variables exist.
func (e *Engine) FillKnown(vars Variables, text string) (filled string, known bool, err error) {
	if !isTemplate(text) {
		return text, true, nil
	}
	p := e.parse(text)
	if p.err != nil {
		return "", false, p.err
	}
	if e.Kept != nil && e.Kept(text) && e.computesKept(text) {
		return "", false, &NeedError{What: "the output of another test in an expression"}
	}
	x := &execution{engine: e, vars: vars, source: text}
	x.frames = []map[string]any{{}}
	for _, n := range p.nodes {
		if err := n(x); err != nil {
			return "", false, err
		}
	}
	return x.out.String(), !x.unknown, nil
}

// computesKept reports whether a text that has the place of a value which is known later has
// tags, or an expression with the place.
func (e *Engine) computesKept(text string) bool {
	for i, part := range strings.Split(text, "{{") {
		inside, _, _ := strings.Cut(part, "}}")
		if i > 0 && e.Kept(inside) {
			return true
		}
	}
	return strings.Contains(text, "{%")
}

// parse reads a text once.
func (e *Engine) parse(text string) *parseResult {
	if p := e.parsed[text]; p != nil {
		return p
	}
	p := &parseResult{}
	p.nodes, p.err = parseText(text, e.Filters)
	if e.parsed == nil {
		e.parsed = map[string]*parseResult{}
	}
	if len(e.parsed) < maxParsed {
		e.parsed[text] = p
	}
	return p
}

// FillJSON fills in the variables of every text within a value. It returns an error
// as [Engine.Fill] does, or one of the JSON.
func (e *Engine) FillJSON(vars Variables, value json.RawMessage) (json.RawMessage, error) {
	if !isTemplate(string(value)) {
		return value, nil
	}
	var any any
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	if err := dec.Decode(&any); err != nil {
		return nil, err
	}
	filled, err := e.fillAny(vars, any)
	if err != nil {
		return nil, err
	}
	return json.Marshal(filled)
}

func (e *Engine) fillAny(vars Variables, value any) (any, error) {
	var err error
	switch x := value.(type) {
	case string:
		return e.Fill(vars, x)
	case []any:
		for i := range x {
			if x[i], err = e.fillAny(vars, x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range x {
			if x[name], err = e.fillAny(vars, x[name]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// Written formats a value for insertion: a text without quotes, null as nothing,
// anything else as JSON.
func Written(value json.RawMessage) string {
	var s string
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case json.Unmarshal(value, &s) == nil:
		return s
	}
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return string(value)
	}
	return out.String()
}

// Clip shortens a text that is shown.
func Clip(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return s
}

// errorAt returns an error about a byte offset of a text.
func errorAt(source string, offset int, message, hint string) *Error {
	offset = min(max(offset, 0), len(source))
	before := source[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	line, _, _ := strings.Cut(source[offset:], "\n")
	return &Error{
		Line: strings.Count(before, "\n") + 1, Column: len([]rune(before[start:])) + 1,
		Source: line, Message: message, Hint: hint,
	}
}

// mistakeAt is like errorAt for a template that is invalid everywhere.
func mistakeAt(source string, offset int, message, hint string) *Error {
	e := errorAt(source, offset, message, hint)
	e.Wrong = true
	return e
}

// tooMuch returns the error of a text that exceeds a bound.
func tooMuch(source string, offset int, what string, most int) error {
	return errorAt(source, offset, fmt.Sprintf("the template takes more than %d %s", most, what), "write a template with fewer or shorter loops")
}
