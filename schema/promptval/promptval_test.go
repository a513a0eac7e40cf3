package promptval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/golden"
	"github.com/gavel-evals/gavel/schema/promptval"
)

// TestMain answers as the child that evaluates .cue files.
func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// The examples that the description of the format prints.
const (
	rubricExample = `    "rubric": {
          "criteria": [
              {
                  "name": "Completeness",
                  "description": "The plan covers all details asked for in the initial prompt.",
                  "weight": 0.4
              },
              {
                  "name": "Clarity",
                  "description": "The plan is easy to understand and follow.",
                  "weight": 0.3
              },
              {
                  "name": "Feasibility",
                  "description": "The plan is realistic and achievable within the given time frame.",
                  "weight": 0.3
              }
          ]
      }`
	toolsExample = `    "expected_tools": [
      {
        "name": "tool_a",
        "eq": 1
      },
      {
        "name": "tool_b",
        "gt": 0,
        "le": 3
      }
    ]`
	// least is the smallest configuration, without its closing brace.
	least = `{"test_type": "agent", "name": "planner", "user_input": "Plan a trip.", "testing_prompt": "Is the plan good?"`
)

// with adds fields to the smallest configuration.
func with(fields ...string) string {
	return strings.Join(append([]string{least}, fields...), ",\n") + "}"
}

func settings() schema.Settings {
	yes, no := true, false
	return schema.Settings{
		Targets: map[string]schema.TargetSettings{
			"planner": {Kind: "agent", Agent: true, AcceptsPrompt: &yes}, "support": {Kind: "workflow", AcceptsPrompt: &no, Timeout: 5 * time.Second},
			"small": {Kind: "model", AcceptsPrompt: &yes}, "unknown-kind": {Agent: true},
			"told": {AcceptsPrompt: &yes, Prompt: schema.TargetPrompt{Text: "Be brief."}},
		},
		Aliases: map[string]string{"azure_base": "small"},
	}
}

// source holds nothing but the settings: a configuration names no files.
func source(s schema.Settings) document.Source {
	return document.Source{FS: fstest.MapFS{}, Root: "tests", KeyRoot: "tests", Settings: s}
}

func parse(t testing.TB, file, text string) *document.Document {
	t.Helper()
	doc, problems := document.Parse(file, []byte(text))
	if doc == nil {
		t.Fatal(problems)
	}
	return doc
}

// load expects one case and gives the problems without the name of the file.
func load(t testing.TB, file, text string, s schema.Settings) (*schema.Case, []string) {
	t.Helper()
	cases, problems := promptval.Load(source(s), parse(t, file, text))
	var said []string
	for _, p := range problems {
		said = append(said, strings.TrimPrefix(p.String(), file+":"))
	}
	if schema.HasErrors(problems) != (len(cases) == 0) || len(cases) > 1 {
		t.Fatalf("%d cases, problems %v", len(cases), said)
	}
	if len(cases) == 0 {
		return nil, said
	}
	return cases[0], said
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"defaults.json", with()},
		{"numeric.json", with(rubricExample, `"evaluation_type": "numeric", "threshold": 7.5, "iterations": 3, "output": {"score": 9}`)},
		{"tools.json", with(toolsExample)},
		{"semantic.yaml", `
test_type: custom_workflow
name: azure_base
user_input: {topic: trips, days: 1.50, budget: null}
testing_prompt: |
  Is the plan good?
rubric:
  criteria:
    - {name: Clarity, weight: 2}
    - {name: Depth, description: It goes into detail.}
`},
		{"inputs.cue", `
_days: [2, 5]
test_type:      "workflow"
name:           "unknown-kind"
user_input:     [for d in _days {"Plan \(d) days."}]
testing_prompt: "Is the plan good?"
new_prompt:     "Plan day by day."
`},
		{"retried.jsonl", strings.ReplaceAll(with(rubricExample, toolsExample,
			`"evaluation_type": "numeric", "threshold": 7, "retry": true, "max_retries": 2, "edit_prompt": true, "editor_model": "claude", "new_prompt": "Plan day by day."`), "\n", " ")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tc, problems := load(t, "tests/plans/"+tt.name, tt.text, settings())
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			specs := map[string]string{}
			for _, ev := range tc.Evaluators {
				specs[ev.Name] = ev.Spec.Kind()
			}
			if tc.Alternative != nil && tc.Alternative.Comparison != nil {
				specs["alternative"] = tc.Alternative.Comparison.Kind()
			}
			golden.JSON(t, "testdata/"+strings.TrimSuffix(tt.name, filepath.Ext(tt.name))+".json", map[string]any{"case": tc, "specs": specs})
		})
	}
}

// TestNullIsTheDefault writes out every optional field as null, and as the
// value that the format gives it.
func TestNullIsTheDefault(t *testing.T) {
	const file = "tests/a.json"
	plain, problems := load(t, file, with(), settings())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct{ name, text string }{
		{"null", with(`"iterations": null, "rubric": null, "evaluation_type": null, "threshold": null, "retry": null, "max_retries": null,
			"edit_prompt": null, "editor_model": null, "new_prompt": null, "expected_tools": null, "analysis": null, "output": null`)},
		{"written out", with(`"iterations": 1, "evaluation_type": "default", "retry": false, "max_retries": 0, "edit_prompt": false,
			"editor_model": "gemini", "expected_tools": [], "analysis": true`)},
		{"list of one input", strings.Replace(with(), `"Plan a trip."`, `["Plan a trip."]`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := load(t, file, tt.text, settings())
			if diff := cmp.Diff(plain, got); diff != "" || len(problems) > 0 {
				t.Errorf("%v (-want +got):\n%s", problems, diff)
			}
		})
	}
}

