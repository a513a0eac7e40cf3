package evalcase_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// asserted compiles a suite of AgentV 4 with one test and these assertions.
func asserted(t *testing.T, assertions string) *schema.Case {
	t.Helper()
	return one(t, "tests:\n  - id: x\n    criteria: Good\n    input: Hi\n    assertions: "+assertions+"\n")
}

// TestAssertionsOfAgentV4 has a row for each type of assertion that AgentV 4 knows.
func TestAssertionsOfAgentV4(t *testing.T) {
	for _, tt := range []struct{ assertion, kind, spec string }{
		{`{type: contains, value: a b}`, "assertion", `{"type":"contains","value":"a b"}`},
		{`{type: contains, value: x, negate: true}`, "assertion", `{"type":"contains","not":true,"value":"x"}`},
		{`{type: icontains, value: X}`, "assertion", `{"type":"icontains","value":"X"}`},
		{`{type: contains-any, value: [a, b]}`, "assertion", `{"type":"contains-any","value":["a","b"]}`},
		{`{type: contains_all, value: [a]}`, "assertion", `{"type":"contains-all","value":["a"]}`},
		{`{type: icontains_any, value: [a]}`, "assertion", `{"type":"icontains-any","value":["a"]}`},
		{`{type: icontains-all, value: [a]}`, "assertion", `{"type":"icontains-all","value":["a"]}`},
		{`{type: equals, value: " a "}`, "assertion", `{"type":"equals","value":" a ","trim":true}`},
		{`{type: starts-with, value: a}`, "assertion", `{"type":"starts-with","value":"a","trim":true}`},
		{`{type: ends_with, value: a}`, "assertion", `{"type":"ends-with","value":"a","trim":true}`},
		{`{type: regex, value: "^a", flags: im}`, "assertion", `{"type":"regex","value":"^a","flags":"im"}`},
		{`{type: is-json}`, "assertion", `{"type":"is-json"}`},
		{`{type: llm-grader}`, "llm_judge", `{"expected_outcome":"Good"}`},
		{`{type: llm_grader, prompt: "Grade {{ output }} by {{ criteria }}."}`, "llm_judge",
			`{"template":"Grade {{candidate_answer}} by {{expected_outcome}}.","expected_outcome":"Good"}`},
		{`{type: rubrics, criteria: [{id: a, outcome: Polite, weight: 2, required: true}, Short]}`, "rubric",
			`{"criteria":[{"id":"a","outcome":"Polite"},{"id":"rubric-2","outcome":"Short"}],"expected_outcome":"Good"}`},
		{`{type: tool-trajectory, mode: subset, expected: [{tool: find, args: {q: x}}]}`, "tool_trajectory",
			`{"mode":"subset","steps":[{"tool":"find","args":{"q":"x"},"exact":true}],"partial":true}`},
		{`{type: tool-trajectory, mode: superset, args_match: ignore, expected: [{tool: find, args: {q: x}}]}`, "tool_trajectory",
			`{"mode":"superset","steps":[{"tool":"find"}],"partial":true}`},
		{`{type: execution-metrics, max_tool_calls: 3, max_tokens: 9}`, "execution_metrics", ``},
		{`{type: latency, threshold: 500}`, "latency", ``},
		{`{type: cost, budget: 0.1}`, "cost", ``},
		{`{type: token-usage, max_total: 9}`, "token_usage", ``},
		{`{type: composite, assertions: [{type: contains, value: a}, {type: contains, value: b}], aggregator: {type: threshold, threshold: 0.5}}`, "composite", ``},
	} {
		c := asserted(t, "["+tt.assertion+"]")
		if len(c.Evaluators) != 1 || c.Evaluators[0].Spec.Kind() != tt.kind {
			t.Errorf("%s: the evaluators are %+v, want one %s", tt.assertion, c.Evaluators, tt.kind)
			continue
		}
		raw, err := json.Marshal(c.Evaluators[0].Spec)
		if err != nil {
			t.Fatal(err)
		}
		if tt.spec != "" && string(raw) != tt.spec {
			t.Errorf("%s measures %s, want %s", tt.assertion, raw, tt.spec)
		}
	}
}

