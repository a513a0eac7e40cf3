package run

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
)

// TestAPausedTimeoutDoesNotRun pauses a timeout of a minute twice, for half an
// hour, once by two that overlap.
func TestAPausedTimeoutDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := newTimeout(time.Minute)
		began := time.Now()
		call, end := limit.context(t.Context())
		defer end()
		time.Sleep(20 * time.Second)
		limit.pause()
		time.Sleep(10 * time.Minute)
		limit.pause()
		limit.resume()
		time.Sleep(10 * time.Minute)
		limit.resume()
		time.Sleep(20 * time.Second)
		limit.pause()
		time.Sleep(10 * time.Minute)
		limit.resume()
		if call.Err() != nil || limit.waited() != 30*time.Minute {
			t.Fatalf("after 40 s and a wait of %v the call has ended: %v", limit.waited(), call.Err())
		}
		<-call.Done()
		if took := time.Since(began); took != 31*time.Minute || !errors.Is(context.Cause(call), context.DeadlineExceeded) {
			t.Errorf("it ends after %v, because of %v", took, context.Cause(call))
		}
	})
}

// TestAnAgentThatWaitsForBudgetIsNotLate has a request of a coding agent wait for what
// another call has reserved, for longer than the agent's timeout.
func TestAnAgentThatWaitsForBudgetIsNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetConfig{Budget: config.Budget{Limits: config.Limits{Tokens: new(int64(10_000))}}})
		other, mine := claimOf(t, b, 0), claimOf(t, b, 0)
		taken, err := other.reserveFurther(t.Context(), config.Target{Name: "judge"}, 5_000, 4_000)
		if err != nil {
			t.Fatal(err)
		}
		passed := &passedOn{claim: mine, costs: &costs{}, target: config.Target{Name: "coder"}, timeout: newTimeout(time.Minute)}
		call, end := passed.timeout.context(t.Context())
		defer end()
		go func() {
			time.Sleep(time.Hour)
			if err := other.Settle(t.Context(), taken, ledger.Amount{Tokens: 100}); err != nil {
				t.Error(err)
			}
		}()
		if _, err := passed.pay(call, 2_000, 1_000); err != nil || call.Err() != nil {
			t.Errorf("after an hour of waiting for budget: %v, the call has ended: %v", err, call.Err())
		}
		if passed.timeout.waited() != time.Hour {
			t.Errorf("it waited %v, want an hour", passed.timeout.waited())
		}
	})
}

// TestACallThatWaitsForBudgetHasNoPermit has a call wait for what an earlier case may need,
// whose call needs the only permit of the target.
func TestACallThatWaitsForBudgetHasNoPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := config.Target{Name: "bot", Kind: config.Model, Provider: config.Replay, Concurrency: 1}
		b := NewBudget(BudgetConfig{Budget: config.Budget{Limits: config.Limits{Calls: new(int64(1))}}})
		claim := func(calls int64) *Claim {
			c, err := b.Admit(t.Context(), nil, Need{Likely: ledger.Amount{Calls: calls}})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		cfg := &callConfig{
			Target: func(string) (target.Target, config.Target) { return nil, model },
			Limits: map[string]*limit.Limiter{"bot": limit.New(model, new(limit.Breakers).Breaker(model, ""), clock.Or(nil))}, Clock: clock.Or(nil),
		}
		caller := func(c *Claim) *caller {
			out := newCaller(cfg, calledCase{Costs: &costs{}, Claim: c, Ended: func(context.Context) error { return nil }})
			out.Allow(time.Minute)
			return &out
		}
		earlier, later := claim(1), claim(0)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan error, 1)
		go func() { waiting <- caller(later).begin(ctx, "bot", target.Request{}).err }()
		synctest.Wait()
		got := caller(earlier).begin(t.Context(), "bot", target.Request{})
		if got.err != nil {
			t.Fatal(got.err)
		}
		got.permit.Done(limit.Outcome{})
		cancel()
		if err := <-waiting; err == nil {
			t.Error("the later call was sent, too")
		}
	})
}
