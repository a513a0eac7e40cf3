package run_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// A provider serves target, simulator and judge, until it has answered as often
// as it may: then it is down.
type provider struct {
	mu            sync.Mutex
	left, answers int
	down          bool
}

func (p *provider) answer(text string) (target.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		p.down = true
		return target.Reply{}, &target.Error{Target: "provider", Retry: true, Status: 503, Message: "503 unavailable"}
	}
	p.left--
	p.answers++
	return says(text), nil
}

// models are the provider's three parts. Each answers by what it is asked, so
// that it says the same in every run.
func (p *provider) models() map[string]run.Target {
	says := func(text func(target.Request) string) run.Target {
		answer := func(_ int, req target.Request) (target.Reply, error) { return p.answer(text(req)) }
		return run.Target{Target: &script{answer: answer}, Config: config.Target{Kind: config.Model, Concurrency: 1}}
	}
	return map[string]run.Target{
		"bot":    says(func(req target.Request) string { return fmt.Sprint("hello ", len(req.Messages)) }),
		"player": says(func(req target.Request) string { return line(fmt.Sprint("more ", len(req.Messages)), false) }),
		"judge":  says(func(target.Request) string { return `{"score": 1, "reason": "Fine."}` }),
	}
}

// outageCases are one answered at once, one that is judged, one with three
// samples and one conversation: 1 + 2 + 3 + 6 calls.
func outageCases() []*schema.Case {
	judged := func(c *schema.Case) *schema.Case {
		c.Evaluators = []schema.Evaluator{{Name: "judge", Weight: 1, Spec: evaluator.Prompt{Template: "Good?"}}}
		return c
	}
	thrice := greeting("thrice")
	thrice.Policy.Iterations = 3
	talk := judged(simulated("Hi"))
	talk.Policy.MaxTurns = 3
	return []*schema.Case{greeting("once"), judged(greeting("judged")), thrice, talk}
}

// TestAnOutageAtEveryCall has the provider fail after each number of calls.
// Finished cases stay, the rest is in error and has no score, and the next run
// makes the calls that are missing and no other.
func TestAnOutageAtEveryCall(t *testing.T) {
	const all = 1 + 2 + 3 + 6
	for k := range all + 1 {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			first := &provider{left: k}
			before := b.during(t, first)
			if first.answers != k || first.down != (k < all) {
				t.Fatalf("%d calls were answered, down is %v", first.answers, first.down)
			}
			for _, out := range before {
				r := out.Result
				failed := r.Verdict == verdict.Error && r.Score == nil && strings.Contains(r.Reason, "503 unavailable") &&
					(out.Unrun != "" || strings.Contains(r.Reason, "4 attempts"))
				if r.Verdict != verdict.Pass && !failed {
					t.Errorf("%s ends with %+v", out.Key, r)
				}
			}
			second := &provider{left: all}
			for i, out := range b.during(t, second) {
				if out.Result.Verdict != verdict.Pass {
					t.Errorf("%s is not finished: %+v", out.Key, out.Result)
				}
				// Missing samples are reported next to the verdict of the others.
				r := before[i].Result
				if finished := r.Verdict == verdict.Pass && !strings.Contains(r.Reason, "of 3 samples ended in an error"); finished && out.Spent.Calls > 0 {
					t.Errorf("%s was finished, and makes %d calls more", out.Key, out.Spent.Calls)
				}
			}
			if second.answers != all-k {
				t.Errorf("the second run makes %d calls, %d are missing", second.answers, all-k)
			}
		})
	}
}

// during runs the cases of an outage. Nothing really waits.
func (b *fixture) during(t *testing.T, p *provider) []run.Outcome {
	t.Helper()
	operator := ledger.Trust{Level: ledger.LevelOperator}
	roles := map[schema.Role]string{schema.Simulator: "player", schema.Judge: "judge"}
	env := plan.Environment{DefaultTarget: "bot", Roles: roles, Targets: map[string]plan.Target{"bot": {}}}
	var jobs []run.Job
	for _, c := range outageCases() {
		jobs = append(jobs, run.Job{Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, &env)})
	}
	out, err := run.Run(t.Context(), run.Config{
		Ledger: b.store, Trust: operator, Roles: roles, Targets: p.models(), Budget: b.open(),
		Clock: clock.Funcs{RandomFunc: func() float64 { return 1 }, SleepFunc: func(context.Context, time.Duration) error { return nil }},
	}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
