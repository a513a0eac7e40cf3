package evalcase_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// The traps are rules of AgentV 4 that surprise. Its rule holds; the page of the format
// says where Gavel's is another one. Those that need a measurement are next to the
// evaluators.

// testOf is the one case of a suite of AgentV 4 with some assertions.
func testOf(t *testing.T, assertions string) *schema.Case {
	t.Helper()
	cases, problems := load(t, "tests: [{id: x, input: z, assertions: "+assertions+"}]\n")
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatalf("%s gives %d cases and the problems %q, want one case", assertions, len(cases), problems)
	}
	return cases[0]
}

// TestTrapA3: min_score without required decides nothing, and a threshold of a test is
// the threshold of its execution alone.
func TestTrapA3(t *testing.T) {
	if got := testOf(t, "[{type: llm-grader, min_score: 0.9}]").Evaluators[0].Rule.Floor; got != 0 {
		t.Errorf("min_score alone demands %v, want nothing", got)
	}
	if got := testOf(t, "[{type: llm-grader, min_score: 0.9, required: true}]").Evaluators[0].Rule.Floor; got != 0.9 {
		t.Errorf("a required assertion demands %v, want its min_score", got)
	}
	cases, _ := load(t, "tests: [{id: x, input: z, criteria: y, execution: {threshold: 0.5}}, {id: y, input: z, criteria: y}]\n")
	if cases[0].Policy.Bands.Pass != 0.5 || cases[1].Policy.Bands.Pass != 0.8 {
		t.Errorf("the thresholds are %v and %v, want 0.5 and 0.8", cases[0].Policy.Bands.Pass, cases[1].Policy.Bands.Pass)
	}
}

// TestTrapA4: a prompt that is a path is read from the file, where AgentV takes the path
// for the prompt. Nothing can be judged by that.
func TestTrapA4(t *testing.T) {
	files := fstest.MapFS{
		"graders/refusal.md": {Data: []byte("Does it refuse?")},
		"suites/a.yaml":      {Data: []byte("tests: [{id: x, input: z, assertions: [{type: llm-grader, prompt: ../graders/refusal.md}]}]\n")},
		"suites/b.yaml":      {Data: []byte("tests: [{id: x, input: z, assertions: [{type: llm-grader, prompt: file://../graders/refusal.md}]}]\n")},
	}
	for _, name := range []string{"a.yaml", "b.yaml"} {
		cases, problems := loadIn(t, files, name, schema.Settings{})
		if len(cases) != 1 || len(problems) > 0 {
			t.Fatalf("%s gives %d cases and the problems %q, want one case", name, len(cases), problems)
		}
		if got := cases[0].Evaluators[0].Spec.(evaluator.LLMJudge).Template; !strings.HasPrefix(got, "Does it refuse?") {
			t.Errorf("%s: the prompt is %q, want that of the file", name, got)
		}
	}
}

// TestTrapA5: not-contains is not an assertion, and negate is.
func TestTrapA5(t *testing.T) {
	if got := testOf(t, "[{type: contains, value: x, negate: true}]").Evaluators[0].Spec.(evaluator.Assertion); !got.Not {
		t.Errorf("%+v is not inverted", got)
	}
	cases, problems := load(t, "tests: [{id: x, input: z, assertions: [{type: not-contains, value: x}]}]\n")
	if len(cases) != 0 || len(problems) != 1 || !strings.Contains(problems[0], "write type: contains, and negate: true") {
		t.Errorf("not-contains gives %v and the problems %q, want an error with the repair", cases, problems)
	}
}

// TestTrapA9: all texts are one assertion at the place of the first, as heavy as their
// number.
func TestTrapA9(t *testing.T) {
	var got []string
	for _, ev := range testOf(t, "[{type: contains, value: x}, Polite, {type: equals, value: y}, Short]").Evaluators {
		got = append(got, ev.Name)
		if r, ok := ev.Spec.(evaluator.Rubrics); ok && (len(r.Criteria) != 2 || ev.Weight != 2) {
			t.Errorf("%d criteria with the weight %v, want 2 with 2", len(r.Criteria), ev.Weight)
		}
	}
	if diff := cmp.Diff([]string{"contains", "rubrics", "equals"}, got); diff != "" {
		t.Errorf("assertions (-want +got):\n%s", diff)
	}
}

// TestNegateOfAgentV4 inverts comparisons in the measurement, and everything else in
// the decision.
func TestNegateOfAgentV4(t *testing.T) {
	for _, text := range []string{
		`{type: llm-grader, prompt: "Is it rude?"`, `{type: code-grader, command: [grade]`, `{type: rubrics, criteria: [Rude]`,
		`{type: tool-trajectory, minimums: {rm: 1}`, `{type: composite, assertions: [{type: contains, value: x}]`, `{type: skill-trigger, skill: pdf`,
	} {
		plain, inverted := testOf(t, "["+text+"}]").Evaluators[0], testOf(t, "["+text+", negate: true}]").Evaluators[0]
		if diff := cmp.Diff(plain.Spec, inverted.Spec); diff != "" || plain.Rule.Negate || !inverted.Rule.Negate {
			t.Errorf("%s: negate is %v and %v, and changes what is measured (-without +with):\n%s", text, plain.Rule.Negate, inverted.Rule.Negate, diff)
		}
	}
}

// TestOwnAssertionsOfAgentV4 are programs by the names of their types: the nearest one
// above the suite, with the fields of the assertion in its configuration.
func TestOwnAssertionsOfAgentV4(t *testing.T) {
	files := fstest.MapFS{
		".agentv/assertions/word-count.py":        {Data: []byte("far")},
		"suites/.agentv/assertions/word-count.py": {Data: []byte("near")},
		".agentv/assertions/tone.ts":              {Data: []byte("tone")},
		"suites/a.yaml": {Data: []byte("tests:\n- {id: x, input: z, assertions: [{type: word-count, max: 5}, {type: tone}]}\n" +
			"- {id: y, input: z, assertions: [{type: ../../suites/evil}]}\n")},
		"suites/evil.py": {Data: []byte("evil")},
	}
	cases, _ := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(cases) != 1 || len(cases[0].Evaluators) != 2 {
		t.Fatalf("%v, want one case with two evaluators", cases)
	}
	near, far := cases[0].Evaluators[0].Spec.(evaluator.CodeJudge), cases[0].Evaluators[1].Spec.(evaluator.CodeJudge)
	if got := strings.Join(near.Argv, " "); got != "python .agentv/assertions/word-count.py" || near.Files[0] != "suites/.agentv/assertions/word-count.py" || string(near.Config) != `{"max":5}` || near.Form != evaluator.FormAgentV5 {
		t.Errorf("word-count is %q with %s, want the program next to the suite with its fields", got, near.Config)
	}
	if got := strings.Join(far.Argv, " "); got != "bun ../.agentv/assertions/tone.ts" || cases[0].Evaluators[1].Name != "tone" {
		t.Errorf("tone is %q, want the program of the root", got)
	}
	absent := schema.Input{File: "suites/.agentv/assertions/tone.ts", Role: "program", Absent: true}
	if !slices.Contains(cases[0].Inputs, absent) {
		t.Errorf("the inputs %v do not have %v, which would be nearer", cases[0].Inputs, absent)
	}
}
