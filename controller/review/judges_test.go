package review

import (
	"testing"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
)

// TestJudges: the status of a head counts cases, and not their controls.
func TestJudges(t *testing.T) {
	p := &controller.Prepared{Plan: &plan.Plan{Rows: []plan.Row{{Action: plan.Run}, {Action: plan.Run, ControlOf: "a"}, {Action: plan.Reuse}, {Action: plan.Rejudge}}}}
	if got := judges(p, controller.RunOptions{}); got != 2 {
		t.Errorf("%d cases are judged, want 2", got)
	}
}
