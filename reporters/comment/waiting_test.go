package comment_test

import (
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
)

// TestWaitingDefinition: a definition that waits for approval is neither invalid nor green,
// whatever the gate is set to; an invalid one next to it is a failure.
func TestWaitingDefinition(t *testing.T) {
	waiting := func(change func(*reporttest.Scenario)) *reporttest.Scenario {
		s := reporttest.WaitingDefinition()
		change(s)
		return s
	}
	for _, tt := range []struct {
		name              string
		of                *reporttest.Scenario
		validate, verdict comment.State
		words, says       string
		conclusion        string
		exit              int
	}{
		{
			"alone", waiting(func(*reporttest.Scenario) {}), comment.StateError, comment.StateError, "1 definition waits for approval",
			"1 case of base was not run because the definition waits for approval", "action_required", 1,
		},
		{
			"where nothing fails the gate", waiting(func(s *reporttest.Scenario) { s.In.Gate.FailOn = report.FailOnNever }), comment.StateError, comment.StateError, "1 definition waits for approval",
			"1 case of base was not run because the definition waits for approval", "action_required", 1,
		},
		{
			"without a case of base", waiting(func(s *reporttest.Scenario) {
				s.In.Plan.Rows = slices.DeleteFunc(s.In.Plan.Rows, func(row plan.Row) bool { return row.Key == "math/2/ratio" })
			}), comment.StateError, comment.StateError, "1 definition waits for approval", "1 definition waits for approval", "action_required", 1,
		},
		{
			"next to a mistake in the same file", waiting(func(s *reporttest.Scenario) {
				s.In.Problems = append(s.In.Problems, schema.Problem{Position: s.In.Problems[0].Position, Severity: schema.Error, Rule: "unknown-field"})
			}), comment.StateFailure, comment.StateFailure, "1 invalid definition", "1 invalid definition", "failure", 2,
		},
		{
			"behind a mistake in the same file", waiting(func(s *reporttest.Scenario) {
				s.In.Problems = append([]schema.Problem{{Position: s.In.Problems[0].Position, Severity: schema.Error, Rule: "unknown-field"}}, s.In.Problems...)
			}), comment.StateFailure, comment.StateFailure, "1 invalid definition", "1 invalid definition", "failure", 2,
		},
		{
			"next to a mistake in another file", waiting(func(s *reporttest.Scenario) {
				s.In.Problems = append([]schema.Problem{{Position: schema.Position{File: "other.json"}, Severity: schema.Error, Rule: "unknown-field"}}, s.In.Problems...)
			}), comment.StateFailure, comment.StateFailure, "1 invalid definition", "1 invalid definition", "failure", 2,
		},
	} {
		r := report.Compare(tt.of.In)
		validate, verdict := comment.NewStatuses(r)
		if validate.State != tt.validate || validate.Description != tt.words || verdict.State != tt.verdict || len(verdict.Description) < len(tt.says) || verdict.Description[:len(tt.says)] != tt.says {
			t.Errorf("%s: statuses %+v and %+v, want %s %q and %s %q", tt.name, validate, verdict, tt.validate, tt.words, tt.verdict, tt.says)
		}
		if waits := verdict.Hold == comment.Approvable; waits != (tt.exit == 1) {
			t.Errorf("%s: the verdict has the hold %q", tt.name, verdict.Hold)
		}
		if check := comment.NewCheck(r); check.Conclusion != tt.conclusion || r.ExitCode() != tt.exit {
			t.Errorf("%s: the check run concludes %q and the exit code is %d, want %q and %d", tt.name, check.Conclusion, r.ExitCode(), tt.conclusion, tt.exit)
		}
	}
}
