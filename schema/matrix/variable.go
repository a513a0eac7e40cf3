package matrix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/template"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// readVars reads the variables of a test: an object, or the names of files with one each.
// The last of several files counts.
func (c *compiler) readVars(t *test, doc *document.Document, at ...any) {
	if name := doc.Text(at...); name != "" {
		c.varsOf(t, name, doc.At(at...))
		return
	}
	for i := range doc.Items(at...) {
		place := append(slices.Clip(at), i)
		c.varsOf(t, doc.Text(place...), doc.At(place...))
	}
	for _, name := range doc.Keys(at...) {
		place := append(slices.Clip(at), name)
		t.set(name, c.variable(t, name, doc.JSON(place...), doc.At(place...)))
	}
}

// varsOf reads the variables of a file, or of all files that a name with wildcards
// means.
func (c *compiler) varsOf(t *test, name string, at schema.Position) {
	files := []string{name}
	if wildcard.IsGlob(name) {
		var problems []schema.Problem
		files, problems = c.matching(name, "variable", at)
		c.note(t, problems)
	}
	first := map[string]string{} // the file that each name is from
	read := template.Variables{}
	for _, file := range files {
		doc := c.varsFile(t, file, at)
		if doc == nil {
			continue
		}
		for _, name := range doc.Keys() {
			value := c.variable(t, name, doc.JSON(name), doc.At(name))
			if from, twice := first[name]; twice && string(value) != string(read[name]) {
				c.note(t, []schema.Problem{{
					Position: at, Severity: schema.Error, Rule: "wrong-value",
					Message: fmt.Sprintf("the variable %s has one value in %s and another in %s", template.Clip(name), from, doc.File),
					Hint:    "name the files in a list, of which the last one counts, or remove the variable from one of them",
				}})
			}
			first[name], read[name] = doc.File, value
			t.set(name, value)
		}
	}
}

// varsFile opens a file of variables. Its errors are the test's; nil for one that cannot be
// read.
func (c *compiler) varsFile(t *test, name string, at schema.Position) *document.Document {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "file://"), "./")
	found := c.Read(document.Reference{At: at, Path: name, Role: "variable", Most: document.Limit(name)})
	t.inputs = append(t.inputs, found.Inputs...)
	if c.note(t, found.Problems); !found.Found() {
		return nil
	}
	doc, problems := document.Parse(found.File.Path, found.File.Data)
	if c.note(t, problems); doc == nil {
		return nil
	}
	doc, problems = doc.Dereferenced()
	c.note(t, problems)
	if doc != nil && !doc.IsObject() {
		c.note(t, []schema.Problem{doc.Problem("wrong-type", "the file of variables is not an object", "write a name and a value for each variable")})
	}
	return doc
}

// set gives a variable its value.
func (t *test) set(name string, value json.RawMessage) {
	if _, known := t.vars[name]; !known {
		t.order = append(t.order, name)
	}
	t.vars[name] = value
}

// fileName returns the file that a value names.
func fileName(value json.RawMessage) (string, bool) {
	s, ok := document.ParseText(value)
	if !ok {
		return "", false
	}
	name, isFile := strings.CutPrefix(s, "file://")
	return strings.TrimPrefix(name, "./"), isFile
}

// variable returns the value of a variable with the files that it names. The files that
// match a name with wildcards are a list of texts, which multiplies the test, and so do
// files in a list.
func (c *compiler) variable(t *test, name string, value json.RawMessage, at schema.Position) json.RawMessage {
	file, isFile := fileName(value)
	switch {
	case isFile && wildcard.IsGlob(file):
		texts := []string{}
		files, problems := c.matching(file, "variable", at)
		c.note(t, problems)
		for _, found := range files {
			texts = append(texts, template.Written(c.valueOfVariable(t, name, found, at)))
		}
		raw, _ := json.Marshal(texts) // texts
		return raw
	case isFile:
		return c.valueOfVariable(t, name, file, at)
	}
	return c.listedFiles(t, name, value, at)
}