// TestTheVerdictOfAgentV4: a test passes at 0.8, or at the threshold that is written,
// and is never borderline.
func TestTheVerdictOfAgentV4(t *testing.T) {
	c := asserted(t, "[{type: contains, value: a}]")
	if diff := cmp.Diff(&schema.Bands{Pass: 0.8, Borderline: 0.8}, c.Policy.Bands); diff != "" {
		t.Errorf("the bands without a threshold (-want +got):\n%s", diff)
	}
	c = one(t, "execution: {threshold: 0.5}\ntests:\n  - {id: x, criteria: y, input: z, execution: {threshold: 0.6}}\n")
	if c.Policy.Bands.Pass != 0.6 {
		t.Errorf("the case passes at %v, want its own threshold 0.6", c.Policy.Bands.Pass)
	}
	for _, tt := range []struct {
		text  string
		floor float64
	}{{"required: true", 0.8}, {"required: 0.3", 0.3}, {"required: true, min_score: 0.4", 0.4}, {"min_score: 0.4", 0}} {
		c := asserted(t, "[{type: contains, value: a, "+tt.text+"}]")
		if got := c.Evaluators[0].Rule.Floor; got != tt.floor {
			t.Errorf("%s: the least score of the evaluator is %v, want %v", tt.text, got, tt.floor)
		}
	}
}

// TestBareTextsOfAgentV4 covers A9: all texts of a list are one judge at the place of
// the first, whose weight is their number; and A1: none of them is required of the case.
func TestBareTextsOfAgentV4(t *testing.T) {
	c := one(t, "assertions: [Suite's]\ntests:\n  - {id: x, input: z, assertions: [Polite, {type: is-json}, Short]}\n")
	names := []string{}
	for _, ev := range c.Evaluators {
		names = append(names, fmt.Sprintf("%s %v %v", ev.Name, ev.Weight, ev.Rule.Required))
	}
	if diff := cmp.Diff([]string{"rubrics 3 []", "is-json 1 []"}, names); diff != "" {
		t.Errorf("the evaluators (-want +got):\n%s", diff)
	}
	c = one(t, "assertions: [Suite's]\ntests:\n  - {id: x, input: z, execution: {skip_defaults: true}, assertions: [{type: is-json}]}\n")
	if len(c.Evaluators) != 1 {
		t.Errorf("skip_defaults leaves %d evaluators, want the one of the test", len(c.Evaluators))
	}
}

// TestCriteriaOfAgentV4: they are judged where there are no assertions, and only told
// to judges where there are.
func TestCriteriaOfAgentV4(t *testing.T) {
	c := one(t, "tests:\n  - {id: x, criteria: Good, input: z}\n")
	if len(c.Evaluators) != 1 || c.Evaluators[0].Spec.Kind() != "llm_judge" {
		t.Errorf("the evaluators are %+v, want the judge of the criteria", c.Evaluators)
	}
	_, problems := load(t, "tests:\n  - {id: x, input: z}\n")
	if len(problems) != 1 || !strings.Contains(problems[0], "says nothing that can be judged") {
		t.Errorf("a test that nothing judges: problems %q", problems)
	}
}

