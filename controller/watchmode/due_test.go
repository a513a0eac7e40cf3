package watchmode

import (
	"testing"

	"github.com/gavel-evals/gavel/controller/plan"
)

// TestDue: a control that is open leaves the gate as it is.
func TestDue(t *testing.T) {
	p := &plan.Plan{Rows: []plan.Row{{Action: plan.Run}, {Action: plan.Run, ControlOf: "a"}, {Action: plan.Reuse}, {Action: plan.Redecide}}}
	if got := due(p); got != 2 {
		t.Errorf("%d cases are due, want 2", got)
	}
}
