// Package domain reads the domain dialect: domain/level_n/*.json with its evaluators
// and tools, and compiles every test to a case.
//
// Most callers want [Load]. A file with problems has no cases; the others are still
// compiled.
package domain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Source is the input of Load.
type Source struct {
	document.Source
	// Files are the files of the dialect, sorted: the tests that are wanted,
	// and every file that they share.
	Files []string
	// Prompt is the target's prompt, the outermost layer of every system prompt.
	Prompt document.Prompt
	// Finish is called with every file of tests as soon as it is compiled, possibly
	// concurrently, and returns further problems of the file. Then the tests are not in
	// the Result, so they need not stay in memory. nil adds nothing.
	Finish func(d Definition, problems []schema.Problem) []schema.Problem
	// Each calls f for 0 ≤ i < n, possibly at the same time, and returns the
	// first error.
	Each func(ctx context.Context, n int, f func(i int) error) error
}

// A Result is the result of Load.
type Result struct {
	Definitions []Definition
	Problems    []schema.Problem
	// Tools are the valid tools of the folder and of the neighbouring tool folders, by
	// id.
	Tools map[string]Tool
	// Names maps the id of an evaluator or a tool to its file.
	Names map[Name]string
}

// A Tool is a tool that a case can be offered.
type Tool struct {
	schema.Tool
	File string
}

// A Name is the id of an evaluator or a tool in a definitions folder.
type Name struct{ Root, Kind, ID string }

// A Definition is one file with its tests; without tests for files that tests share.
type Definition struct {
	File  string
	Tests []Test
}

// A Test is one test of a definition.
type Test struct {
	// ID is unique over the whole tree; At is its position.
	ID string
	At schema.Position
	// Case is nil if the test has errors.
	Case *schema.Case
}

var (
	levelFolder = lazyregexp.New(`^level_([1-9][0-9]*)$`)
	extensions  = []string{".json", ".yaml", ".yml", ".jsonl", ".cue"}
)

// IsLevel reports whether a folder is named like a level.
func IsLevel(folder string) bool { return levelFolder.MatchString(folder) }

// tree is the shared state of one definitions folder's tests.
type tree struct {
	Source
	domains    map[string]*folder // by folder
	levels     map[string]*folder // by folder
	evaluators map[string]*evaluatorFile
	tools      map[string]*toolFile
	shared     []string // the files that are not tests
	// noLevel are the files of a folder that would be its level.json.
	noLevel  map[string][]schema.Input
	problems []schema.Problem
	weights  weights
}

// A folder is the content of a domain.json or level.json.
type folder struct {
	file string
	// broken marks a file with errors that bear on its tests: they do not load.
	broken bool
	// noEvaluator means that its evaluator is unknown, so that a test must name its
	// own.
	noEvaluator bool
	doc         *document.Document // until its references are checked

	ID          string   `json:"id"`
	EvaluatorID string   `json:"evaluator_id"`
	Prompt      string   `json:"system_prompt"`
	Mode        string   `json:"system_prompt_mode"`
	ToolIDs     []string `json:"tool_ids"`
	Enabled     *bool    `json:"enabled"`
}

