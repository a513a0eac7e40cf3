package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
)

// A computation is a function of the definition that is called while it is compiled.
type computation struct {
	jsFunction
	at schema.Position
}

// readVariation reads the function that adds to the variables of a test.
func (c *compiler) readVariation(t *test, doc *document.Document, at ...any) {
	source := doc.Text(at...)
	if source == "" {
		return
	}
	const what = "transformVars"
	t.variation = computation{inlineFunction(source, "vars, context", what), doc.At(at...)}
	name, isFile := strings.CutPrefix(source, "file://")
	if !isFile {
		return
	}
	name, function := assertion.SplitFunction(strings.TrimPrefix(name, "./"))
	found := c.Read(document.Reference{At: doc.At(at...), Path: name, Role: "program", Most: command.MaxFile})
	t.inputs = append(t.inputs, found.Inputs...)
	c.note(t, found.Problems)
	if !found.Found() {
		t.variation = computation{}
		return
	}
	var err error
	if t.variation.jsFunction, err = functionOfFile(found.File, function, what); err != nil {
		t.require(err.Error())
	}
}

// readFilters reads the file's own template filters: names of files with a function
// each.
func (c *compiler) readFilters() {
	c.engine.Filters = map[string]template.Filter{}
	for _, name := range c.Doc.Keys("nunjucksFilters") {
		file, function := assertion.SplitFunction(c.Doc.Text("nunjucksFilters", name))
		if file == "" {
			c.Fail("wrong-type", fmt.Sprintf("the filter %q is not the name of a file", template.Clip(name)), "write the name of a file of JavaScript that exports the function", "nunjucksFilters", name)
			continue
		}
		found := c.file(file, "program", "nunjucksFilters", name)
		if found.Path == "" {
			continue
		}
		f, err := functionOfFile(found, function, "the filter "+template.Clip(name))
		c.engine.Filters[name] = func(args []json.RawMessage) (json.RawMessage, error) {
			if err != nil {
				return nil, err
			}
			given := make([]any, len(args))
			for i := range args {
				given[i] = args[i]
			}
			return c.caller.Call(f, given...)
		}
	}
}

// testsByFunction returns the tests that a JavaScript file exports or that its function
// returns. Their position is the beginning of the file.
func (c *compiler) testsByFunction(name string, at ...any) []test {
	file, function := assertion.SplitFunction(name)
	found := c.file(file, "tests", at...)
	if found.Path == "" {
		return nil
	}
	f, err := valueOfFile(found, function, "the tests")
	var made json.RawMessage
	if err == nil {
		made, err = c.caller.Call(f)
	}
	if need, ok := errors.AsType[*template.NeedError](err); ok {
		c.leaveOut(need.What)
		c.Warn("not-read", fmt.Sprintf("the tests of %s are not read: they need %s", template.Clip(name), need.What), "write them into a file of YAML, JSON, JSONL or CSV", at...)
		return nil
	}
	if err != nil {
		c.Fail("function", fmt.Sprintf("the tests of %s are not read: %v", template.Clip(name), err), "correct the function; it is called while the file is read", at...)
		return nil
	}
	doc, problems := document.Parse(found.Path+".json", made)
	problemsBefore, wrongBefore := len(c.Problems), len(c.wrong)
	c.Problems = append(c.Problems, problems...)
	all := c.listedTests(doc)
	c.tables[found.Path] = true
	start := schema.Position{File: found.Path, Line: 1, Column: 1}
	for i := range all {
		all[i].at = start
		for n := len(c.shared.asserts); n < len(all[i].asserts); n++ {
			all[i].asserts[n].at = start
		}
	}
	for _, added := range [][]schema.Problem{c.Problems[problemsBefore:], c.wrong[wrongBefore:]} {
		for i := range added {
			added[i].Position = start
		}
	}
	return all
}

// require records a need of a test, if no other is recorded.
func (t *test) require(need string) {
	if t.need == "" {
		t.need = need
	}
}

// vary adds the result of a test's function to its variables. They are not yet
// multiplied, nor filled in.
func (c *compiler) vary(t *test) {
	if t.need != "" || t.variation.IsZero() {
		return
	}
	made, err := c.caller.Object(t.variation.jsFunction, t.vars, map[string]any{"prompt": map[string]any{}})
	if err != nil {
		c.failed(t, err, t.variation.at, "transformVars")
		return
	}
	t.written, t.vars = t.vars, maps.Clone(t.vars)
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if _, known := t.vars[name]; !known {
			t.order = append(slices.Clip(t.order), name)
		}
		t.vars[name] = made[name]
	}
}

// failed handles a function without a result: the test needs a program, or it has an
// error.
func (c *compiler) failed(t *test, err error, at schema.Position, key string) {
	if _, ok := errors.AsType[*template.NeedError](err); ok {
		t.require(err.Error())
		return
	}
	c.note(t, []schema.Problem{{
		Position: at, Severity: schema.Error, Rule: "function",
		Message: fmt.Sprintf("`%s` gives nothing: %s", key, err), Hint: "correct the function; it is called with the variables of the test while the file is read",
	}})
}

// said returns the variables that name a row: as they are written, with the row's value
// for each list.
func (t *test) said(vars template.Variables) template.Variables {
	said := maps.Clone(t.written)
	for name, value := range vars {
		if string(value) != string(t.vars[name]) {
			said[name] = value
		}
	}
	return said
}
