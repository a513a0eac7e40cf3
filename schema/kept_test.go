package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestFillKept: an answer is in all texts of what is sent and measured, quoted where they are
// JSON, and the compiled case stays as it is.
func TestFillKept(t *testing.T) {
	const answer = "a \"b\"\n{{fruit}} \\"
	mark := schema.KeptMark("fruit")
	quoted := func(s string) json.RawMessage {
		raw, err := json.Marshal(map[string]string{"x": s})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	made := func(text string) *schema.Case {
		return &schema.Case{
			System: "Be " + text,
			Layers: []schema.Layer{{File: "f", Text: "Be " + text}},
			Drive: schema.Drive{
				Messages: []schema.Message{{Role: schema.RoleUser, Content: "Why " + text + "?", Blocks: []schema.Block{{Type: "text", Text: text, Data: []byte("x")}}}},
				Program:  &schema.PromptProgram{Argv: []string{"p"}, Stdin: quoted(text), Prefix: text}, Row: quoted(text),
			},
			Evaluators: []schema.Evaluator{{Name: "set", Rule: schema.Rule{Weights: map[string]float64{"a": 1}}, Spec: evaluator.Composite{
				Members:  []evaluator.Member{{ID: "a", Spec: evaluator.Transformed{Steps: []string{"s"}, Context: quoted(text), Spec: evaluator.Graded{Rubric: text}}, Assertion: quoted(text)}},
				Function: &evaluator.Member{Spec: evaluator.JavaScript{Code: "c", Context: quoted(text)}},
			}}, {Name: "plain", Spec: evaluator.Assertion{Type: "contains", Value: quoted(text)}}},
		}
	}
	c := made(mark)
	if diff := cmp.Diff(made(answer), schema.FillKept(c, map[string]string{"fruit": answer, "other": "o"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(made(mark), c); diff != "" {
		t.Errorf("the compiled case changed (-want +got):\n%s", diff)
	}
	if got := schema.ShowKept("Why " + mark + "?"); got != "Why {{fruit}}?" {
		t.Errorf("people see %q", got)
	}
}