// Load reads the shared files first and then every test.
func Load(ctx context.Context, src Source) (*Result, error) {
	t := &tree{
		Source: src, domains: map[string]*folder{}, levels: map[string]*folder{},
		evaluators: map[string]*evaluatorFile{}, tools: map[string]*toolFile{},
	}
	var tests []string
	for _, file := range src.Files {
		role := t.role(file)
		if role != "test" {
			t.shared = append(t.shared, file)
		}
		switch role {
		case "domain":
			t.loadFolder(file, "#Domain", t.domains)
		case "level":
			t.loadFolder(file, "#Level", t.levels)
		case "evaluator":
			t.loadEvaluator(file)
		case "tool":
			t.loadTool(file)
		case "test":
			tests = append(tests, file)
		case "checks":
			t.problems = append(t.problems, schema.Problem{
				Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Error, Rule: "unknown-dialect",
				Message: "checks are read from " + strings.TrimSuffix(path.Base(file), path.Ext(file)) + ".yaml alone", Hint: "rename the file",
			})
		default:
			t.warn(file, "stray-file", "the file is in no level folder and is not read", "move it into level_1 or another level")
		}
	}
	t.loadOtherTools()
	t.checkShared()
	t.nameLevels(tests)
	defs := make([]Definition, len(tests))
	problems := make([][]schema.Problem, len(tests))
	err := src.Each(ctx, len(tests), func(i int) error {
		defs[i], problems[i] = t.test(tests[i])
		t.weigh(defs[i])
		if src.Finish != nil {
			problems[i] = append(problems[i], src.Finish(defs[i], problems[i])...)
			defs[i].Tests = nil
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", src.Root, err)
	}
	t.problems = append(t.problems, t.weightless()...)
	out := &Result{Definitions: defs, Problems: slices.Concat(append(problems, t.problems)...), Names: t.names(), Tools: t.valid()}
	for _, file := range t.shared {
		out.Definitions = append(out.Definitions, Definition{File: file})
	}
	return out, nil
}

// names returns the files by their ids.
func (t *tree) names() map[Name]string {
	out := make(map[Name]string, len(t.evaluators)+len(t.tools))
	for id, e := range t.evaluators {
		out[Name{t.Root, "evaluator", id}] = e.file
	}
	for id, tool := range t.tools {
		out[Name{t.Root, "tool", id}] = tool.file
	}
	return out
}

// nameLevels notes which files would be the level.json of each folder with tests,
// so that its cases share the names.
func (t *tree) nameLevels(tests []string) {
	t.noLevel = map[string][]schema.Input{}
	for _, file := range tests {
		dir := path.Dir(file)
		if len(t.noLevel[dir]) > 0 {
			continue
		}
		for _, ext := range extensions {
			t.noLevel[dir] = append(t.noLevel[dir], schema.Input{File: path.Join(dir, "level"+ext), Role: "level", Absent: true})
		}
	}
}

// valid returns the tools that can be offered.
func (t *tree) valid() map[string]Tool {
	out := make(map[string]Tool, len(t.tools))
	for id, tf := range t.tools {
		if !tf.broken {
			out[id] = Tool{tf.tool, tf.file}
		}
	}
	return out
}

func values(m map[string]*folder) []*folder { return slices.Collect(maps.Values(m)) }

// role returns the role of a file in the dialect.
func (t *tree) role(file string) string {
	dir, name := path.Split(file)
	dir = path.Clean(dir)
	base := strings.TrimSuffix(name, path.Ext(name))
	switch {
	case base == "domain":
		return "domain"
	case dir == path.Join(t.Root, "evaluators"):
		return "evaluator"
	case dir == path.Join(t.Root, "tools"):
		return "tool"
	case IsLevel(path.Base(dir)) && base == "level":
		return "level"
	case IsLevel(path.Base(dir)) && strings.HasSuffix(base, ".checks"):
		return "checks"
	case IsLevel(path.Base(dir)):
		return "test"
	}
	return "stray"
}

func (t *tree) warn(file, rule, message, hint string) {
	t.problems = append(t.problems, schema.Problem{
		Position: schema.Position{File: file, Line: 1, Column: 1},
		Severity: schema.Warning, Rule: rule, Message: message, Hint: hint,
	})
}

// open reads and checks a file. It returns nil if the file has problems, which are
// appended to the given ones.
func (t *tree) open(file, def string, problems *[]schema.Problem) *document.Document {
	doc, found := t.Open(file)
	if doc != nil {
		found = doc.Check(def, schema.Warning)
	}
	*problems = append(*problems, found...)
	if schema.HasErrors(found) {
		return nil
	}
	return doc
}

func (t *tree) loadFolder(file, def string, into map[string]*folder) {
	dir := path.Dir(file)
	f := &folder{file: file, broken: true}
	if first, ok := into[dir]; ok {
		t.problems = append(t.problems, schema.Problem{
			Position: schema.Position{File: file, Line: 1, Column: 1}, Severity: schema.Error, Rule: "duplicate-file",
			Message: "the folder has this file twice", Hint: "remove it or " + first.file,
		})
		return
	}
	into[dir] = f
	doc, found := t.Open(file)
	if doc != nil {
		found = doc.Check(def, schema.Warning)
	}
	t.problems = append(t.problems, found...)
	if doc == nil || slices.ContainsFunc(found, func(p schema.Problem) bool { return p.Severity == schema.Error && !isDisplayOnly(doc, p) }) {
		return
	}
	if err := doc.Decode(f); err != nil {
		t.problems = append(t.problems, doc.Problem("decode", err.Error(), ""))
		return
	}
	f.broken = false
	if def == "#Domain" && f.ID != path.Base(dir) {
		t.problems = append(t.problems, doc.Problem("domain-id", fmt.Sprintf("the id %q is not the name of the folder", f.ID), fmt.Sprintf("write %q", path.Base(dir)), "id"))
		f.broken = true
	}
	f.doc = doc
}

// checkShared checks the names in domain.json and level.json, after everything that can
// be named is loaded.
func (t *tree) checkShared() {
	for _, f := range slices.Concat(values(t.domains), values(t.levels)) {
		if f.doc == nil {
			continue
		}
		t.problems = append(t.problems, t.unknownTools(f.doc, f.ToolIDs)...)
		if f.EvaluatorID != "" && !t.hasEvaluator(f.EvaluatorID) {
			t.problems = append(t.problems, t.unknownEvaluator(f.doc, f.EvaluatorID))
			f.noEvaluator = true
		}
		f.doc = nil
	}
}

// display are the fields of a domain.json that are only for people.
var display = []string{"name", "description", "icon", "color", "created_at", "updated_at"}

// isDisplayOnly reports whether an error of a domain.json concerns a field that is only
// for people, or probably means one, so that the tests can still run.
func isDisplayOnly(doc *document.Document, p schema.Problem) bool {
	field, at := "", schema.Position{}
	for _, key := range doc.Keys() {
		if here := doc.At(key); isBefore(at, here) && !isBefore(p.Position, here) {
			field, at = key, here
		}
	}
	return slices.ContainsFunc(display, func(name string) bool {
		switch p.Rule {
		case "missing-field":
			return p.Message == fmt.Sprintf("the field `%s` is missing", name)
		case "unknown-field":
			return p.Hint == suggest.DidYouMean(field, []string{name})
		}
		return field == name
	})
}

// isBefore reports whether a position of a file is before another.
func isBefore(a, b schema.Position) bool {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) < 0
}