// TestAPromptWithoutTheAnswerShowsIt: AgentV adds question and answer to it. A4: the
// name of a file is read as the file where there is one; AgentV takes the name for the
// prompt, by which nothing can be judged.
func TestAPromptWithoutTheAnswerShowsIt(t *testing.T) {
	spec := asserted(t, "[{type: llm-grader, prompt: \"Is it polite?\"}]").Evaluators[0].Spec.(evaluator.LLMJudge)
	if !strings.HasPrefix(spec.Template, "Is it polite?") || !strings.HasSuffix(spec.Template, "{{candidate_answer}}") {
		t.Errorf("the judge is asked %q", spec.Template)
	}
	files := fstest.MapFS{
		"suites/a.yaml":        {Data: []byte("tests:\n  - {id: x, input: z, assertions: [{type: llm-grader, prompt: ../graders/p.md}]}\n")},
		"graders/p.md":         {Data: []byte("By the file: {{ answer }}")},
		"suites/unrelated.txt": {},
	}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(cases) != 1 || len(problems) > 0 || cases[0].Evaluators[0].Spec.(evaluator.LLMJudge).Template != "By the file: {{candidate_answer}}" {
		t.Errorf("%d cases, problems %q", len(cases), problems)
	}
}

// TestTheInputOfAgentV4: the suite's comes first, and files are put before the text.
func TestTheInputOfAgentV4(t *testing.T) {
	files := fstest.MapFS{
		"suites/a.yaml": {Data: []byte(`input: [{role: system, content: Be short.}]
input_files: [all.md]
tests:
  - {id: x, criteria: y, input: Go., input_files: [own.md]}
`)},
		"suites/all.md": {Data: []byte("All\n")}, "suites/own.md": {Data: []byte("Own\n")},
	}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatalf("%d cases, problems %q", len(cases), problems)
	}
	c := cases[0]
	if c.System != "Be short." || c.Drive.Messages[0].Content != "All\n\nOwn\n\nGo." || len(c.Drive.Messages[0].Blocks) != 3 {
		t.Errorf("system %q, messages %+v", c.System, c.Drive.Messages)
	}
	for _, file := range []string{"suites/all.md", "suites/own.md"} {
		if !slices.ContainsFunc(c.Inputs, func(in schema.Input) bool { return in.File == file }) {
			t.Errorf("a change of %s would not affect the case: %v", file, c.Inputs)
		}
	}
}

// TestTestsInFilesOfAgentV4 reads what a suite names: a list, lines, or an object.
func TestTestsInFilesOfAgentV4(t *testing.T) {
	files := fstest.MapFS{
		"suites/a.yaml":           {Data: []byte("tests: [./more/list.yaml, file://more/lines.jsonl, {id: own, criteria: y, input: z}]\n")},
		"suites/more/list.yaml":   {Data: []byte("- {id: listed, criteria: y, input: z}\n")},
		"suites/more/lines.jsonl": {Data: []byte(`{"id": "line", "criteria": "y", "input": "z"}` + "\n")},
		"suites/b.yaml":           {Data: []byte("tests: gone.yaml\n")},
		"suites/c.yaml":           {Data: []byte("tests: cases.csv\n")},
	}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.Labels.Name)
	}
	if diff := cmp.Diff([]string{"listed", "line", "own"}, ids); diff != "" || len(problems) > 0 {
		t.Errorf("problems %q, cases (-want +got):\n%s", problems, diff)
	}
	for _, tt := range []struct{ file, want string }{{"b.yaml", "gone.yaml"}, {"c.yaml", `tests are not read from "cases.csv"`}} {
		if _, problems := loadIn(t, files, tt.file, schema.Settings{}); len(problems) == 0 || !strings.Contains(problems[0], tt.want) {
			t.Errorf("%s: problems %q, want one about %s", tt.file, problems, tt.want)
		}
	}
}

// TestWhatIsNotReadOfAgentV4: such a test is listed and not run, and the others are.
func TestWhatIsNotReadOfAgentV4(t *testing.T) {
	cases, problems := load(t, `tests:
  - {id: ok, criteria: y, input: z}
  - {id: own, input: z, assertions: [{type: webhook, value: x}]}
  - {id: bench, input: z, criteria: y, workspace: {docker: {image: x}}}
  - {id: host, input: z, criteria: y, environment: {type: host}}
`)
	want := "a.yaml:1:1: warning: 1 of 4 cases are run; 3 need what is not read (a container (docker): 1, a program (webhook): 1, a workspace: 1); gavel explain CASE names the need of each"
	if !slices.Contains(problems, want) {
		t.Errorf("problems %q, want %q", problems, want)
	}
	skipped := 0
	for _, c := range cases {
		if c.Skip != "" {
			skipped++
		}
	}
	if len(cases) != 4 || skipped != 3 {
		t.Errorf("%d cases, %d of them not run; want 4 and 3", len(cases), skipped)
	}
}

