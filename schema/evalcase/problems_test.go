package evalcase_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evalcase"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/golden"
)

// TestProblems returns for every mistake its place, the mistake and the repair.
func TestProblems(t *testing.T) {
	data, err := os.ReadFile("testdata/problems.txt")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(data), "\n## ")
	out := strings.TrimRight(sections[0], "\n") + "\n"
	for _, section := range sections[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		text, want, _ := strings.Cut(rest, "--\n")
		t.Run(name, func(t *testing.T) {
			got := strings.Join(problemsOf(t, text), "\n")
			if got == "" {
				t.Errorf("there is no problem with\n%s", text)
			}
			if diff := cmp.Diff(strings.TrimSpace(want), got); diff != "" && !golden.Update() {
				t.Errorf("(-want +got):\n%s", diff)
			}
			out += "\n## " + name + "\n" + text + "--\n" + got + "\n"
		})
	}
	if golden.Update() {
		if err := os.WriteFile("testdata/problems.txt", []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// problemsOf returns the problems of a suite: a whole one, or fields that are added to
// a case that lacks nothing else.
func problemsOf(t *testing.T, text string) []string {
	t.Helper()
	first := strings.TrimLeft(text, " ")
	if !strings.HasPrefix(first, "- ") && !strings.Contains(text, "evalcases:") {
		text = complete(text)
	}
	files := fixtures(t)
	files["suites/a.yaml"] = &fstest.MapFile{Data: []byte(text)}
	files["suites/fixtures/data.bin"] = &fstest.MapFile{Data: []byte{0xff, 0, 1}}
	files["prompts/above.md"] = &fstest.MapFile{Data: []byte("Above.")}
	files["above.py"] = &fstest.MapFile{Data: []byte("above")}
	no := false
	settings := schema.Settings{
		Targets:       map[string]schema.TargetSettings{"support": {}, "blind": {AcceptsImages: &no}, "runner": {Agent: true}},
		DefaultTarget: "support",
	}
	_, problems := loadIn(t, files, "a.yaml", settings)
	return problems
}

// TestUnknownFieldsOfTests: a test of AgentV 4 runs without a field that AgentV ignores, and a
// case of the form with evalcases does not.
func TestUnknownFieldsOfTests(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		cases      int
	}{
		{"tests: [{id: a, criteria: x, input: hi, reference_answer: y}]\n", "a.yaml:1:41: warning: unknown field `reference_answer`", 1},
		{"tests: [{id: a, criteria: x, input: hi, asertions: [y]}]\n", "a.yaml:1:41: error: unknown field `asertions`; did you mean `assertions`?", 0},
		{"evalcases: [{id: a, expected_outcome: x, input: hi, flavour: y}]\n", "a.yaml:1:53: error: unknown field `flavour`", 0},
	} {
		cases, problems := load(t, tt.text)
		if len(cases) != tt.cases || len(problems) != 1 || !strings.HasPrefix(problems[0], tt.want) {
			t.Errorf("%s: %d cases and the problems %q, want %d and %s", tt.text, len(cases), problems, tt.cases, tt.want)
		}
	}
}

// TestSidecarProblems holds that problems are in the file next to the lines, and leave no case of
// these.
func TestSidecarProblems(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"target: 5\n", "a.yaml:1:9: error: `target` must be a string, not a number; write \"5\""},
		{"excution: {}\n", "a.yaml:1:1: error: unknown field `excution`; did you mean `execution`?"},
		{"execution: {evaluators: [{}]}\n", "a.yaml:1:26: error: the field `type` is missing; add \"type\": …, one of code_judge, llm_judge, rubric, composite, tool_trajectory, field_accuracy, execution_metrics, latency, cost, token_usage"},
		{"a: [\n", "a.yaml:1:4: error: not valid YAML: a value is missing before this place; write one, remove the comma, or close the bracket"},
	} {
		files := fstest.MapFS{
			"suites/a.jsonl": {Data: []byte(`{"id": "x", "expected_outcome": "y", "input": "z"}` + "\n")},
			"suites/a.yaml":  {Data: []byte(tt.text)},
		}
		cases, problems := loadIn(t, files, "a.jsonl", schema.Settings{})
		if diff := cmp.Diff([]string{"a.jsonl:1:1: error: suites/a.yaml is invalid; fix it first; the cases depend on it", tt.want}, problems); diff != "" || len(cases) > 0 {
			t.Errorf("%q: %d cases, problems (-want +got):\n%s", tt.text, len(cases), diff)
		}
	}
}

