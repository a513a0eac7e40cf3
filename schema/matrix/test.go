package matrix

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// A test is one of the file, with what all tests share.
type test struct {
	at          schema.Position
	description string
	vars        variables
	order       []string // of the names of vars, as the file has them
	asserts     []assertion
	threshold   *float64
	tags        []string
	inputs      []schema.Input
	expands     bool   // lists of texts in vars multiply the test
	need        string // what it needs and is not read
	transform   string // of the answer, before assertions look at it
	prefix      string
	suffix      string
}

// An assertion is one as it is written.
type assertion struct {
	Type      string          `json:"type"`
	Value     json.RawMessage `json:"value"`
	Threshold *float64        `json:"threshold"`
	Weight    *float64        `json:"weight"`
	Metric    string          `json:"metric"`
	Transform string          `json:"transform"`
	need      string
}

// readShared reads what all tests share.
func (c *compiler) readShared() test {
	none := test{vars: variables{}, expands: true}
	if !c.Doc.Has("defaultTest") {
		return none
	}
	if name := c.Doc.Text("defaultTest"); name != "" {
		doc := c.open(name, "defaultTest")
		if doc == nil {
			return none
		}
		return c.readTest(doc, none)
	}
	return c.readTest(c.Doc, none, "defaultTest")
}

// open reads another file of the definition; nil where that cannot be done, which
// is a problem then.
func (c *compiler) open(name string, at ...any) *schema.Document {
	data := c.file(name, "tests", at...)
	if data.Path == "" {
		return nil
	}
	doc, problems := schema.Parse(data.Path, data.Data)
	c.Problems = append(c.Problems, problems...)
	return doc
}

// file reads a file that the definition names.
func (c *compiler) file(name, role string, at ...any) schema.File {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "file://"), "./")
	found := c.Read(schema.Reference{At: c.Doc.At(at...), Path: name, Role: role})
	c.Problems, c.inputs = append(c.Problems, found.Problems...), append(c.inputs, found.Inputs...)
	return found.File
}

// readTests reads the tests of the file and of those that it names. A file
// without tests has one, of what all tests share.
func (c *compiler) readTests() []test {
	switch {
	case !c.Doc.Has("tests"):
		one := c.shared
		one.at = c.Doc.At()
		return []test{one}
	case c.Doc.Text("tests") != "":
		return c.testsOf(c.Doc.Text("tests"), "tests")
	case !c.Doc.IsList("tests"):
		c.Fail("wrong-type", "`tests` must be a list of tests or the name of a file", "write - vars: {…} for each test, or file://tests.csv", "tests")
		return nil
	}
	var all []test
	for i := range c.Doc.Items("tests") {
		if name := c.Doc.Text("tests", i); name != "" {
			all = append(all, c.testsOf(name, "tests", i)...)
			continue
		}
		all = append(all, c.readTest(c.Doc, c.shared, "tests", i))
	}
	return all
}

// testsOf reads the tests of another file.
func (c *compiler) testsOf(name string, at ...any) []test {
	scheme, _, isURL := strings.Cut(name, "://")
	switch ext := path.Ext(name); {
	case isURL && scheme != "file":
		c.skipped["tests that are fetched from the net"]++
		c.Warn("not-read", fmt.Sprintf("the tests of %s are fetched from the net and are not read", clip(name)), "download them and name the file", at...)
		return nil
	case strings.ContainsAny(name, "*?["):
		c.Fail("glob", fmt.Sprintf("the name %q has a wildcard", clip(name)), "name each file", at...)
		return nil
	case slices.Contains([]string{".py", ".js", ".ts", ".mjs", ".cjs"}, strings.SplitN(ext, ":", 2)[0]):
		c.Warn("not-read", fmt.Sprintf("the tests of %s are written by a program and are not read", clip(name)), "write them into a file of YAML, JSON, JSONL or CSV", at...)
		return nil
	case ext == ".csv":
		return c.csvTests(c.file(name, "tests", at...))
	}
	doc := c.open(name, at...)
	if doc == nil {
		return nil
	}
	if !doc.IsList() {
		return []test{c.readTest(doc, c.shared)}
	}
	var all []test
	for i := range doc.Items() {
		all = append(all, c.readTest(doc, c.shared, i))
	}
	return all
}

// readTest reads one test, over what all share.
func (c *compiler) readTest(doc *schema.Document, shared test, at ...any) test {
	c.Problems = append(c.Problems, doc.CheckPart("#MatrixTest", schema.Note, at...)...)
	in := func(steps ...any) []any { return append(at[:len(at):len(at)], steps...) }
	t := shared
	t.at, t.description = doc.At(at...), doc.Text(in("description")...)
	t.asserts, t.inputs = slices.Clone(shared.asserts), slices.Clone(shared.inputs)
	t.vars, t.order = maps.Clone(shared.vars), slices.Clone(shared.order)
	c.readVars(&t, doc, in("vars")...)
	for i := range doc.Items(in("assert")...) {
		t.asserts = append(t.asserts, c.readAssertion(&t, doc, in("assert", i)...))
	}
	if n, ok := number(doc.JSON(in("threshold")...)); ok {
		t.threshold = &n
	}
	t.readOptions(doc, in)
	for _, tag := range append([]string{doc.Text(in("metadata", "category")...)}, doc.Text(in("metadata", "tags")...)) {
		if tag != "" {
			t.tags = append(slices.Clip(t.tags), tag)
		}
	}
	for i := range doc.Items(in("metadata", "tags")...) {
		if tag := doc.Text(in("metadata", "tags", i)...); tag != "" {
			t.tags = append(slices.Clip(t.tags), tag)
		}
	}
	return t
}

