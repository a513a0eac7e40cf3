package setup

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Foreign describes a file of another tool.
type Foreign struct {
	File string
	// Tool is promptfoo or AgentV.
	Tool string
	// Tests counts the tests in the file itself; −1 if it names other files.
	Tests int
	// Dialect is the format that Gavel reads the file as; empty if it does not.
	Dialect string
	// Unreadable is the error of reading the content, or nil.
	Unreadable *schema.Problem
	// Configures reports whether the file has settings of the tool and no tests.
	Configures bool
}

// Summary says in one sentence how Gavel uses the file.
func (f Foreign) Summary() string {
	tests := ""
	if f.Tests > 0 {
		tests = fmt.Sprintf(" with %d test%s", f.Tests, map[bool]string{false: "s"}[f.Tests == 1])
	}
	switch {
	case f.Unreadable != nil:
		return fmt.Sprintf("%s: this file of %s cannot be read: %s; correct it, and gavel validate reads its tests", f.Unreadable.Position, f.Tool, f.Unreadable.Message)
	case f.Configures:
		return fmt.Sprintf("%s has targets of %s: gavel reads those of the providers anthropic, azure, cli, mock and openai, and gavel.yaml wins", f.File, f.Tool)
	case f.Dialect == schema.DialectMatrix:
		return fmt.Sprintf("%s is a file of %s%s, which gavel reads as it is (%s): add the file to definitions in gavel.yaml", f.File, f.Tool, tests, f.Dialect)
	case f.Dialect != "":
		return fmt.Sprintf("%s is a file of %s%s, which gavel reads as it is (%s): add its folder to definitions in gavel.yaml", f.File, f.Tool, tests, f.Dialect)
	}
	return fmt.Sprintf("%s is a file of %s%s, which this version does not read: keep it there, and write its tests with gavel new", f.File, f.Tool, tests)
}

// providers returns the names of the providers in a file of the matrix format.
func providers(fsys fs.FS, file string) []string {
	doc, problems := document.Open(fsys, file)
	if doc == nil || schema.HasErrors(problems) {
		return nil
	}
	var names []string
	for _, field := range []string{"providers", "targets"} {
		names = append(names, doc.Text(field))
		for i := range doc.Items(field) {
			names = append(names, doc.Text(field, i), doc.Text(field, i, "id"))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// A Model is a model in a file of the matrix format: the name of the target that it is,
// and the variable with its key: the one that the file names, or the usual one.
type Model struct{ Name, KeyEnv string }

// models returns the models of known vendors in a file of the matrix format.
func models(fsys fs.FS, file string) []Model {
	doc, problems := document.Open(fsys, file)
	if doc == nil || schema.HasErrors(problems) {
		return nil
	}
	var out []Model
	add := func(id, label, named string) {
		vendor, kind, _ := strings.Cut(id, ":")
		if key := keys[vendor]; key != "" && !strings.HasPrefix(kind, "embedding") && !strings.HasPrefix(kind, "moderation") {
			out = append(out, Model{cmp.Or(label, id), cmp.Or(named, key)})
		}
	}
	for _, field := range []string{"providers", "targets"} {
		add(doc.Text(field), "", "")
		for i := range doc.Items(field) {
			add(cmp.Or(doc.Text(field, i), doc.Text(field, i, "id")), doc.Text(field, i, "label"), doc.Text(field, i, "config", "apiKeyEnvar"))
		}
	}
	return out
}

// foreign recognises a file of another tool by its name, and then by its content.
func foreign(fsys fs.FS, name string) (Foreign, bool) {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	if !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl"}, ext) {
		return Foreign{}, false
	}
	stem := strings.TrimSuffix(base, ext)
	switch {
	case path.Base(path.Dir(name)) == ".agentv":
		return Foreign{File: name, Tool: "AgentV", Configures: true}, stem == "targets" || stem == "providers"
	case strings.HasPrefix(stem, "promptfooconfig"):
		return described(fsys, Foreign{File: name, Tool: "promptfoo"})
	case strings.HasSuffix(stem, ".eval"), stem == "eval", stem == "suite" && strings.Contains("/"+path.Dir(name)+"/", "/evals/"):
		return described(fsys, Foreign{File: name, Tool: "AgentV"})
	case strings.Contains("/"+path.Dir(name)+"/", "/evals/"):
		f, ok := described(fsys, Foreign{File: name, Tool: "AgentV"})
		return f, ok && (f.Tests != 0 || f.Dialect != "" || f.Unreadable != nil)
	}
	return Foreign{}, false
}

// described adds facts from the content. ok is false for a file without tests and
// prompts. An unreadable file may have them.
func described(fsys fs.FS, f Foreign) (Foreign, bool) {
	doc, problems := document.Open(fsys, f.File)
	for _, p := range problems {
		if p.Severity == schema.Error {
			f.Unreadable = &p
			return f, true
		}
	}
	if doc == nil {
		return f, false
	}
	f.Dialect = load.Detect(doc)
	if f.Dialect == schema.DialectTestcase {
		f.Dialect = "" // a name and a description are in files of every kind
	}
	keys := doc.Keys()
	if doc.IsList() {
		f.Tests = doc.Items()
	}
	for _, key := range []string{"tests", "evalcases", "eval_cases", "cases", "scenarios"} {
		if !slices.Contains(keys, key) {
			continue
		}
		if f.Tests = doc.Items(key); f.Tests == 0 {
			f.Tests = -1
		}
		break
	}
	return f, f.Dialect != "" || f.Tests != 0 || slices.Contains(keys, "prompts")
}