// valueOfVariable returns the text of a file, or the name of one whose function makes the
// variable.
func (c *compiler) valueOfVariable(t *test, name, file string, at schema.Position) json.RawMessage {
	if isScript[path.Ext(file)] || c.makes(file) {
		return c.varFunction(t, name, file, at)
	}
	return c.varFile(t, "variable", file, at)
}

// listedFiles replaces the names of files in a list that multiplies its test.
func (c *compiler) listedFiles(t *test, name string, value json.RawMessage, at schema.Position) json.RawMessage {
	var items []json.RawMessage
	if !t.expands || len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &items) != nil {
		return value
	}
	if len(items) == 0 || items[0][0] != '"' {
		return value
	}
	changed := false
	for i, item := range items {
		if file, isFile := fileName(item); isFile {
			items[i], changed = c.valueOfVariable(t, name, file, at), true
		}
	}
	if !changed {
		return value
	}
	value, _ = json.Marshal(items) // JSON values
	return value
}

// isScript are the types of files whose function makes a variable.
var isScript = map[string]bool{".js": true, ".cjs": true, ".mjs": true}

// varFunction reads the function that makes a variable, which is called for each prompt
// and provider. The variable keeps the name of the file until then.
func (c *compiler) varFunction(t *test, name, file string, at schema.Position) json.RawMessage {
	value, _ := json.Marshal("file://" + file) // a text
	found := c.Read(document.Reference{At: c.folderOf(t, file, at), Path: file, Role: "program", Most: command.MaxFile})
	t.inputs = append(t.inputs, found.Inputs...)
	c.note(t, found.Problems)
	if !found.Found() {
		return value
	}
	f, err := functionOfFile(found.File, "", "the variable "+template.Clip(name))
	if err != nil && !c.makes(found.File.Path) {
		t.require(err.Error())
		return value
	}
	if t.functions == nil {
		t.functions = map[variableFunction]computation{}
	}
	t.functions[variableFunction{name, string(value)}] = computation{jsFunction: f, at: at, file: found.File.Path}
	return value
}

// A variableFunction is a value of a variable that a function makes: JSON of the name of its
// file.
type variableFunction struct{ variable, value string }

// called returns a row with the variables that functions make from its others, the prompt
// and the provider.
// The row needs what they need.
func (c *compiler) called(r row, p prompt, by provider) row {
	if len(r.test.functions) == 0 || r.test.need != "" {
		return r
	}
	vars := maps.Clone(r.written)
	for _, name := range r.test.order {
		f, has := r.test.functions[variableFunction{name, string(r.written[name])}]
		if !has {
			continue
		}
		value, err := c.variableValue(f, name, p, vars, by)
		if errors.Is(err, errLater) {
			r.need = corrected
			return r
		}
		if err != nil {
			r.need = c.misread(unmade(err, name, r), f.at)
			return r
		}
		vars[name] = value
	}
	r.resolved, r.vars, r.need = c.nested(r.test, vars)
	for _, value := range r.vars {
		c.Budget.Spend(document.Text, len(value))
	}
	return r
}

// variableValue calls the function that makes a variable, or has a program call it. The error is
// errLater if the program was not run.
func (c *compiler) variableValue(f computation, name string, p prompt, vars template.Variables, by provider) (json.RawMessage, error) {
	who := map[string]any{"id": by.id, "label": by.label, "config": by.config}
	if path.Ext(f.file) == ".py" {
		made, err := c.madeByProgram(f, name, name, p.template(), vars)
		if err != nil {
			return nil, err
		}
		out, err := outputOf(made)
		if err != nil {
			return nil, err
		}
		return trimmed(out)
	}
	var made template.Variables
	var err error = &template.NeedError{}
	if !f.IsZero() {
		made, err = c.caller.Object(f.jsFunction, name, p.template(), vars, who)
	}
	if _, needs := errors.AsType[*template.NeedError](err); needs && c.makes(f.file) {
		made, err = c.madeByProgram(f, name, name, p.template(), vars, who)
	}
	if err != nil {
		return nil, err
	}
	return outputOf(made)
}

