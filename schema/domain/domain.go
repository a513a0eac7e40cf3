// Package domain reads the domain dialect: domain/level_n/*.json with its
// evaluators and tools, and compiles every test to a case.
//
// Most callers want [Load]. A file with problems gives no cases; the others
// are compiled all the same.
package domain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// A Source is what Load reads.
type Source struct {
	FS fs.FS
	// Root is the definitions folder, KeyRoot the folder below which keys
	// begin; both relative to the repository root.
	Root, KeyRoot string
	// Files are the definition files below Root that belong to the dialect,
	// sorted.
	Files    []string
	Settings schema.Settings
	// Want limits the tests that are compiled; nil wants all.
	Want func(file string) bool
	// Each calls f for 0 ≤ i < n, possibly at the same time, and returns the
	// first error.
	Each func(ctx context.Context, n int, f func(i int) error) error
}

// A Result is what Load found.
type Result struct {
	Definitions []Definition
	Problems    []schema.Problem
}

// A Definition is one file with the cases that came of it: one for a test,
// none for the files that tests share.
type Definition struct {
	File string
	// ID is the id of a test, for checks across files.
	ID   string
	IDAt schema.Position
	Case *schema.Case
}

var (
	levelFolder = regexp.MustCompile(`^level_([1-9][0-9]*)$`)
	extensions  = []string{".json", ".yaml", ".yml"}
)

// IsLevel reports whether a folder is named like a level.
func IsLevel(folder string) bool { return levelFolder.MatchString(folder) }

// tree is what the tests of one definitions folder share.
type tree struct {
	Source
	domains    map[string]*folder // by folder
	levels     map[string]*folder // by folder
	evaluators map[string]*evaluatorFile
	tools      map[string]*toolFile
	problems   []schema.Problem
}

// A folder is what a domain.json or level.json says.
type folder struct {
	file string
	// broken marks a file with errors: what builds on it does not load.
	broken bool
	doc    *schema.Document // until its references are checked

	ID          string   `json:"id"`
	Name        string   `json:"name"`
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
		switch t.role(file) {
		case "domain":
			t.loadFolder(file, "#Domain", t.domains)
		case "level":
			t.loadFolder(file, "#Level", t.levels)
		case "evaluator":
			t.loadEvaluator(file)
		case "tool":
			t.loadTool(file)
		case "test":
			if src.Want == nil || src.Want(file) {
				tests = append(tests, file)
			}
		default:
			t.warn(file, "stray-file", "the file is in no level folder and is not read", "move it into level_1 or another level")
		}
	}
	t.loadOtherTools()
	t.checkShared()
	defs := make([]Definition, len(tests))
	problems := make([][]schema.Problem, len(tests))
	err := src.Each(ctx, len(tests), func(i int) error {
		defs[i], problems[i] = t.test(tests[i])
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", src.Root, err)
	}
	out := &Result{Problems: slices.Concat(append(problems, t.problems)...)}
	out.Definitions = slices.DeleteFunc(defs, func(d Definition) bool { return d.File == "" })
	for _, shared := range slices.Concat(values(t.domains), values(t.levels)) {
		out.Definitions = append(out.Definitions, Definition{File: shared.file})
	}
	return out, nil
}

func values(m map[string]*folder) []*folder { return slices.Collect(maps.Values(m)) }

// role says what a file is to the dialect.
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

// open reads and checks a file. nil means that it has problems, which are
// appended to the ones given.
func open(fsys fs.FS, file, def string, problems *[]schema.Problem) *schema.Document {
	data, err := readLimited(fsys, file)
	if err != nil {
		*problems = append(*problems, schema.Problem{
			Position: schema.Position{File: file, Line: 1, Column: 1},
			Severity: schema.Error, Rule: "unreadable", Message: "the file cannot be read: " + cause(err), Hint: "make it a plain file of the repository",
		})
		return nil
	}
	doc, found := schema.Parse(file, data)
	if doc != nil && def != "" {
		found = doc.Check(def, schema.Warning)
	}
	*problems = append(*problems, found...)
	if schema.HasErrors(found) {
		return nil
	}
	return doc
}

// readLimited reads a file up to one byte more than a definition may have.
func readLimited(fsys fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(fsys, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	if info.Size() > schema.MaxFile {
		return make([]byte, schema.MaxFile+1), nil
	}
	return fs.ReadFile(fsys, file)
}

// cause leaves out the path, which the problem names anyway.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
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
	doc := open(t.FS, file, def, &t.problems)
	if doc == nil {
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

// checkShared checks what domain.json and level.json name, once everything
// that can be named is loaded.
func (t *tree) checkShared() {
	for _, f := range slices.Concat(values(t.domains), values(t.levels)) {
		if f.doc == nil {
			continue
		}
		found := t.unknownTools(f.doc, f.ToolIDs)
		if f.EvaluatorID != "" && !t.hasEvaluator(f.EvaluatorID) {
			found = append(found, t.unknownEvaluator(f.doc, f.EvaluatorID))
		}
		t.problems = append(t.problems, found...)
		f.broken = f.broken || len(found) > 0
		f.doc = nil
	}
}
