package load

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/golden"
	"github.com/gavel-evals/gavel/schema/jsonschema"
)

// An example is a valid file with those that it builds on.
type example struct {
	dialect, file string
	text          []byte
	beside        fstest.MapFS
}

// examples are the files of all dialects that are valid elsewhere in the tests.
func examples(t *testing.T) []example {
	t.Helper()
	var out []example
	out = append(out, folder(t, schema.DialectTestcase, "../testcase/testdata/definitions", nil)...)
	evalcases := read(t, "../evalcase/testdata/files")
	for _, dir := range []string{"seed", "suite"} {
		out = append(out, folder(t, schema.DialectEvalcase, "../evalcase/testdata/"+dir, evalcases)...)
	}
	for i, text := range []string{
		`{"test_type": "agent", "name": "a", "user_input": "x", "testing_prompt": "y", "expected_tools": [{"name": "t", "le": 3, "ge": 1}], "retry": true, "max_retries": 2}`,
		`{"test_type": "workflow", "name": "a", "user_input": ["x", "y"], "testing_prompt": "y", "evaluation_type": "numeric", "rubric": {"criteria": [{"name": "c", "weight": 0.5}, {"name": "d", "weight": 0.5, "description": "z"}]}, "threshold": 7}`,
		`[{"test_type": "custom_workflow", "name": "a", "user_input": {"k": [1]}, "testing_prompt": "y", "new_prompt": "z", "iterations": 3, "analysis": true, "output": 1}]`,
	} {
		out = append(out, example{schema.DialectPromptval, fmt.Sprintf("test_definitions/p%d.json", i), []byte(text), nil})
	}
	demo := read(t, "../../examples/domain")
	for name, f := range demo {
		if strings.HasPrefix(name, "test_definitions/") && path.Ext(name) == ".json" && path.Base(name) != "test_ratio.json" {
			out = append(out, example{schema.DialectDomain, name, f.Data, demo})
		}
	}
	for _, tt := range []struct{ evaluator, expected string }{
		{"keyword", `{"keywords": ["x"], "forbidden": ["y"], "match": "any"}`},
		{"two_pass", `{"answer": 3, "type": "numeric", "tolerance": 0.5}`},
		{"sql_executor", `{"query_type": "SELECT", "table": ["t"]}`},
		{"tool_call", `{"tools": ["a", "b"], "chain": true}`},
	} {
		text := fmt.Sprintf(`{"id": %q, "name": "T", "prompt": "x", "evaluator_id": %q, "expected": %s}`, tt.evaluator, tt.evaluator, tt.expected)
		out = append(out, example{schema.DialectDomain, "test_definitions/own/level_1/" + tt.evaluator + ".json", []byte(text), fsOf(map[string]string{
			"test_definitions/own/domain.json": `{"id": "own", "name": "Own"}`,
		})})
	}
	slices.SortFunc(out, func(a, b example) int { return strings.Compare(a.dialect+a.file, b.dialect+b.file) })
	return out
}

// folder returns the definitions of a folder of examples.
func folder(t *testing.T, dialect, dir string, beside fstest.MapFS) []example {
	t.Helper()
	var out []example
	for name, f := range read(t, dir) {
		if dialect == schema.DialectEvalcase && path.Ext(name) != ".yaml" {
			continue // what the examples compile to
		}
		if strings.HasPrefix(name, "fields-") || strings.HasPrefix(name, "partial-") {
			continue // pieces that are not definitions
		}
		placed := fstest.MapFS{}
		for other, f := range beside {
			placed["suites/"+other] = f
		}
		out = append(out, example{dialect, "suites/" + name, f.Data, placed})
	}
	return out
}

// format is the format by which an editor knows the file.
func (e example) format() string {
	dir := path.Base(path.Dir(e.file))
	switch {
	case e.dialect != schema.DialectDomain:
		return e.dialect
	case path.Base(e.file) == "domain.json":
		return "domain/domain"
	case path.Base(e.file) == "level.json":
		return "domain/level"
	case dir == "tools", dir == "evaluators":
		return "domain/" + strings.TrimSuffix(dir, "s")
	}
	return "domain/test"
}

// TestTheJSONSchemaOfChecks refuses no valid file of checks, and knows what one
// holds.
func TestTheJSONSchemaOfChecks(t *testing.T) {
	editor := editorOf(t, document.FormatChecks)
	var all map[string]any
	if err := json.Unmarshal([]byte(`{".": [
		{"contains": "a"}, {"not_contains": "b"}, {"equals": ""}, {"regex": "a+"}, {"is_json": true}, {"is_json": {"type": "object"}},
		{"latency_ms": 5}, {"cost_usd": 0}]}`), &all); err != nil {
		t.Fatal(err)
	}
	valid, known := 0, 0
	for _, v := range append(variants(all, 500), all) {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		res := loadAll(t, map[string]string{"test_definitions/a.json": `{"name": "a"}`, "test_definitions/a.checks.yaml": string(raw)})
		switch refused, err := schema.HasErrors(res.Problems), editor.Check(raw); {
		case !refused:
			valid++
			if err != nil {
				t.Errorf("the schema refuses a valid file: %v\n%s", err, raw)
			}
		case err != nil:
			known++
		}
	}
	if valid < 8 || known < 20 {
		t.Errorf("%d variants are valid, and of %d others the schema tells so", valid, known)
	}
}

