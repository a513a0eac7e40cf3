package evaluate

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestOwnQuestion: a judge's own prompt gets the input, the output and the rubric where it
// names them.
func TestOwnQuestion(t *testing.T) {
	in := Input{
		Case:       &schema.Case{Drive: schema.Drive{Messages: []schema.Message{{Role: schema.RoleUser, Content: "why?"}}}},
		Transcript: &verdict.Transcript{Messages: []schema.Message{{Role: schema.RoleUser, Content: "why?"}, {Role: schema.RoleAssistant, Content: "so"}}},
	}
	got := gradedQuestion(evaluator.Graded{Rubric: "Is short", Template: "I={{input}} O={{output}} R={{rubric}}"}, in)
	for _, want := range []string{"I=" + Block("INPUT", in.Question()), "O=" + Block("OUTPUT", "so"), "R=Is short"} {
		if !strings.Contains(got, want) {
			t.Errorf("the question %q lacks %q", got, want)
		}
	}
	if !strings.Contains(in.Question(), "why?") {
		t.Errorf("the input is %q, want the message", in.Question())
	}
}
