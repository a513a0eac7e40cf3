package evaluator_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

func TestCompositeGathersItsParts(t *testing.T) {
	program := func(name string) evaluator.CodeJudge {
		return evaluator.CodeJudge{Program: evaluator.Program{Argv: []string{name}, Files: []string{name}, Dir: "d"}}
	}
	inner := evaluator.Composite{
		Members: []evaluator.Member{{ID: "own", Spec: evaluator.Rubrics{Target: "small"}, Rule: schema.Rule{Threshold: 0.5}}},
		Judge:   &evaluator.LLMJudge{Target: "large", Program: &evaluator.Program{Files: []string{"prompt"}}},
	}
	aggregator := program("gate")
	c := evaluator.Composite{
		Members: []evaluator.Member{
			{ID: "code", Spec: program("judge"), Rule: schema.Rule{Threshold: 0.8}},
			{ID: "inner", Spec: inner, Rule: schema.Rule{Aggregate: schema.Minimum}},
			{ID: "judge", Spec: evaluator.LLMJudge{}},
			{ID: "rubric", Spec: evaluator.Rubrics{}},
		},
		Program: &aggregator,
	}
	if diff := cmp.Diff([]schema.Role{schema.Judge, schema.Judge}, c.Roles()); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"small", "large"}, c.Targets()); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	var files []string
	for _, p := range evaluator.ProgramsOf(c) {
		files = append(files, p.Files...)
	}
	if diff := cmp.Diff([]string{"judge", "prompt", "gate"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	want := []evaluator.MemberRule{
		{ID: "code", Rule: schema.Rule{Threshold: 0.8}},
		{ID: "inner", Rule: schema.Rule{Aggregate: schema.Minimum}, Members: []evaluator.MemberRule{{ID: "own", Rule: schema.Rule{Threshold: 0.5}}}},
		{ID: "judge"}, {ID: "rubric"},
	}
	if diff := cmp.Diff(want, c.Rules()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestMembersEncodeWhatIsMeasured holds that they encode nothing that only
// decides, and no position.
func TestMembersEncodeWhatIsMeasured(t *testing.T) {
	raw, err := json.Marshal(evaluator.Composite{Members: []evaluator.Member{
		{ID: "cost", Spec: evaluator.Measured{Type: "cost", Quantities: []string{"cost_usd"}}, Rule: schema.Rule{Threshold: 1}},
		{ID: "code", Spec: evaluator.CodeJudge{Program: evaluator.Program{
			Argv: []string{"x"}, Config: json.RawMessage(`{"a":1}`), Dir: "d", Files: []string{"p"},
		}}},
	}})
	want := `{"members":[{"id":"cost","kind":"cost","version":1,"spec":{"quantities":["cost_usd"]}},` +
		`{"id":"code","kind":"code_judge","version":5,"spec":{"argv":["x"],"config":{"a":1}}}]}`
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
}

func TestVariablesOf(t *testing.T) {
	got := evaluator.VariablesOf("{{note}} {{ question }} {note} {{}} {{a b}} {{note}} {{ output_messages}}")
	if diff := cmp.Diff([]string{"note", "output_messages", "question"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
