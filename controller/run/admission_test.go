package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// needs is the cost of every case of a fixture: this many calls, and at least least.
func needs(likely, least int64) run.Need {
	return run.Need{
		Likely: ledger.Amount{Calls: likely}, Peak: ledger.Amount{Calls: likely}, Least: ledger.Amount{Calls: least},
	}
}

// sampled are cases of so many samples, and so of so many calls.
func sampled(n int, keys ...string) []*schema.Case {
	cases := greetings(keys...)
	for _, c := range cases {
		c.Policy.Iterations = n
	}
	return cases
}

// judged tells which cases were finished, and that nothing was spent on others.
func judged(t *testing.T, s *script, outcomes []run.Outcome) string {
	t.Helper()
	finished, spent := "", 0
	for _, o := range outcomes {
		switch {
		case o.Unrun == "":
			finished += o.Key
			spent += o.Spent.Calls
		case o.Spent.Calls != 0 || o.Result.Verdict != verdict.Error:
			t.Errorf("%s was begun: %+v", o.Key, o)
		}
	}
	if spent != len(s.asked) {
		t.Errorf("%d calls, %d of them for cases that were finished", len(s.asked), spent)
	}
	return finished
}

// TestASmallBudgetFinishesCasesInOrder has many cases begin at once on a
// budget for some: those come first, and of the others none is begun.
func TestASmallBudgetFinishesCasesInOrder(t *testing.T) {
	for _, tt := range []struct {
		name           string
		limit, samples int64
		need           run.Need
		want, why      string
	}{
		{name: "two of six", limit: 5, samples: 2, need: needs(2, 2), want: "ab", why: "is not enough: 1 is left, and the case takes at least 2"},
		{name: "all", limit: 12, samples: 2, need: needs(2, 2), want: "abcdef"},
		{name: "none", limit: 1, samples: 2, need: needs(2, 2), want: "", why: "1 is left"},
		{name: "nothing is left", limit: 4, samples: 2, need: needs(2, 2), want: "ab", why: "4 calls is not enough"},
		{name: "a guess too high", limit: 8, samples: 2, need: needs(7, 2), want: "abcd", why: "8 calls is not enough"},
		{name: "one after another", limit: 11, samples: 3, need: needs(4, 3), want: "abc", why: "2 are left, and the case takes at least 3"},
		{name: "one that is guessed", limit: 3, samples: 3, need: needs(9, 3), want: "a", why: "3 calls is not enough"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.cfg.Concurrency = 8
			b.budget.Calls = &tt.limit
			b.need = tt.need
			s := &script{answer: always("hello")}
			out := b.run(t.Context(), t, s, sampled(int(tt.samples), "a", "b", "c", "d", "e", "f")...)
			if got := judged(t, s, out); got != tt.want {
				t.Errorf("finished %q, want %q", got, tt.want)
			}
			if last := out[len(out)-1]; !strings.Contains(last.Result.Reason, tt.why) {
				t.Errorf("the last was not run since %q, want %q", last.Result.Reason, tt.why)
			}
		})
	}
}

// TestTokensOfWholeCases has cases claim tokens: the most that their last call
// may take is there, too.
func TestTokensOfWholeCases(t *testing.T) {
	b := newFixture(t)
	b.cfg.Concurrency = 8
	b.cfg.Parameters = map[string]json.RawMessage{"max_tokens": json.RawMessage("800")}
	limit := int64(2000)
	b.budget.Tokens = &limit
	b.need = run.Need{
		Likely: ledger.Amount{Calls: 3, Tokens: 300}, Peak: ledger.Amount{Calls: 3, Tokens: 1200}, Least: ledger.Amount{Calls: 3, Tokens: 1200},
	}
	s := &script{answer: costs(60, 40)}
	out := b.run(t.Context(), t, s, sampled(3, "a", "b", "c", "d", "e", "f")...)
	if got := judged(t, s, out); got != "abc" {
		t.Errorf("finished %q", got)
	}
}

// TestProcessesShareTheBudgetOfADay has several runs at once, each on a ledger
// handle of its own, whose cases are not the same: together they finish as many
// as the day has calls for, and begin no more.
func TestProcessesShareTheBudgetOfADay(t *testing.T) {
	limit, samples := int64(13), 2
	fixtures := fixtures(t, 3)
	outcomes := make([][]run.Outcome, len(fixtures))
	scripts := make([]*script, len(fixtures))
	var group sync.WaitGroup
	for i, b := range fixtures {
		b.clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		b.budget = config.Budget{Day: config.Limits{Calls: &limit}}
		b.need = needs(int64(samples), int64(samples))
		scripts[i] = &script{answer: func(int, target.Request) (target.Reply, error) { return says("hello"), nil }}
		var keys []string
		for n := range 4 {
			keys = append(keys, fmt.Sprintf("%d/%d ", i, n))
		}
		group.Go(func() { outcomes[i] = b.run(t.Context(), t, scripts[i], sampled(samples, keys...)...) })
	}
	group.Wait()
	calls, finished := 0, 0
	for i := range fixtures {
		calls += len(scripts[i].asked)
		finished += strings.Count(judged(t, scripts[i], outcomes[i]), "/")
	}
	if calls != 12 || finished != 6 {
		t.Errorf("%d cases were finished with %d calls of %d", finished, calls, limit)
	}
	on, err := fixtures[0].store.Accounts(t.Context())
	if err != nil || len(on) != 1 || on[0].Calls != 12 {
		t.Errorf("the day's account: %+v, %v", on, err)
	}
}