// TestDependenciesOfAgentV4: a test that depends on another is run by itself, with a
// warning that the order is not kept.
func TestDependenciesOfAgentV4(t *testing.T) {
	cases, problems := load(t, "tests: [{id: x, criteria: y, input: z}, {id: later, criteria: y, input: z, depends_on: [x], on_dependency_failure: skip}]\n")
	if len(cases) != 2 || cases[1].Skip != "" || len(problems) != 1 || !strings.HasPrefix(problems[0], "a.yaml:1:76: warning: `depends_on` is not kept") {
		t.Errorf("%d cases and problems %q, want two that are run and a warning", len(cases), problems)
	}
}

// TestAThresholdOfZero is one that was written, and passes everything.
func TestAThresholdOfZero(t *testing.T) {
	if got := one(t, "execution: {threshold: 0.9}\ntests: [{id: x, criteria: y, input: z, execution: {threshold: 0}}]\n").Policy.Bands.Pass; got != 0 {
		t.Errorf("the test passes at %v, want its threshold of 0", got)
	}
}

// TestTrialsOfAgentV4: their mean is the score, or their best.
func TestTrialsOfAgentV4(t *testing.T) {
	const test = "tests: [{id: x, criteria: y, input: z}]\n"
	for _, tt := range []struct {
		written string
		best    bool
	}{{"{count: 4, strategy: mean}", false}, {"{count: 4, strategy: pass_at_k}", true}, {"{count: 4}", true}} {
		if got := one(t, "execution: {trials: "+tt.written+"}\n"+test).Policy; got.Iterations != 4 || got.Best != tt.best {
			t.Errorf("%s: %d samples, the best counts: %v", tt.written, got.Iterations, got.Best)
		}
	}
	if got := one(t, "execution: {trials: {count: 4}}\ntests: [{id: x, criteria: y, input: z, execution: {trials: {count: 2, strategy: mean}}}]\n").Policy; got.Iterations != 2 || got.Best {
		t.Errorf("the test has %d samples, want its own two", got.Iterations)
	}
}

// TestTagsOfAgentV4: the tags of the suite are its tests' tags, and a map has them by
// keys.
func TestTagsOfAgentV4(t *testing.T) {
	const test = "category: support\ntests: [{id: x, criteria: y, input: z, metadata: {tags: [own, daily], ticket: 7}}]\n"
	got := one(t, "tags: [daily]\n"+test).Labels
	if want := []string{"daily", "own"}; !slices.Equal(got.Tags, want) || got.Facts.Category != "support" || len(got.Facts.Tags) > 0 || string(got.Facts.Metadata) != `{"tags":["own","daily"],"ticket":7}` {
		t.Errorf("a list: %+v with %+v", got, got.Facts)
	}
	got = one(t, "tags: {team: desk, experiment: one, level: 3}\n"+test).Labels
	if want := []string{"experiment=one", "team=desk", "own", "daily"}; !slices.Equal(got.Tags, want) || got.Facts.Tags["experiment"] != "one" || len(got.Facts.Tags) != 2 {
		t.Errorf("a map: %+v with %+v", got, got.Facts)
	}
	if got := one(t, "tests: [{id: x, criteria: y, input: z, metadata: {long: "+strings.Repeat("x", 9<<10)+"}}]\n").Labels.Facts; got.Metadata != nil {
		t.Errorf("metadata of 9 KiB is repeated in %+v", got)
	}
}