// readOptions reads what bears on the row, and notes what it needs.
func (t *test) readOptions(doc *schema.Document, in func(...any) []any) {
	for _, need := range []struct {
		what string
		at   []any
	}{
		{"a provider of its own", in("provider")},
		{"an output that is given with the test", in("providerOutput")},
		{"a program (assertScoringFunction)", in("assertScoringFunction")},
		{"a transform of variables", in("options", "transformVars")},
		{"a judge's prompt of its own (rubricPrompt)", in("options", "rubricPrompt")},
		{"the output of another test (storeOutputAs)", in("options", "storeOutputAs")},
	} {
		if doc.Has(need.at...) && t.need == "" {
			t.need = need.what
		}
	}
	if s := doc.Text(in("options", "transform")...); s != "" {
		t.transform = s
	}
	if s := doc.Text(in("options", "prefix")...); s != "" {
		t.prefix = s
	}
	if s := doc.Text(in("options", "suffix")...); s != "" {
		t.suffix = s
	}
	if string(doc.JSON(in("options", "disableVarExpansion")...)) == "true" {
		t.expands = false
	}
}

// readVars reads the variables, with the files that they name.
func (c *compiler) readVars(t *test, doc *schema.Document, at ...any) {
	if name := doc.Text(at...); name != "" {
		if doc = c.open(name); doc == nil {
			return
		}
		at = nil
	}
	for _, name := range doc.Keys(at...) {
		if _, known := t.vars[name]; !known {
			t.order = append(t.order, name)
		}
		value := doc.JSON(append(at[:len(at):len(at)], name)...)
		if file, isFile := fileName(value); isFile {
			value = c.varFile(t, file, doc.At(append(at[:len(at):len(at)], name)...))
		}
		t.vars[name] = value
	}
}

// fileName is the file that a value names.
func fileName(value json.RawMessage) (string, bool) {
	s, ok := text(value)
	if !ok {
		return "", false
	}
	name, isFile := strings.CutPrefix(s, "file://")
	return strings.TrimPrefix(name, "./"), isFile
}

// varFile is the text of a file, or the value of one of JSON or YAML.
func (c *compiler) varFile(t *test, name string, at schema.Position) json.RawMessage {
	switch ext := path.Ext(name); ext {
	case ".txt", ".md", ".json", ".yaml", ".yml", ".html", ".xml", ".csv":
	default:
		t.need = "a variable from a file of the type " + clip(ext)
		return json.RawMessage("null")
	}
	found := c.Read(schema.Reference{At: at, Path: name, Role: "variable"})
	c.Problems, t.inputs = append(c.Problems, found.Problems...), append(t.inputs, found.Inputs...)
	if !found.Found() {
		return json.RawMessage("null")
	}
	if ext := path.Ext(name); ext == ".json" || ext == ".yaml" || ext == ".yml" {
		if doc, problems := schema.Parse(found.File.Path, found.File.Data); doc != nil && !schema.HasErrors(problems) {
			return doc.JSON()
		}
	}
	raw, _ := json.Marshal(strings.TrimRight(string(found.File.Data), "\r\n")) // a text
	return raw
}

// readAssertion reads one assertion.
func (c *compiler) readAssertion(t *test, doc *schema.Document, at ...any) assertion {
	var a assertion
	if doc.Text(at...) != "" {
		return assertion{need: "an assertion in words, as AgentV 5 has it"}
	}
	c.Problems = append(c.Problems, doc.CheckPart("#MatrixAssertion", schema.Note, at...)...)
	if json.Unmarshal(doc.JSON(at...), &a) != nil {
		return assertion{need: "an assertion that can be read"}
	}
	for _, key := range []string{"rubricPrompt", "provider", "contextTransform"} {
		if doc.Has(append(at[:len(at):len(at)], key)...) {
			a.need = fmt.Sprintf("`%s` of an assertion", key)
		}
	}
	kind := strings.TrimPrefix(a.Type, "not-")
	if name, isFile := fileName(a.Value); isFile && a.need == "" && kind != "javascript" && slices.Contains(known, kind) {
		a.Value = c.varFile(t, name, doc.At(append(at[:len(at):len(at)], "value")...))
	}
	return a
}

// csvTests reads a table: a column is a variable, or one of the names that begin
// with two underscores.
func (c *compiler) csvTests(file schema.File) []test {
	if file.Path == "" {
		return nil
	}
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
		all = append(all, t)
	}
	return all
}

// cell takes over one field of a table.
func (t *test) cell(name, value string) {
	raw, _ := json.Marshal(value) // a text
	switch {
	case strings.HasPrefix(name, "__expected"):
		if value != "" {
			t.asserts = append(t.asserts, shortForm(value))
		}
	case name == "__prefix":
		t.prefix = value
	case name == "__suffix":
		t.suffix = value
	case name == "__description":
		t.description = value
	case name == "__threshold":
		if n, ok := number(json.RawMessage(strings.TrimSpace(value))); ok {
			t.threshold = &n
		}
	case name == "__metadata:tags[]" || name == "__metadata:category":
		for tag := range strings.SplitSeq(value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				t.tags = append(slices.Clip(t.tags), tag)
			}
		}
	case name == "__providerOutput" && value != "":
		t.need = "an output that is given with the test"
	case strings.HasPrefix(name, "__"):
	default:
		if _, known := t.vars[name]; !known {
			t.order = append(t.order, name)
		}
		t.vars[name] = raw
	}
}