// TestAnAgentTakesAnyFile: what a model cannot be sent, an agent finds by its
// path.
func TestAnAgentTakesAnyFile(t *testing.T) {
	text := "- id: x\n  expected_outcome: y\n  execution: {target: runner}\n  input: [{role: user, content: [{type: file, value: data.bin}]}]\n"
	files := fstest.MapFS{"suites/a.yaml": {Data: []byte(text)}, "suites/data.bin": {Data: []byte{0xff, 0}}}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{Targets: map[string]schema.TargetSettings{"runner": {Agent: true}}})
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatalf("%d cases, problems %q", len(cases), problems)
	}
	want := []schema.Message{{Role: "user", Blocks: []schema.Block{{Type: "file", Data: []byte{0xff, 0}, Path: "suites/data.bin"}}}}
	if diff := cmp.Diff(want, cases[0].Drive.Messages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProgramFiles holds that a program counts with the files around it that it may load.
func TestProgramFiles(t *testing.T) {
	files := fstest.MapFS{
		"suites/a.yaml":          {Data: []byte("- id: x\n" + least + "  evaluators: [{type: code_judge, script: [python, judges/main.py]}]\n")},
		"suites/judges/main.py":  {Data: []byte("import util")},
		"suites/judges/util.py":  {Data: []byte("util")},
		"suites/judges/in/notes": {Data: []byte("notes")},
		"suites/other.py":        {Data: []byte("other")},
	}
	load := func() []string {
		t.Helper()
		cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
		if len(cases) != 1 || len(problems) > 0 {
			t.Fatalf("%d cases, problems %q", len(cases), problems)
		}
		for _, role := range []schema.Input{{File: "suites/judges", Role: "program"}, {File: "suites/judges/main.py", Role: "program"}} {
			if !slices.Contains(cases[0].Inputs, role) {
				t.Errorf("%v is not an input, want it among %v", role, cases[0].Inputs)
			}
		}
		return evaluator.ProgramsOf(cases[0].Evaluators[0].Spec)[0].Built.Paths()
	}
	want := []string{"suites/judges/in/notes", "suites/judges/main.py", "suites/judges/util.py"}
	if diff := cmp.Diff(want, load()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSharedFilesReachEveryCase: a file that is read once for a suite is an input of
// each of its cases.
func TestSharedFilesReachEveryCase(t *testing.T) {
	text := "execution: {evaluators: [{name: j, type: llm_judge, prompt: ./prompts/judge.md}, {type: code_judge, script: [./judges/analysis.py]}]}\nevalcases:\n"
	for _, id := range []string{"a", "b"} {
		text += fmt.Sprintf("- {id: %s, expected_outcome: %s works, input: Hi}\n", id, id)
	}
	cases, problems := load(t, text)
	if len(cases) != 2 || len(problems) > 0 {
		t.Fatalf("%d cases, problems %q", len(cases), problems)
	}
	if diff := cmp.Diff(cases[0].Inputs, cases[1].Inputs); diff != "" || len(cases[1].Inputs) != 4 {
		t.Errorf("%d inputs; they differ:\n%s", len(cases[1].Inputs), diff)
	}
	if cmp.Equal(cases[0].Evaluators, cases[1].Evaluators) {
		t.Error("the judges of two cases are told about the same expected outcome")
	}
}

// TestShapesSayItAll: cases are compared with the shapes of their definitions
// only, so nothing may be left to the evaluation of CUE.
func TestShapesSayItAll(t *testing.T) {
	table, err := os.ReadFile("../document/testdata/evalcase.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(string(table), "\n") {
		if strings.Contains(row, "see the schema of the dialect") {
			t.Errorf("only CUE rejects the value of this row: %s", row)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"- id: x\n" + least, "evalcases: 5\n", "evalcases: [5, null, [], {}]\n", "- &a {id: x, expected_outcome: y, input: z}\n- *a\n",
		complete("input: [{role: user, content: [{type: file, value: ../../etc/passwd}, {type: file, value: /proc/self/environ}]}]"),
		complete("input: [{role: user, content: [{type: image, value: 'data:image/png;base64,!!'}, {type: image, value: iVBORw0KGgo=}, {type: 5}]}]"),
		complete("input: [{role: assistant, content: x, tool_calls: [{id: a, function: {name: f, arguments: '{'}}, {tool: t, input: .nan}]}]"),
		complete("rubrics: [{score_ranges: {-1: a, 1e9: b, x: c, 5: 5}}, {id: rubric-1, score_ranges: [{score_range: [9, 1]}]}, '', null]"),
		complete("evaluators: [{type: field_accuracy, fields: [{path: 'a[99999999999999999999]', match: regex}]}]\nexpected_output: {a: [(a+)+$]}"),
		complete("evaluators: [{type: field_accuracy, fields: [{path: a, match: regex}]}]\nexpected_output: {a: '((a{1,1000}){1,1000}){1,1000}'}"),
		complete("evaluators: [{type: composite, evaluators: [{type: composite, evaluators: [{type: composite, evaluators: [{}]}]}], aggregator: {type: safety_gate}}]"),
		complete("evaluators: [{type: code_judge, script: '../../x; rm -rf /', cwd: ../..}, {type: code_judge, script: [\"a\\0b\", ./.., ../..]}]"),
		complete("evaluators: [{type: llm_judge, prompt: '{{file_changes}}{{ note }}{{{{x}}}}'}, {type: llm_judge, prompt: {script: ''}}]"),
		complete("execution: {timeout_seconds: 1e999}"), complete("execution: {timeout_seconds: 1e-300, evaluators: {}}"), "name: &a [*a]\nevalcases: []\n",
		complete("metadata: " + strings.Repeat("{a: ", 60) + "1" + strings.Repeat("}", 60)), "- {id: \"\\u00ad\", expected_outcome: .git/config, input: GIT~1}\n",
	} {
		f.Add("yaml", seed)
	}
	for _, seed := range []string{
		"tests: [{id: x, criteria: y, input: z, assertions: [a, {type: contains, value: 5}, {type: composite, assertions: [{type: regex, value: '('}]}, null]}]\n",
		"execution: {trials: {count: 1e9, strategy: mean}, target: 5, threshold: 2}\ninput: [{role: system, content: [{type: file, value: ../../x}]}]\ninput_files: [/etc/passwd, 5]\ntests: [{id: x, input: z}, 5]\n",
		"tests: [file://../../x.yaml, ../a.yaml, a.yaml, x.csv, {}]\n", "tests: [../**/*.yaml, ./, ../..]\n",
		"tests: [{id: x, transform: 'file://../../x.js', window_size: 1e300, turns: [{input: [{role: system, content: a}], expected_output: [5], assertions: [{type: javascript, value: 'file://../../etc/passwd'}]}, {input: {}}], assertions: [{type: similar}, {type: python, value: 5}]}]\n",
		"tests: [{id: x, input: z, turns: [5], workspace: {template: ../..}, assertions: [{type: tool-trajectory, expected: 5}, {type: skill-trigger}, {type: field-accuracy, fields: 5}]}]\n",
	} {
		f.Add("yaml", seed) // suites of AgentV 4
	}
	f.Add("json", `{"evalcases": [{"id": "x", "id": "y"}]}`)
	f.Add("json", `[{"id": "x", "expected_outcome": "y", "input": "z", "expected_output": [{"role": 5}]}]`)
	f.Add("jsonl", "{\"id\": \"x\", \"expected_outcome\": \"y\", \"input\": \"z\"}\n\nnull\n[]\n{\"evalcases\": []}\n")
	f.Fuzz(func(t *testing.T, ext, text string) {
		if ext != "json" && ext != "yaml" && ext != "yml" && ext != "jsonl" {
			t.Skip() // files of CUE are evaluated in a process of their own
		}
		name := "suites/a." + ext
		doc, _ := document.Parse(name, []byte(text))
		if doc == nil {
			return
		}
		files := fixtures(t)
		cases, problems := evalcase.Load(document.Source{FS: files, Root: "suites", KeyRoot: "suites"}, doc)
		lines := 1 + strings.Count(text, "\n")
		for _, p := range problems {
			if p.File != name || p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" || p.Rule == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		keys := map[string]bool{}
		for _, c := range cases {
			if keys[c.Key] || len(c.Drive.Messages) == 0 || len(c.Evaluators) == 0 || c.Policy.Timeout <= 0 {
				t.Errorf("a case that cannot run: %+v", c)
			}
			keys[c.Key] = true
		}
	})
}

// BenchmarkLoad compiles a suite as large as a file may be.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	text.WriteString("evalcases:\n")
	n := 0
	for ; text.Len() < schema.MaxFile-500; n++ {
		fmt.Fprintf(&text, "- id: case-%d\n  expected_outcome: It greets.\n  input: [{role: system, content: Be kind.}, {role: user, content: Hello %d}]\n  rubrics:\n  - Greets\n  - {id: kind, expected_outcome: Is kind, weight: 2, required: true}\n", n, n)
	}
	files := fstest.MapFS{"suites/a.yaml": {Data: []byte(text.String())}}
	for b.Loop() {
		cases, problems := loadIn(b, files, "a.yaml", schema.Settings{})
		if len(cases) != n || len(problems) > 0 {
			b.Fatalf("%d cases of %d, problems %q", len(cases), n, problems)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "cases/s")
}
