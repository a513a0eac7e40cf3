package matrix

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/matrix/rawjson"
)

// csvTests reads a table: a column is a variable, or one of the names that begin
// with two underscores.
func (c *compiler) csvTests(file schema.File) []test {
	if file.Path == "" {
		return nil
	}
	c.tables[file.Path] = true
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file.Data, []byte("\ufeff"))))
	r.FieldsPerRecord = -1
	var records [][]string
	var lines []int
	record, err := r.Read()
	for ; err == nil; record, err = r.Read() {
		line, _ := r.FieldPos(0)
		records, lines = append(records, record), append(lines, line)
	}
	if !errors.Is(err, io.EOF) || len(records) == 0 {
		at := schema.Position{File: file.Path, Line: 1, Column: 1}
		message := "the table is empty"
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			at.Line, at.Column, message = parse.Line, parse.Column, "the table cannot be read: "+parse.Err.Error()
		}
		c.Problems = append(c.Problems, schema.Problem{Position: at, Severity: schema.Error, Rule: "csv", Message: message, Hint: "write a line with the names of the columns, then a line for each test"})
		return nil
	}
	var all []test
	for i, record := range records[1:] {
		t := c.shared
		t.at = schema.Position{File: file.Path, Line: lines[i+1], Column: 1}
		t.asserts, t.vars, t.order = slices.Clone(t.asserts), maps.Clone(t.vars), slices.Clone(t.order)
		for n, name := range records[0] {
			if n < len(record) {
				t.cell(strings.TrimSpace(name), record[n])
			}
		}
		t.settings(records[0], record, len(c.shared.asserts))
		all = append(all, t)
	}
	return all
}

// cell takes over one field of a table.
func (t *test) cell(name, value string) {
	switch {
	case strings.HasPrefix(name, "__expected"):
		if value != "" {
			a := shortForm(value)
			a.column = name
			t.asserts = append(t.asserts, a)
		}
	case name == "__prefix":
		t.prefix = value
	case name == "__suffix":
		t.suffix = value
	case name == "__description":
		t.description = value
	case name == "__threshold":
		if n, ok := rawjson.Number(json.RawMessage(strings.TrimSpace(value))); ok {
			t.threshold = &n
		}
	case name == "__metadata:tags[]" || name == "__metadata:category":
		for tag := range strings.SplitSeq(value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				t.tags = append(slices.Clip(t.tags), tag)
			}
		}
	case name == "__providerOutput" && value != "":
		t.given = &given{text: value}
	case strings.HasPrefix(name, "__"):
	default:
		if _, known := t.vars[name]; !known {
			t.order = append(t.order, name)
		}
		t.vars[name], _ = json.Marshal(value) // a text
	}
}

// settings takes over the columns of a row that belong to its own assertions, which are
// those after the shared ones: __metric to all, __config:__expected2:threshold to one.
// A column __expected may be called __expected1.
func (t *test) settings(names, record []string, shared int) {
	for n, name := range names {
		if n >= len(record) || record[n] == "" {
			continue
		}
		name = strings.TrimSpace(name)
		column, isThreshold := strings.CutSuffix(strings.TrimPrefix(name, "__config:"), ":threshold")
		if !isThreshold && name != "__metric" {
			continue
		}
		least, isNumber := rawjson.Number(json.RawMessage(strings.TrimSpace(record[n])))
		for i := shared; i < len(t.asserts); i++ {
			a := &t.asserts[i]
			switch {
			case name == "__metric":
				a.Metric = record[n]
			case isThreshold && isNumber && strings.TrimSuffix(a.column, "1") == strings.TrimSuffix(column, "1"):
				a.Threshold = &least
			}
		}
	}
}
