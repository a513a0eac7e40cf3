package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
)

// replay is a target whose calls take nothing but calls.
var replay = config.Target{Name: "bot", Provider: config.Replay}

// model is a target whose calls take at most 100 tokens and what they are sent.
var model = config.Target{Name: "bot", Provider: "openai", Parameters: map[string]json.RawMessage{"max_tokens": json.RawMessage("100")}}

func budgetCalls(n int64) config.Limits { return config.Limits{Calls: &n} }

func tokens(n int64) config.Limits { return config.Limits{Tokens: &n} }

// open returns the budget of one run with these limits.
func open(l config.Limits) *run.Budget {
	return run.NewBudget(run.BudgetConfig{Budget: config.Budget{Limits: l}})
}

// budgetNeeds is a case that is likely to take so many calls, and takes at least least.
func budgetNeeds(likely, least int64) run.Need {
	return run.Need{Likely: ledger.Amount{Calls: likely}, Peak: ledger.Amount{Calls: likely}, Least: ledger.Amount{Calls: least}}
}

func admit(t *testing.T, b *run.Budget, need run.Need) *run.Claim {
	t.Helper()
	c, err := b.Admit(t.Context(), nil, need)
	if err != nil {
		t.Fatalf("Admit(%+v) returned %v, want no error", need, err)
	}
	return c
}

func reserve(t *testing.T, c *run.Claim, on config.Target) run.Reservation {
	t.Helper()
	r, err := c.Reserve(t.Context(), on, target.Request{})
	if err != nil {
		t.Fatalf("Reserve returned %v, want no error", err)
	}
	return r
}

func settle(t *testing.T, c *run.Claim, r run.Reservation, spent ledger.Amount) {
	t.Helper()
	if err := c.Settle(t.Context(), r, spent); err != nil {
		t.Fatalf("Settle returned %v, want no error", err)
	}
}

// wantShortage demands that err says which limit is short.
func wantShortage(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	short, ok := errors.AsType[*run.Shortage](err)
	if !ok {
		t.Fatalf("%s returned %v, want a shortage of %q", what, err, parts)
	}
	for _, part := range parts {
		if !strings.Contains(short.Error(), part) {
			t.Errorf("%s: the shortage is %q, want one with %q", what, short, part)
		}
	}
}