func read(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	out, dirFS := fstest.MapFS{}, os.DirFS(dir)
	err := fs.WalkDir(dirFS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dirFS, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(out), err)
	}
	return out
}

// refused are the errors of a file, which is read as JSON.
func (e example) refused(t *testing.T, text []byte) []schema.Problem {
	t.Helper()
	files := maps.Clone(e.beside)
	if files == nil {
		files = fstest.MapFS{}
	}
	file := stem(e.file) + ".json"
	files[file] = &fstest.MapFile{Data: text}
	with := schema.Settings{Definitions: []string{"suites", "test_definitions"}}
	if e.dialect != schema.DialectDomain {
		with.Dialects = map[string]string{file: e.dialect}
	}
	res, err := Load(t.Context(), files, Options{Settings: with, Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(res.Problems, func(p schema.Problem) bool { return p.Severity != schema.Error || p.Rule == "missing-folder" })
}

// variants are a value with one place changed: gone, or of another kind. Of
// more than so many a share is taken, the same each time.
func variants(value any, most int) []any {
	var all []any
	var visit func(v any, put func(any) any)
	visit = func(v any, put func(any) any) {
		for _, other := range []any{nil, true, 0.0, -1.0, 1.5, 5.0, 1e20, "", "x", "any", []any{}, []any{nil}, []any{"x"}, map[string]any{}, map[string]any{"a": 1.0}} {
			all = append(all, put(other))
		}
		switch x := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(x)) {
				less := maps.Clone(x)
				delete(less, name)
				all = append(all, put(less))
				visit(x[name], func(inner any) any {
					changed := maps.Clone(x)
					changed[name] = inner
					return put(changed)
				})
			}
			more := maps.Clone(x)
			more["zzz"] = 1.0
			all = append(all, put(more))
		case []any:
			for i := range x {
				visit(x[i], func(inner any) any {
					changed := slices.Clone(x)
					changed[i] = inner
					return put(changed)
				})
			}
			all = append(all, put(append(slices.Clone(x), 5.0)))
		}
	}
	visit(value, func(v any) any { return v })
	step := max(1, (len(all)+most-1)/most)
	var out []any
	for i := 0; i < len(all); i += step {
		out = append(out, all[i])
	}
	return out
}

// editorOf is the schema of a format, as an editor reads it.
func editorOf(t *testing.T, format string) *jsonschema.Schema {
	t.Helper()
	text, err := document.FormatJSON(format)
	if err != nil {
		t.Fatal(err)
	}
	editor, err := jsonschema.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return editor
}

var quoted = regexp.MustCompile(`"[^"]*"|\d+`)

// TestTheJSONSchemaRefusesNoValidFile goes over the examples of all dialects
// and changes of them. The rules that refuse what the schema for editors lets
// pass are listed in testdata/weaker.golden.
func TestTheJSONSchemaRefusesNoValidFile(t *testing.T) {
	builtin := regexp.MustCompile(`"evaluator_id":"(keyword|two_pass|sql_executor|tool_call)"`)
	weaker := map[string]bool{}
	counts := map[string]int{}
	for _, e := range examples(t) {
		editor, whole := editorOf(t, e.format()), editorOf(t, e.dialect)
		doc, problems := document.Parse(e.file, e.text)
		if doc == nil {
			t.Fatal(problems)
		}
		if bad := e.refused(t, doc.JSON()); len(bad) > 0 {
			t.Errorf("%s is an example and no valid one: %v", e.file, bad)
		}
		var value any
		if err := json.Unmarshal(doc.JSON(), &value); err != nil {
			t.Fatal(err)
		}
		for _, v := range append(variants(value, 64), value) {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			bad, err := e.refused(t, raw), editor.Check(raw)
			switch {
			case len(bad) == 0 && err != nil:
				t.Errorf("%s: the schema refuses a valid file: %v\n%s", e.file, err, raw)
			case len(bad) == 0 && whole.Check(raw) != nil:
				t.Errorf("%s: the schema of the dialect refuses a valid file: %v\n%s", e.file, whole.Check(raw), raw)
			case err == nil:
				what := e.format()
				if what == "domain/test" && builtin.Match(raw) {
					what += " that names a built-in evaluator"
				}
				for _, p := range bad {
					if p.File != stem(e.file)+".json" {
						continue // what follows from it elsewhere
					}
					weaker[what+": "+p.Rule+": "+quoted.ReplaceAllString(p.Message, "…")] = true
				}
			}
			counts[fmt.Sprint(e.dialect, " ", len(bad) == 0)]++
		}
	}
	for _, dialect := range document.Formats()[:4] {
		if counts[dialect+" true"] < 30 || counts[dialect+" false"] < 50 {
			t.Errorf("too few variants of %s to tell anything: %v", dialect, counts)
		}
	}
	got := strings.Join(slices.Sorted(maps.Keys(weaker)), "\n") + "\n"
	golden.Compare(t, "testdata/weaker.golden", got)
}