// TestOrderSaysNothing turns around what has no order.
func TestOrderSaysNothing(t *testing.T) {
	one, _ := load(t, "tests/a.json", with(`"expected_tools": [{"name": "a", "gt": 0, "lt": 4}, {"name": "b", "eq": 2}]`), settings())
	two, _ := load(t, "tests/a.json", with(`"expected_tools": [{"name": "b", "le": 2, "ge": 2}, {"name": "a", "le": 3, "ge": 1}]`), settings())
	if diff := cmp.Diff(one.Evaluators, two.Evaluators); diff != "" {
		t.Error(diff)
	}
	one, _ = load(t, "tests/a.yaml", "test_type: custom_workflow\nname: small\nuser_input: {a: 1.0, b: [x]}\ntesting_prompt: x\n", settings())
	two, _ = load(t, "tests/a.yaml", "test_type: custom_workflow\nname: small\nuser_input: {b: [x], a: 1}\ntesting_prompt: x\n", settings())
	if diff := cmp.Diff(one.Drive, two.Drive); diff != "" || one.Drive.Messages[0].Content != `{"a":1,"b":["x"]}` {
		t.Error(diff, one.Drive)
	}
}

func TestPolicy(t *testing.T) {
	configured := settings()
	configured.Iterations, configured.Timeout = 4, time.Minute
	retried := `"retry": true, "max_retries": 2`
	base := schema.Policy{Iterations: 1, Timeout: 120 * time.Second, MaxToolRounds: 16, Whole: true}
	for _, test := range []struct {
		name     string
		text     string
		settings schema.Settings
		change   func(*schema.Policy)
	}{
		{"ours", with(), settings(), func(*schema.Policy) {}},
		{"gavel.yaml", with(), configured, func(p *schema.Policy) { p.Iterations, p.Timeout = 4, time.Minute }},
		{"written", with(`"iterations": 2`), configured, func(p *schema.Policy) { p.Iterations, p.Timeout = 2, time.Minute }},
		{"timeout of target", swap(with(), "agent", "workflow", "planner", "support"), configured, func(p *schema.Policy) { p.Iterations, p.Timeout = 4, 5*time.Second }},
		{"three runs in all", with(retried), settings(), func(p *schema.Policy) { p.Retry = &schema.Retry{Most: 2} }},
		{"gemini by default", with(retried, `"edit_prompt": true`), settings(), func(p *schema.Policy) {
			p.Retry = &schema.Retry{Most: 2, Edit: &schema.Edit{Editor: schema.GeminiEditor, ShowOutputs: true}}
		}},
		{"claude", with(retried, `"edit_prompt": true, "editor_model": "claude"`), settings(), func(p *schema.Policy) {
			p.Retry = &schema.Retry{Most: 2, Edit: &schema.Edit{Editor: schema.ClaudeEditor}}
		}},
		{"an editor without a retry", with(`"edit_prompt": true`), settings(), func(p *schema.Policy) {
			p.Retry = &schema.Retry{Edit: &schema.Edit{Editor: schema.GeminiEditor, ShowOutputs: true}}
		}},
		{"an editor and retries that are off", with(`"edit_prompt": true`, `"retry": false, "editor_model": "claude"`), settings(), func(p *schema.Policy) {
			p.Retry = &schema.Retry{Edit: &schema.Edit{Editor: schema.ClaudeEditor}}
		}},
		{"editor without use", with(`"editor_model": "claude"`), settings(), func(*schema.Policy) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tc, problems := load(t, "tests/a.json", test.text, test.settings)
			want := base
			test.change(&want)
			if diff := cmp.Diff(want, tc.Policy); diff != "" || len(problems) > 0 {
				t.Errorf("%v (-want +got):\n%s", problems, diff)
			}
		})
	}
}

// swap replaces the first of each pair by the second, once.
func swap(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		text = strings.Replace(text, `"`+pairs[i]+`"`, `"`+pairs[i+1]+`"`, 1)
	}
	return text
}

// TestNamesWithoutTargets: where nothing is configured, nothing is checked.
func TestNamesWithoutTargets(t *testing.T) {
	tc, problems := load(t, "tests/a.json", with(`"new_prompt": "x"`), schema.Settings{})
	if len(problems) > 0 || tc.Target != "planner" {
		t.Error(tc.Target, problems)
	}
}

// generate makes a configuration that uses most of the format.
func generate(i int) string {
	return fmt.Sprintf(`{"test_type": "agent", "name": "planner", "user_input": ["Plan %d days.", "Plan %d nights."], "iterations": 3,
"testing_prompt": "Is plan %d good?", "evaluation_type": "numeric", "threshold": 7, "retry": true, "max_retries": 2,
%s,
%s}`, i, i, i, rubricExample, toolsExample)
}

func BenchmarkLoad(b *testing.B) {
	docs := make([]*document.Document, 1000)
	for i := range docs {
		docs[i] = parse(b, fmt.Sprintf("tests/p%d.json", i), generate(i))
	}
	src := source(settings())
	b.ReportAllocs()
	for b.Loop() {
		for _, doc := range docs {
			if cases, problems := promptval.Load(src, doc); len(cases) != 1 || len(problems) > 0 {
				b.Fatal(problems)
			}
		}
	}
}
