package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

const (
	// maxLines is how many bytes a .jsonl file may have; each of its lines is
	// bounded like a value of its own.
	maxLines = 16 << 20
	// maxText is how many bytes any other text with definitions, tests or prompts may have.
	maxText = 8 << 20
)

// Limit is how many bytes a file of this name may have. It is the one bound of what
// definitions are read from; a file that it does not name may have [schema.MaxFile].
func Limit(file string) int64 {
	switch path.Ext(file) {
	case ".jsonl":
		return maxLines
	case ".json", ".yaml", ".yml", ".csv":
		return maxText
	}
	return schema.MaxFile
}

// signs are characters. Every value of JSON and YAML has one of them before it, apart from the
// first value.
const signs = "\n,:-[{?"

// tooManySigns refuses a large text that would have more values than the largest text of
// [schema.MaxFile], before a parser builds them.
func tooManySigns(file string, data []byte) []schema.Problem {
	n := 0
	for _, sign := range []byte(signs) {
		n += bytes.Count(data, []byte{sign})
	}
	if n <= schema.MaxFile {
		return nil
	}
	return []schema.Problem{errorAt(startOf(file), "too-many-values", fmt.Sprintf("the file has %d signs that may begin a value (line breaks and any of %s), and a file of more than %d KiB may have %d", n, signs[1:], schema.MaxFile>>10, schema.MaxFile), "split it, or write the tests into a file that is nothing but a list of them")}
}

// parseLines reads a .jsonl file: every non-blank line is an item of the document. An
// unreadable line is skipped and does not affect the others.
func parseLines(file string, data []byte) (*Document, []schema.Problem) {
	doc := &Document{File: file, root: &node{pos: startOf(file), kind: listNode}}
	var problems []schema.Problem
	i := -1
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		i++
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		item, found := parseLine(line, textIndex{file: file, lines: []string{string(line)}, first: i})
		problems = append(problems, found...)
		if over := doc.add(item, schema.Position{File: file, Line: i + 1, Column: 1}); over != nil {
			return nil, over
		}
	}
	if len(problems)+len(doc.lines) == 0 {
		return parse(data, textIndex{file: file}, nil) // which reports an empty file
	}
	if len(doc.lines) == 0 {
		doc = nil
		if json.Valid(data) {
			problems = []schema.Problem{errorAt(
				startOf(file), "syntax", "the file is one JSON value over several lines", "write each case into a line of its own, or name the file .json",
			)}
		}
	}
	return doc, schema.SortProblems(problems)
}

const (
	// maxItems bounds the items of a list whose items are read one by one, and maxListed the
	// values of all of them together.
	maxItems  = 200_000
	maxListed = 10 * maxValues
)

// add adds an item, unless it is nil. A problem is that there are too many.
func (d *Document) add(item *Document, at schema.Position) []schema.Problem {
	if item == nil {
		return nil
	}
	switch d.values += item.values; {
	case len(d.lines) == maxItems:
		return []schema.Problem{errorAt(at, "too-many-values", fmt.Sprintf("the list has more than %d items", maxItems), "split it")}
	case d.values > maxListed:
		return []schema.Problem{errorAt(at, "too-many-values", fmt.Sprintf("the list has more than %d values up to here", maxListed), "split it")}
	}
	d.lines, d.flawed = append(d.lines, item), d.flawed || item.flawed
	d.root.items = append(d.root.items, item.root)
	return nil
}

func parseLine(line []byte, text textIndex) (*Document, []schema.Problem) {
	if len(line) > schema.MaxFile {
		return nil, []schema.Problem{tooLarge(schema.Position{File: text.file, Line: text.first + 1, Column: 1}, "the line", int64(len(line)), schema.MaxFile)}
	}
	return parse(line, text, nil)
}

// Items returns how many items the list at the path has; 0 if there is no list.
func (d *Document) Items(path ...any) int {
	if n := d.find(path); n != nil {
		return len(n.items)
	}
	return 0
}

// IsList reports whether the value at the path is a list.
func (d *Document) IsList(path ...any) bool { return d.isKind(listNode, path) }

// IsObject reports whether the value at the path is an object.
func (d *Document) IsObject(path ...any) bool { return d.isKind(objectNode, path) }

// IsText reports whether the value at the path is a string, which may be empty.
func (d *Document) IsText(path ...any) bool { return d.isKind(stringNode, path) }

func (d *Document) isKind(kind nodeKind, path []any) bool {
	n := d.find(path)
	return n != nil && n.kind == kind
}

// Part returns the value at a path as a separate document, with its positions in the
// file; nil without a value.
func (d *Document) Part(path ...any) *Document {
	if len(path) == 0 {
		return d
	}
	if i, ok := path[0].(int); ok && d.lines != nil {
		if i < 0 || i >= len(d.lines) {
			return nil
		}
		return d.lines[i].Part(path[1:]...)
	}
	n := d.find(path)
	if n == nil {
		return nil
	}
	return &Document{File: d.File, root: n, rules: d.rules, flawed: d.flawed, large: d.large}
}

// Dereferenced returns the document with each {$ref: "#/a/b"} replaced by the value at
// that place (see [dereference]); a part of a document is unchanged. If the result is
// too large, it returns problems and the unchanged document.
func (d *Document) Dereferenced() (*Document, []schema.Problem) {
	if !slices.ContainsFunc(d.text.lines, func(line string) bool { return strings.Contains(line, "$ref") }) {
		return d, nil
	}
	out, problems := build(dereference(d.expr), d.text)
	if out == nil {
		return d, problems
	}
	out.file, out.rules = d.file, d.rules
	return out, nil
}
