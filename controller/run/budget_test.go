package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// costs answers with a reply of so many tokens.
func costs(input, output int64) func(int, target.Request) (target.Reply, error) {
	return func(int, target.Request) (target.Reply, error) {
		reply := says("hello")
		reply.Usage = verdict.Usage{Calls: 1, InputTokens: input, OutputTokens: output}
		return reply, nil
	}
}

func greetings(keys ...string) []*schema.Case {
	var out []*schema.Case
	for _, key := range keys {
		out = append(out, greeting(key))
	}
	return out
}

// unrun counts the cases that a budget was not enough for.
func unrun(t *testing.T, outcomes []run.Outcome, want string) int {
	t.Helper()
	n := 0
	for _, o := range outcomes {
		if (o.Result.Verdict == verdict.Error) != (o.Unrun != "") {
			t.Errorf("the outcome is %+v, want an error exactly where a case was not run", o)
		}
		if o.Unrun == "" {
			continue
		}
		n++
		if o.Unrun != want || !strings.HasPrefix(o.Result.Reason, want) {
			t.Errorf("not run since %q, reason %q; want %q", o.Unrun, o.Result.Reason, want)
		}
	}
	return n
}

// TestTheMostIsReserved has eight calls at once on a budget for two and a half:
// what the calls in progress leave over is waited for.
func TestTheMostIsReserved(t *testing.T) {
	b := newFixture(t)
	b.cfg.Concurrency = 8
	b.cfg.Parameters = map[string]json.RawMessage{"max_tokens": json.RawMessage("250")}
	limit := int64(1000)
	b.budget.Tokens = &limit
	// A call takes 350 tokens, more than the request has bytes and less than the most:
	// in no order are there enough for a third one.
	s := &script{answer: costs(250, 100)}
	out := b.run(t.Context(), t, s, greetings("a", "b", "c", "d", "e")...)
	if n := unrun(t, out, "not run: the budget of 1000 tokens is not enough"); n != 3 || len(s.asked) != 2 {
		t.Errorf("%d cases were not run, %d calls", n, len(s.asked))
	}
}

// TestMoneyIsReserved has a call that may cost more than there is.
func TestMoneyIsReserved(t *testing.T) {
	b := newFixture(t)
	b.cfg.Price = &config.Price{Output: 1000}
	b.cfg.Parameters = map[string]json.RawMessage{"max_tokens": json.RawMessage("1000")}
	limit := 2.5
	b.budget.USD = &limit
	s := &script{answer: costs(10, 600)} // 0.6 USD, of at most 1
	out := b.run(t.Context(), t, s, greetings("a", "b", "c", "d", "e")...)
	if n := unrun(t, out, "not run: the budget of 2.5 USD is not enough"); n != 2 || len(s.asked) != 3 {
		t.Errorf("%d cases were not run, %d calls", n, len(s.asked))
	}
}

// TestATimeoutIsSpent has a call time out: nobody knows what it took.
func TestATimeoutIsSpent(t *testing.T) {
	b := newFixture(t)
	b.cfg.Parameters = map[string]json.RawMessage{"max_tokens": json.RawMessage("900")}
	limit := int64(1500)
	b.budget.Tokens = &limit
	b.shared = b.open()
	c := greeting("slow")
	c.Policy.Timeout = time.Nanosecond
	b.run(t.Context(), t, slowTarget{}, c)
	s := &script{answer: costs(10, 10)}
	out := b.run(t.Context(), t, s, greeting("b"))
	if out[0].Unrun == "" || len(s.asked) != 0 {
		t.Errorf("%d calls, %+v", len(s.asked), out)
	}

	// A request that a provider refuses takes no tokens.
	b.shared = nil
	b.shared = b.open()
	refuses := &script{answer: func(int, target.Request) (target.Reply, error) {
		return target.Reply{}, &target.Error{Target: "bot", Status: 400, Message: "400"}
	}}
	b.run(t.Context(), t, refuses, greeting("a"))
	if out = b.run(t.Context(), t, s, greeting("b")); out[0].Result.Verdict != verdict.Pass {
		t.Errorf("the outcome is %+v, want a pass", out)
	}
}

// TestWhatCallsUnderWayLeaveOverIsWaitedFor makes a second call wait for the unused
// part of the first one's reservation.
func TestWhatCallsUnderWayLeaveOverIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.cfg.Concurrency = 2
		b.cfg.Parameters = map[string]json.RawMessage{"max_tokens": json.RawMessage("600")}
		limit := int64(1000)
		b.budget.Tokens = &limit
		s := &script{}
		s.answer = func(n int, req target.Request) (target.Reply, error) {
			synctest.Wait() // until the other waits, too
			return costs(10, 10)(n, req)
		}
		out := b.run(t.Context(), t, s, greetings("a", "b")...)
		if n := unrun(t, out, ""); n != 0 || len(s.asked) != 2 {
			t.Errorf("%d cases were not run, %d calls", n, len(s.asked))
		}
	})
}

// TestRunsShareBudgets makes the spending of several runs together reach the limits of
// a pull request and of a day, whichever day it is where they run.
func TestRunsShareBudgets(t *testing.T) {
	b := newFixture(t)
	b.clock = time.Date(2026, 1, 2, 23, 0, 0, 0, time.FixedZone("", -5*60*60)) // the third in UTC
	two, five := int64(2), int64(5)
	b.budget = config.Budget{PullRequest: config.Limits{Calls: &two}, Day: config.Limits{Calls: &five}}
	const spentPull, spentDay = "not run: the budget of 2 calls for pull request o/r#%d is not enough", "not run: the budget of 5 calls for o/r on 2026-01-03 is not enough"
	n := 0
	for _, tt := range []struct {
		pull, cases, asked int
		want               string
	}{
		{7, 1, 1, ""},
		{7, 2, 1, fmt.Sprintf(spentPull, 7)},
		{8, 2, 2, ""},
		{9, 2, 1, spentDay},
		{0, 1, 0, spentDay},
	} {
		b.pull = tt.pull
		var cases []*schema.Case
		for range tt.cases {
			n++
			cases = append(cases, greeting(fmt.Sprint(n)))
		}
		s := &script{answer: always("hello")}
		out := b.run(t.Context(), t, s, cases...)
		if left := unrun(t, out, tt.want); len(s.asked) != tt.asked || left != tt.cases-tt.asked {
			t.Errorf("pull request %d: %d calls for %d cases, %d not run", tt.pull, len(s.asked), tt.cases, left)
		}
	}
	b.clock = b.clock.Add(24 * time.Hour)
	s := &script{answer: always("hello")}
	if out := b.run(t.Context(), t, s, greeting("tomorrow")); out[0].Unrun != "" {
		t.Errorf("the next day: %+v", out[0])
	}
}

// TestACancelledRunSettles cancels a run when a reply comes: the accounts have its
// cost, and not the reserved amount.
func TestACancelledRunSettles(t *testing.T) {
	b := newFixture(t)
	b.clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limit := int64(100_000)
	b.budget.Day.Tokens = &limit
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answer: func(n int, req target.Request) (target.Reply, error) {
		cancel()
		return costs(30, 12)(n, req)
	}}
	b.run(ctx, t, s, greeting("a"))
	accounts, err := b.store.Accounts(t.Context())
	want := []ledger.Balance{{Name: "o/r on 2026-01-02", Amount: ledger.Amount{Calls: 1, Tokens: 42}}}
	if diff := cmp.Diff(want, accounts); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
