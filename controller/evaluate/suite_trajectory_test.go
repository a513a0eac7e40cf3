package evaluate

import (
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestTrajectoryNamesCallsThatAreTooMany by their position, counted from 1.
func TestTrajectoryNamesCallsThatAreTooMany(t *testing.T) {
	var calls []schema.ToolCall
	for _, name := range []string{"a", "b", "c", "a"} {
		calls = append(calls, schema.ToolCall{ID: name, Function: schema.FunctionCall{Name: name, Arguments: "{}"}})
	}
	in := suiteInput{Case: &schema.Case{}, Transcript: &verdict.Transcript{Traced: true, Messages: []schema.Message{{Role: schema.RoleAssistant, ToolCalls: calls}}}}
	found, err := trajectory(evaluator.Trajectory{Mode: evaluator.ExactOrder, Partial: true, Steps: []evaluator.Step{{Tool: "a"}, {Tool: "b"}}}, in)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range found.Criteria {
		ids = append(ids, c.ID)
	}
	if want := []string{"step 1 a", "step 2 b", "call 3 c", "call 4 a"}; !slices.Equal(ids, want) {
		t.Errorf("the criteria are %q, want %q", ids, want)
	}
}
