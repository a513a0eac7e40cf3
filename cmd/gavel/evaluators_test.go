package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/load"
)

// evaluatorTypes are the names of the types in schema/evaluator that are specs.
func evaluatorTypes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../schema/evaluator/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the evaluators are in %d files: %v", len(files), err)
	}
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Kind" {
				continue
			}
			if name, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				found[name.Name] = true
			}
		}
	}
	return found
}

// shownBy says which types are not shown there, and why.
var shownBy = map[string]string{
	"Comparison": "it compares two prompts and has no verdict; examples/promptval shows it",
	"Function":   "it needs Python, Ruby or Node, which the example does without; TestFunctionsOfFiles runs all three",
}

// calledThere are the words of the pages for evaluators that definitions do not name.
var calledThere = map[string]string{
	"assertion": "and their kind | 1 when the answer is so", "calls": "`expected_tool_calls`", "checks": "## Checks", "conversation": "Σ weight · metric / 5",
	"criteria": "| `numeric` |", "hybrid": "configured: prompt and regex", "prompt": "configured: prompt |", "semantic": "| `default` |",
	"skill_trigger": "`skill-trigger`", "tool_counts": "`expected_tools`",
}

// TestEveryEvaluatorIsShown runs the example in which each evaluator has a case that
// passes and one that fails, by their names.
func TestEveryEvaluatorIsShown(t *testing.T) {
	needsIsolation(t)
	dir := example(t, "evaluators")
	written, err := os.ReadFile(filepath.Join(dir, "gavel.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems := config.Parse("gavel.yaml", written)
	if len(problems) > 0 {
		t.Fatalf("the configuration has problems, want none: %v", problems)
	}
	snapshot, err := load.Load(t.Context(), os.DirFS(dir), load.Options{Settings: cfg.Settings()})
	if err != nil {
		t.Fatal(err)
	}
	types, kinds, names := map[string]string{}, map[string]string{}, map[string]string{}
	for _, c := range snapshot.Cases {
		names[c.Key] = c.Labels.Name
		for _, ev := range c.Evaluators {
			types[c.Key] += " " + strings.TrimPrefix(reflect.TypeOf(ev.Spec).String(), "evaluator.")
			kinds[c.Key] += " " + ev.Spec.Kind()
			if a, ok := ev.Spec.(evaluator.Assertion); ok {
				kinds[c.Key] += " " + a.Type
			}
		}
	}
	shown := map[string][]string{} // verdicts by type and by kind
	for _, row := range runExample(t, dir).Cases {
		want := "fail"
		if strings.Contains(row.Key+names[row.Key], "passes") {
			want = "pass"
		}
		got := "none"
		if row.Verdict != nil {
			got = string(*row.Verdict)
		}
		if got != want {
			t.Errorf("%s is %s (%s), want %s as its name says", row.Key, got, row.VerdictReason, want)
		}
		for _, name := range strings.Fields(types[row.Key] + kinds[row.Key]) {
			shown[name] = append(shown[name], got)
		}
	}
	described := page(t, "examples/evaluators.md") + page(t, "examples/formats/checks.md") + page(t, "examples/formats/matrix.md")
	undescribed := map[string]bool{}
	for _, all := range kinds {
		for kind := range strings.FieldsSeq(all) {
			undescribed[kind] = !strings.Contains(described, cmp.Or(calledThere[kind], "`"+kind+"`"))
		}
	}
	for kind, missing := range undescribed {
		if missing {
			t.Errorf("no page says how %s scores", kind)
		}
	}
	want := evaluatorTypes(t)
	for _, kind := range []string{
		"latency", "cost", "token_usage", "execution_metrics", "hybrid", "prompt", "contains", "icontains", "contains-any", "contains-all",
		"icontains-any", "icontains-all", "equals", "starts-with", "ends-with", "regex", "is-json",
	} {
		want[kind] = true
	}
	for name := range want {
		all := strings.Join(shown[name], " ")
		if shownBy[name] == "" && (!strings.Contains(all, "pass") || !strings.Contains(all, "fail")) {
			t.Errorf("the evaluator %s is shown with the verdicts %q, want one that passes and one that fails", name, all)
		}
	}
}
