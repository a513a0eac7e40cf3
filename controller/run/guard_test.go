package run_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
)

// TestAPanicEndsTheRun has a worker panic: the run ends with an error, and what
// another case paid for is kept.
func TestAPanicEndsTheRun(t *testing.T) {
	b := newFixture(t)
	operator := ledger.Trust{Level: ledger.LevelOperator}
	s := &script{answer: func(_ int, req target.Request) (target.Reply, error) {
		if req.Case == "b" {
			panic("a fault of ours")
		}
		return says("hello"), nil
	}}
	var jobs []run.Job
	for _, c := range greetings("a", "b", "c") {
		jobs = append(jobs, run.Job{Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, &plan.Environment{})})
	}
	_, err := run.Run(t.Context(), run.Config{
		Ledger: b.store, Trust: operator, Targets: map[string]run.Target{"bot": {Target: s, Config: config.Target{Concurrency: 1}}},
	}, jobs)
	if err == nil || !strings.Contains(err.Error(), "panic: a fault of ours\n") || !strings.Contains(err.Error(), "guard_test.go") {
		t.Fatalf("error %v", err)
	}
	// Nothing is held any more.
	s.answer = always("hello")
	for _, o := range b.run(t.Context(), t, s, greetings("a", "b", "c")...) {
		if o.Result.Score == nil {
			t.Errorf("the outcome is %+v, want a score", o)
		}
	}
}
