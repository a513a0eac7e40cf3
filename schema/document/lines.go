package document

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// maxLines is how many bytes a .jsonl file may have; each of its lines is
// bounded like a definition of its own.
const maxLines = 16 << 20

// Limit is how many bytes a file of this name may have.
func Limit(file string) int {
	if path.Ext(file) == ".jsonl" {
		return maxLines
	}
	return schema.MaxFile
}

// parseLines reads a .jsonl file: every non-blank line is an item of the document. An
// unreadable line is skipped and does not affect the others.
func parseLines(file string, data []byte) (*Document, []schema.Problem) {
	doc := &Document{File: file, root: &node{pos: startOf(file), kind: listNode}}
	var problems []schema.Problem
	for i, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		item, found := parseLine(line, textIndex{file: file, lines: []string{string(line)}, first: i})
		problems = append(problems, found...)
		if item != nil {
			doc.lines, doc.flawed = append(doc.lines, item), doc.flawed || item.flawed
			doc.root.items = append(doc.root.items, item.root)
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
	return &Document{File: d.File, root: n, rules: d.rules, flawed: d.flawed}
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
