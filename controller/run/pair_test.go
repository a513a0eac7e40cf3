package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// judgePairs judges the cases 0 to n-1 at head and at base by two runs at the same time, and
// returns their outcomes and the order of the calls: "head 3" is the one of head's case 3.
// set changes the jobs before they are paired. The fixture's control is base's, which ends
// before head begins then.
func judgePairs(t *testing.T, b *fixture, n int, set func(side string, jobs []run.Job)) (outcomes [2][]run.Outcome, order []string) {
	t.Helper()
	return judgePairsBy(t, b, n, set, func(string) {})
}

// judgePairsBy is judgePairs with a function that is called within each call.
func judgePairsBy(t *testing.T, b *fixture, n int, set func(side string, jobs []run.Job), called func(name string)) (outcomes [2][]run.Outcome, order []string) {
	t.Helper()
	var mu sync.Mutex
	bot := &script{answer: func(_ int, req target.Request) (target.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, req.Case)
		called(req.Case)
		return says("hello"), nil
	}}
	operator := ledger.Trust{Level: ledger.LevelOperator}
	var jobs [2][]run.Job
	for side, name := range []string{"head", "base"} {
		for i := range n {
			c := greeting(fmt.Sprint(name, " ", i))
			jobs[side] = append(jobs[side], run.Job{
				Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Need: b.need,
				Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot"}),
			})
		}
		if set != nil {
			set(name, jobs[side])
		}
	}
	run.Pair(jobs[0], jobs[1])
	budget, limiters, breakers := b.open(), &limit.Limiters{}, &limit.Breakers{}
	var group errgroup.Group
	baseEnded := make(chan struct{})
	for side := range jobs {
		group.Go(func() (err error) {
			cfg := run.Config{
				Ledger: b.store, Trust: operator, Targets: map[string]run.Target{"bot": {Target: bot, Config: b.cfg}},
				Budget: budget, Limiters: limiters, Breakers: breakers,
				Clock: clock.Funcs{AfterFunc: func(time.Duration) <-chan time.Time { return nil }}, // nobody gives up waiting
			}
			switch {
			case side == 1:
				cfg.Control = b.control
				defer close(baseEnded)
			case b.control != nil:
				<-baseEnded
			}
			outcomes[side], err = run.Run(t.Context(), cfg, jobs[side])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return outcomes, order
}

// TestPairsTakeTurns: the first calls of the two sides come one after the other, in the
// order of the cases, and the sides take turns at going first.
func TestPairsTakeTurns(t *testing.T) {
	b := newFixture(t)
	b.cfg.Concurrency = 1
	_, order := judgePairs(t, b, 20, nil)
	var want []string
	for i := range 20 {
		pair := []string{fmt.Sprint("head ", i), fmt.Sprint("base ", i)}
		if i%2 == 1 {
			slices.Reverse(pair)
		}
		want = append(want, pair...)
	}
	if !slices.Equal(order, want) {
		t.Errorf("the calls were\n%s\nwant\n%s", strings.Join(order, ", "), strings.Join(want, ", "))
	}
}

// TestAHalfWaitsAsLongAsOutcomesArePairs: a half whose other half does not come asks for the
// wait of its configuration, and is judged alone after it.
func TestAHalfWaitsAsLongAsOutcomesArePairs(t *testing.T) {
	for _, tt := range []struct{ apart, want time.Duration }{{0, time.Minute}, {7 * time.Second, 7 * time.Second}} {
		b := newFixture(t)
		operator := ledger.Trust{Level: ledger.LevelOperator}
		var jobs [2][]run.Job
		for side, name := range []string{"head", "base"} {
			c := greeting(name)
			jobs[side] = []run.Job{{
				Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Need: b.need,
				Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot"}),
			}}
		}
		run.Pair(jobs[0], jobs[1])
		var mu sync.Mutex
		var waits []time.Duration
		bot := &script{answer: func(int, target.Request) (target.Reply, error) { return says("hello"), nil }}
		outcomes, err := run.Run(t.Context(), run.Config{
			Ledger: b.store, Trust: operator, Targets: map[string]run.Target{"bot": {Target: bot, Config: b.cfg}},
			Budget: b.open(), Apart: tt.apart,
			Clock: clock.Funcs{AfterFunc: func(d time.Duration) <-chan time.Time {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, d)
				return time.After(0) // the wait is over at once
			}},
		}, jobs[0])
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[0].Result.Verdict != verdict.Pass {
			t.Errorf("apart %v: the half is %+v, want it judged alone", tt.apart, outcomes[0].Result)
		}
		if !slices.Contains(waits, tt.want) {
			t.Errorf("apart %v: the waits were %v, want one of %v", tt.apart, waits, tt.want)
		}
	}
}

// TestASharedExecutionIsNoPair: a case whose calls another case of its side makes waits for
// nobody, and nobody for it.
func TestASharedExecutionIsNoPair(t *testing.T) {
	b := newFixture(t)
	b.cfg.Concurrency = 1
	outcomes, order := judgePairs(t, b, 12, func(side string, jobs []run.Job) {
		if side == "head" { // all ask what the first asks
			for i := range jobs {
				jobs[i].Digests = jobs[0].Digests
			}
		}
	})
	for side := range outcomes {
		for _, o := range outcomes[side] {
			if o.Result.Verdict != verdict.Pass {
				t.Errorf("%s: %+v", o.Key, o.Result)
			}
		}
	}
	if len(order) != 13 {
		t.Errorf("%d calls, want one of head and 12 of base", len(order))
	}
}

// TestABudgetAdmitsPairs: both halves of a pair are judged or none.
func TestABudgetAdmitsPairs(t *testing.T) {
	for calls := range int64(9) {
		b := newFixture(t)
		b.cfg.Concurrency = 4
		b.need = needs(1, 1)
		b.budget = config.Budget{Limits: config.Limits{Calls: &calls}}
		outcomes, order := judgePairs(t, b, 4, nil)
		judged := 0
		for i := range 4 {
			head, base := outcomes[0][i].Unrun == "", outcomes[1][i].Unrun == ""
			if head != base {
				t.Errorf("%d calls: head of case %d is judged: %v, base: %v (%s, %s)", calls, i, head, base, outcomes[0][i].Unrun, outcomes[1][i].Unrun)
			}
			if head {
				judged++
			}
		}
		if judged != int(calls/2) || len(order) != 2*judged {
			t.Errorf("%d calls: %d pairs are judged in %d calls", calls, judged, len(order))
		}
	}
}

// TestAHalfThatIsNotJudged takes nothing of the budget: the other half is judged alone.
func TestAHalfThatIsNotJudged(t *testing.T) {
	limit := int64(2)
	b := newFixture(t)
	b.need = needs(1, 1)
	b.budget = config.Budget{Limits: config.Limits{Calls: &limit}}
	b.control = &run.Control{}
	b.control.Supersede(func(string) bool { return false })
	outcomes, order := judgePairs(t, b, 2, nil)
	for i := range 2 {
		if o := outcomes[0][i]; o.Result.Verdict != verdict.Pass {
			t.Errorf("%s: %+v %s", o.Key, o.Result, o.Unrun)
		}
		if o := outcomes[1][i]; !o.Stopped {
			t.Errorf("%s: %+v, want it stopped", o.Key, o)
		}
	}
	if len(order) != 2 {
		t.Errorf("%d calls, want 2: %v", len(order), order)
	}
}

// TestAPairIsReservedWhole: on an account that processes share, nobody takes the room of
// the half that has not called yet, whether it waits next to the first one or still for
// its lease.
func TestAPairIsReservedWhole(t *testing.T) {
	for _, isLate := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", isLate), func(t *testing.T) {
			limit := int64(2)
			both := fixtures(t, 2)
			b, other := both[0], both[1]
			b.clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			b.need = needs(1, 1)
			b.budget = config.Budget{Day: config.Limits{Calls: &limit}}
			operator := ledger.Trust{Level: ledger.LevelOperator}
			handle, err := other.store.BeginRun(t.Context(), operator, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer handle.Close(t.Context()) //nolint:errcheck // the store is the test's
			own, err := handle.Lease(t.Context(), "another case", "")
			if err != nil {
				t.Fatal(err)
			}
			var bases *ledger.Lease // on base's case, until head has called
			n := 0
			outcomes, order := judgePairsBy(t, b, 1, func(side string, jobs []run.Job) {
				if side == "base" && isLate {
					if bases, err = handle.Lease(t.Context(), jobs[0].Digests.E, ""); err != nil {
						t.Fatal(err)
					}
				}
			}, func(name string) {
				if n++; n > 1 {
					return
				}
				one := ledger.Amount{Calls: 1}
				short, err := own.Claim(t.Context(), []ledger.Account{{Name: "o/r on 2026-01-02", Calls: &limit}}, one, one)
				// The other half has claimed its call, or it has already begun it.
				if err != nil || short == nil || short.On.Calls+short.Claimed.Calls != 2 {
					t.Errorf("within the call of %s, another process gets the room of the other half: %+v, %v", name, short, err)
				}
				if err := own.Release(t.Context()); err != nil {
					t.Error(err)
				}
				if bases != nil {
					if err := bases.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
			for side := range outcomes {
				if o := outcomes[side][0]; o.Result.Verdict != verdict.Pass {
					t.Errorf("%s: %+v %s", o.Key, o.Result, o.Unrun)
				}
			}
			if len(order) != 2 {
				t.Errorf("%d calls, want 2: %v", len(order), order)
			}
		})
	}
}

// TestAHalfThatAnotherRunJudges: a pair that is judged from a queue waits for nobody if
// another run is at work on one half.
func TestAHalfThatAnotherRunJudges(t *testing.T) {
	both := fixtures(t, 2)
	b, other := both[0], both[1]
	operator := ledger.Trust{Level: ledger.LevelOperator}
	handle, err := other.store.BeginRun(t.Context(), operator, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close(t.Context()) //nolint:errcheck // the store is the test's
	var taken *ledger.Lease
	bot := &script{answer: func(int, target.Request) (target.Reply, error) {
		if taken != nil {
			if err := taken.Release(t.Context()); err != nil {
				t.Error(err)
			}
			taken = nil
		}
		return says("hello"), nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var halves [2]run.SessionJob
	for i, name := range []string{"head", "base"} {
		c := greeting(name)
		halves[i].Job = run.Job{Case: c, Target: "bot", Scope: ledger.Scope{Trust: operator}, Digests: plan.Digest(c, &plan.Environment{DefaultTarget: "bot"})}
		halves[i].Session, err = run.Begin(t.Context(), run.Config{
			Ledger: b.store, Trust: operator, Targets: map[string]run.Target{"bot": {Target: bot, Config: b.cfg}},
			Clock: clock.Funcs{AfterFunc: func(time.Duration) <-chan time.Time { return nil }}, // nobody gives up waiting
		})
		if err != nil {
			t.Fatal(err)
		}
		defer halves[i].Session.Close(t.Context()) //nolint:errcheck // the store is the test's
	}
	if taken, err = handle.Lease(t.Context(), halves[1].Job.Digests.E, ""); err != nil {
		t.Fatal(err)
	}
	outcomes, err := run.JudgePair(ctx, halves[0], halves[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Result.Verdict != verdict.Pass {
			t.Errorf("%s: %+v", o.Key, o.Result)
		}
	}
}