func TestUpperBound(t *testing.T) {
	with := func(name, value string) config.Target {
		return config.Target{Provider: "openai", Parameters: map[string]json.RawMessage{name: json.RawMessage(value)}}
	}
	priced := with("max_tokens", "1000")
	priced.Price = &config.Price{Input: 1, Output: 10}
	for _, tt := range []struct {
		name   string
		target config.Target
		want   ledger.Amount
	}{
		{"a recording", replay, ledger.Amount{Calls: 1}},
		{"a mock", config.Target{Provider: config.Mock}, ledger.Amount{Calls: 1}},
		{"nothing is set", config.Target{Provider: "openai"}, ledger.Amount{Calls: 1, Tokens: 500 + 4096}},
		{"max_tokens", with("max_tokens", "7"), ledger.Amount{Calls: 1, Tokens: 507}},
		{"max_completion_tokens", with("max_completion_tokens", "8"), ledger.Amount{Calls: 1, Tokens: 508}},
		{"max_output_tokens", with("max_output_tokens", "9"), ledger.Amount{Calls: 1, Tokens: 509}},
		{"a parameter that is not a number", with("max_tokens", `"many"`), ledger.Amount{Calls: 1, Tokens: 500 + 4096}},
		{"a price", priced, ledger.Amount{Calls: 1, Tokens: 1500, USD: priced.Price.Cost(500, 1000)}},
	} {
		if got := run.UpperBound(tt.target, 500); got != tt.want {
			t.Errorf("%s: a call of 500 bytes takes at most %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestLimited(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget config.Budget
		want   bool
	}{
		{"nothing", config.Budget{}, false},
		{"a run", config.Budget{Limits: budgetCalls(0)}, true},
		{"a day", config.Budget{Day: tokens(5)}, true},
		{"a pull request", config.Budget{PullRequest: budgetCalls(5)}, true},
	} {
		if got := run.NewBudget(run.BudgetConfig{Budget: tt.budget}).Limited(); got != tt.want {
			t.Errorf("a limit for %s: Limited is %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestNoCallBeyondTheLimit(t *testing.T) {
	b := open(budgetCalls(2))
	c := admit(t, b, run.Need{})
	for range 2 {
		settle(t, c, reserve(t, c, replay), ledger.Amount{Calls: 1})
	}
	_, err := c.Reserve(t.Context(), replay, target.Request{})
	wantShortage(t, "a third call of two", err, "budget of 2 calls")
	limit := 0.5
	b = open(config.Limits{USD: &limit})
	dear := model
	dear.Price = &config.Price{Input: 0, Output: 10_000}
	_, err = admit(t, b, run.Need{}).Reserve(t.Context(), dear, target.Request{})
	wantShortage(t, "a call for 1 USD", err, "budget of 0.5 USD", "0.5 are left, and the call may take 1")
}

// TestACallWaitsForWhatOthersLeave has two calls that may take 150 tokens each
// share 250.
func TestACallWaitsForWhatOthersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := admit(t, open(tokens(250)), run.Need{})
		first := reserve(t, c, model)
		done := make(chan error, 1)
		go func() {
			_, err := c.Reserve(t.Context(), model, target.Request{})
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("the second call did not wait: Reserve returned %v", err)
		default:
		}
		settle(t, c, first, ledger.Amount{Calls: 1, Tokens: 20})
		if err := <-done; err != nil {
			t.Errorf("after the first call took 20 of 250 tokens, the second got %v, want its reservation", err)
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := admit(t, open(tokens(250)), run.Need{})
		reserve(t, c, model)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Reserve(ctx, model, target.Request{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waits when its context ends got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// TestALargeReplyIsExpectedAgain has a reply be larger than the target says that
// replies are.
func TestALargeReplyIsExpectedAgain(t *testing.T) {
	c := admit(t, open(tokens(10_000)), run.Need{})
	r := reserve(t, c, model)
	settle(t, c, r, ledger.Amount{Calls: 1, Tokens: 3000})
	if r := reserve(t, c, model); r.Amount.Tokens != 3000 {
		t.Errorf("after a call of 3000 tokens the next reserves %d, want 3000", r.Amount.Tokens)
	}
}

// TestCasesThatWereLetInComeFirst has a case claim 3 of 5 calls, and another make
// calls next to it.
func TestCasesThatWereLetInComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(budgetCalls(5))
		first, second := admit(t, b, budgetNeeds(3, 3)), admit(t, b, budgetNeeds(2, 2))
		for range 2 {
			reserve(t, second, replay)
		}
		third := make(chan error, 1)
		go func() {
			_, err := second.Reserve(t.Context(), replay, target.Request{})
			third <- err
		}()
		synctest.Wait()
		for range 2 {
			reserve(t, first, replay)
		}
		synctest.Wait()
		select {
		case err := <-third:
			t.Fatalf("a call took what another case has claimed: Reserve returned %v", err)
		default:
		}
		first.Done()
		if err := <-third; err != nil {
			t.Errorf("after the first case ended with 2 of 3 calls, the other got %v, want the one that is left", err)
		}
	})
}

func TestAdmit(t *testing.T) {
	b := open(budgetCalls(4))
	_, err := b.Admit(t.Context(), nil, budgetNeeds(9, 5))
	wantShortage(t, "a case of at least 5 calls of 4", err, "budget of 4 calls", "4 are left, and the case takes at least 5")
	admit(t, b, budgetNeeds(9, 4)).Done() // a guess that is too high does not keep a case out
	synctest.Test(t, func(t *testing.T) {
		b := open(budgetCalls(4))
		first := admit(t, b, budgetNeeds(3, 3))
		let := make(chan error, 1)
		go func() {
			_, err := b.Admit(t.Context(), nil, budgetNeeds(2, 2))
			let <- err
		}()
		synctest.Wait()
		select {
		case err := <-let:
			t.Fatalf("a case of 2 calls did not wait for one that claims 3 of 4: Admit returned %v", err)
		default:
		}
		settle(t, first, reserve(t, first, replay), ledger.Amount{Calls: 1})
		first.Done()
		first.Done() // once is enough, twice is harmless
		if err := <-let; err != nil {
			t.Errorf("after the first case ended with 1 call of 4, the second got %v, want to be let in", err)
		}
	})
}

// TestSharedAccounts has runs share what a pull request and a day may spend.
func TestSharedAccounts(t *testing.T) {
	store := ledgertest.Open(t, ledger.Config{})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		cfg   run.BudgetConfig
		parts []string
	}{
		{"a pull request", run.BudgetConfig{Budget: config.Budget{PullRequest: budgetCalls(2)}, Repository: "o/r", PullRequest: 7}, []string{"budget of 2 calls for pull request o/r#7"}},
		{"a day of a repository", run.BudgetConfig{Budget: config.Budget{Day: budgetCalls(2)}, Repository: "o/r"}, []string{"budget of 2 calls for o/r on 2026-01-02"}},
		{"a day", run.BudgetConfig{Budget: config.Budget{Day: budgetCalls(2)}}, []string{"budget of 2 calls for 2026-01-02"}},
	} {
		tt.cfg.Now = func() time.Time { return now }
		handle, err := store.BeginRun(t.Context(), ledger.Trust{Level: ledger.LevelOperator}, []string{tt.name})
		if err != nil {
			t.Fatal(err)
		}
		lease, err := handle.Lease(t.Context(), tt.name, "")
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 { // each with a budget of its own
			c, err := run.NewBudget(tt.cfg).Admit(t.Context(), lease, run.Need{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.Reserve(t.Context(), replay, target.Request{})
			if n == 2 {
				wantShortage(t, tt.name+": a third call of two", err, tt.parts...)
				continue
			}
			if err != nil {
				t.Fatalf("%s: call %d of 2: %v", tt.name, n+1, err)
			}
			settle(t, c, r, ledger.Amount{Calls: 1})
		}
		if err := handle.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAPullRequestOfNone has no account: 0 is not the number of a pull request.
func TestAPullRequestOfNone(t *testing.T) {
	b := run.NewBudget(run.BudgetConfig{Budget: config.Budget{PullRequest: budgetCalls(0)}, Repository: "o/r"})
	reserve(t, admit(t, b, run.Need{}), replay)
}