// outputOf returns the output of a function that makes a variable. The error is the one
// that it returns.
func outputOf(made template.Variables) (json.RawMessage, error) {
	if said, failed := made["error"]; failed && string(said) != "null" && string(said) != `""` {
		return nil, fmt.Errorf("it returns the error %s", template.Clip(template.Written(said)))
	}
	if out := made["output"]; len(out) > 0 && !slices.Contains([]string{"null", `""`, "0", "false"}, string(out)) {
		return out, nil
	}
	return nil, errors.New("it returns no output")
}

// unmade returns the error of a variable without a value.
func unmade(err error, name string, r row) error {
	if _, isNeed := errors.AsType[*template.NeedError](err); isNeed {
		return err
	}
	return &template.MistakeError{Rule: ruleOf(err), Message: fmt.Sprintf("the variable %s gets no value for the test %s: %v", template.Clip(name), r.name, err), Hint: "correct the function; it is called with the name of the variable, the prompt, the variables and the provider while the file is read, and returns {output}"}
}

// unread are the types of files that are not read as texts, by what promptfoo makes of them.
var unread = map[string][]string{
	"a program for the %s":       {".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py"},
	"a %s from an image":         {".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".svg", ".heic", ".heif", ".avif", ".tif", ".tiff"},
	"a %s from a recording":      {".mp4", ".mpeg", ".mpg", ".webm", ".ogg", ".mov", ".avi", ".flv", ".wmv", ".mkv", ".m4v", ".3gp", ".3gpp", ".wav", ".mp3", ".aac", ".m4a", ".flac", ".wma", ".aif", ".aiff", ".aifc", ".opus"},
	"a %s from the text of PDF":  {".pdf"},
	"a %s from a file of Office": {".xlsx", ".xls", ".docx", ".pptx"},
}

// unreadFile returns the need of a file that is not read as a text; empty for others.
func unreadFile(what, name string) string {
	ext := strings.ToLower(path.Ext(name))
	for _, need := range slices.Sorted(maps.Keys(unread)) {
		if slices.Contains(unread[need], ext) {
			return fmt.Sprintf(need, what) + " (" + ext + ")"
		}
	}
	return ""
}

// folderOf returns the position that a name is relative to: the definition's, as in
// promptfoo, if the file is there, else its own. The test depends on whether it is.
func (c *compiler) folderOf(t *test, name string, at schema.Position) schema.Position {
	folder := path.Dir(c.base)
	if path.Dir(at.File) == folder || strings.HasPrefix(name, "/") {
		return at
	}
	full := path.Join(folder, name)
	if !fs.ValidPath(full) {
		return at
	}
	if c.isFile(full) {
		at.File = c.base
		return at
	}
	t.inputs = append(t.inputs, schema.Input{File: full, Role: "variable", Absent: true})
	return at
}

// varFile returns the trimmed text of a file; a YAML file's value is JSON. what is the
// part that names it, for messages.
func (c *compiler) varFile(t *test, what, name string, at schema.Position) json.RawMessage {
	if need := unreadFile(what, name); need != "" {
		t.need = cmp.Or(t.need, need)
		return json.RawMessage("null")
	}
	found := c.Read(document.Reference{At: c.folderOf(t, name, at), Path: name, Role: "variable", Most: maxVariable})
	for i := range found.Problems {
		found.Problems[i].Position = at
	}
	t.inputs = append(t.inputs, found.Inputs...)
	c.note(t, found.Problems)
	if !found.Found() {
		return json.RawMessage("null")
	}
	if wrong := document.CheckEncoding(found.File); len(wrong) > 0 {
		c.note(t, wrong)
		return json.RawMessage("null")
	}
	text := strings.TrimSpace(string(found.File.Data))
	if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
		doc, problems := document.Parse(found.File.Path, found.File.Data)
		if c.note(t, problems); doc == nil || schema.HasErrors(problems) {
			return json.RawMessage("null")
		}
		text = string(doc.JSON())
	}
	raw, _ := json.Marshal(text) // a text
	return raw
}
