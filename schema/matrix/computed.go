package matrix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A computation is a function of the definition that is called while it is compiled.
type computation struct {
	jsFunction
	at schema.Position
	// file has it, by a name or empty, if a program may call it.
	file, function string
}

// isNone reports whether there is no function.
func (f computation) isNone() bool { return f.IsZero() && f.file == "" }

// transformVars is the option with the function that adds to the variables of a test.
const transformVars = "transformVars"

// readVariation reads the function that adds to the variables of a test.
func (c *compiler) readVariation(t *test, doc *document.Document, at ...any) {
	source := doc.Text(at...)
	if source == "" {
		return
	}
	t.variation = computation{jsFunction: inlineFunction(source, "vars, context", transformVars), at: doc.At(at...)}
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
	t.variation.jsFunction, err = functionOfFile(found.File, function, transformVars)
	if t.variation.file, t.variation.function = found.File.Path, function; err != nil && !c.makes(found.File.Path) {
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

// generated returns the tests of {path, config}. A function gets the config.
func (c *compiler) generated(doc *document.Document, at ...any) []test {
	in := func(key string) []any { return append(slices.Clip(at), key) }
	for _, key := range doc.Keys(at...) {
		if key != "path" && key != "config" {
			p := doc.Problem("unknown-field", fmt.Sprintf("unknown field `%s` next to the path of tests", template.Clip(key)), "write {path: file://tests.js:name, config: {…}}, and what all tests share under defaultTest", in(key)...)
			c.Problems = append(c.Problems, p)
			return nil
		}
	}
	name := doc.Text(in("path")...)
	file, _ := assertion.SplitFunction(name)
	if !isCode[path.Ext(file)] {
		return c.testsOf(name, in("path")...)
	}
	config, right := doc.JSON(in("config")...), true
	before := len(c.inputs)
	if len(config) > 0 {
		config, right = c.configValue(config, in("config")...)
	}
	if !right {
		return nil
	}
	var reads []string
	for _, in := range c.inputs[before:] {
		reads = append(reads, in.File)
	}
	return c.testsByFunction(name, configured{config, reads}, in("path")...)
}

// A configured is the argument of a function that makes tests, with the files that it is from.
type configured struct {
	value json.RawMessage // empty for none
	reads []string
}

// configValue returns a value of a config with the files that its texts name: the values
// of JSON and YAML, and texts of others. It reports whether all could be read.
func (c *compiler) configValue(value json.RawMessage, at ...any) (json.RawMessage, bool) {
	switch value[0] {
	case '{':
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(value, &fields) // read JSON
		for key, inner := range fields {
			read, right := c.configValue(inner, at...)
			if fields[key] = read; !right {
				return value, false
			}
		}
		value, _ = json.Marshal(fields) // JSON values
	case '[':
		var items []json.RawMessage
		_ = json.Unmarshal(value, &items) // read JSON
		for i, inner := range items {
			read, right := c.configValue(inner, at...)
			if items[i] = read; !right {
				return value, false
			}
		}
		value, _ = json.Marshal(items) // JSON values
	case '"':
		name, isFile := fileName(value)
		if !isFile {
			return value, true
		}
		if file, function := assertion.SplitFunction(name); function != "" && isCode[path.Ext(file)] {
			return value, true // stays a name
		}
		return c.configFile(name, at...)
	}
	return value, true
}

// configFile returns the value of a file in a config.
func (c *compiler) configFile(name string, at ...any) (json.RawMessage, bool) {
	if wildcard.IsGlob(name) || path.Ext(name) == ".csv" {
		c.Fail("wrong-value", fmt.Sprintf("the config names %s, which is not read here", template.Clip(name)), "name one file of JSON, YAML or text", at...)
		return nil, false
	}
	found := c.file(name, "tests", at...)
	if found.Path == "" {
		return nil, false
	}
	if wrong := document.CheckEncoding(found); len(wrong) > 0 {
		c.Problems = append(c.Problems, wrong...)
		return nil, false
	}
	switch path.Ext(name) {
	case ".json", ".yaml", ".yml":
		doc, problems := document.Parse(found.Path, found.Data)
		if c.Problems = append(c.Problems, problems...); doc == nil || schema.HasErrors(problems) {
			return nil, false
		}
		return doc.JSON(), true
	}
	text, _ := json.Marshal(string(found.Data)) // a text
	return text, true
}

// byHand returns the repair of tests of a program that is not run.
func byHand(file, function string) string {
	module := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if path.Ext(file) == ".py" {
		made := fmt.Sprintf("python3 -c 'import json, %s; print(json.dumps(%s.%s()))' > %s.json", module, module, cmp.Or(function, "generate_tests"), module)
		return "print its tests into a file of JSON and name that: " + made
	}
	return "write them into a file of YAML, JSON, JSONL or CSV"
}

// testsByFunction returns the tests that a JavaScript file exports or that its function
// returns, which gets the config unless it is empty. Their position is the beginning of the
// file.
func (c *compiler) testsByFunction(name string, config configured, at ...any) []test {
	file, function := assertion.SplitFunction(name)
	found := c.file(file, "tests", at...)
	if found.Path == "" {
		return nil
	}
	f, err := valueOfFile(found, function, "the tests")
	var made json.RawMessage
	if err == nil {
		var args []any
		if len(config.value) > 0 {
			args = append(args, config.value)
		}
		made, err = c.caller.Call(f, args...)
	}
	need, needs := errors.AsType[*template.NeedError](err)
	switch {
	case needs && c.makes(found.Path):
		if made = c.madeTests(makingCall{file: found.Path, function: function, at: c.Doc.At(at...), reads: config.reads, what: "the tests"}, config.value); made == nil {
			return nil
		}
	case needs:
		c.leaveOut(need.What)
		c.Warn("not-read", fmt.Sprintf("the tests of %s are not read: they need %s", template.Clip(name), need.What), byHand(file, function), at...)
		return nil
	case err != nil:
		c.Fail("function", fmt.Sprintf("the tests of %s are not read: %v", template.Clip(name), err), "correct the function; it is called while the file is read", at...)
		return nil
	}
	if string(made) == "[]" || string(made) == "null" {
		c.Fail("no-test", fmt.Sprintf("%s makes no test", template.Clip(name)), "return a list of tests, or remove its name", at...)
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

// variationOf calls the function of a test's variables, unless a program did.
func (c *compiler) variationOf(t *test) (template.Variables, error) {
	switch {
	case t.varied != nil:
		return t.varied.object()
	case t.variation.IsZero():
		return nil, &template.NeedError{What: "a program for " + transformVars}
	}
	return c.caller.Object(t.variation.jsFunction, t.vars, emptyPrompt)
}

// emptyPrompt is the context of a function of variables, whose prompt is not known.
var emptyPrompt = map[string]any{"prompt": map[string]any{}}

// vary adds the result of a test's function to its variables. They are not yet
// multiplied, nor filled in.
func (c *compiler) vary(t *test) {
	if t.need != "" || t.variation.isNone() {
		return
	}
	made, err := c.variationOf(t)
	if err != nil {
		c.failed(t, err, t.variation.at, transformVars)
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
		Position: at, Severity: schema.Error, Rule: cmp.Or(ruleOf(err), "function"),
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
