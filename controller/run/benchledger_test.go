package run_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// BenchmarkLedger judges 1,000 cases whose target answers at once, and then
// puts the same questions to a new ledger, and the same entries into it, with
// nothing between. It reports verdicts a second, and the share of the run that
// the ledger alone takes.
func BenchmarkLedger(b *testing.B) {
	const n, concurrency = 1000, 20
	var cases []*schema.Case
	for i := range n {
		cases = append(cases, greeting(fmt.Sprint(i)))
	}
	var whole, alone time.Duration
	for b.Loop() {
		w := newFixture(b)
		w.cfg.Concurrency = concurrency
		start := time.Now()
		w.run(b.Context(), b, &script{answer: always("hello")}, cases...)
		whole += time.Since(start)
		b.StopTimer()
		entries := stored(b, w, cases)
		store, err := ledger.Open(b.Context(), ledger.Config{Path: filepath.Join(b.TempDir(), "ledger.db")})
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if err := repeat(b.Context(), store, entries, 2*concurrency); err != nil {
			b.Fatal(err)
		}
		alone += time.Since(start)
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(n*b.N)/whole.Seconds(), "verdicts/s")
	b.ReportMetric(100*alone.Seconds()/whole.Seconds(), "%ledger")
}

// An entry is the written part of a run about one case.
type entry struct {
	outcome ledger.Outcome
	calls   []ledger.Call
}

var operator = ledger.Trust{Level: ledger.LevelOperator}

// stored reads what a run has written.
func stored(b *testing.B, w *fixture, cases []*schema.Case) []entry {
	b.Helper()
	ctx, scope := b.Context(), ledger.Scope{Trust: operator}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	var all []entry
	for _, c := range cases {
		d := plan.Digest(c, &plan.Environment{DefaultTarget: "bot"})
		e := entry{outcome: ledger.Outcome{Trust: operator, Digests: d}}
		var err error
		e.outcome.Executions, _, err = w.store.Executions(ctx, scope, d.E)
		check(err)
		e.outcome.Samples, err = w.store.Judgements(ctx, scope, d.J)
		check(err)
		decided, err := w.store.Decided(ctx, scope, []string{d.D})
		check(err)
		decision, ok := decided[d.D]
		if !ok {
			b.Fatalf("%s has no verdict", c.Key)
		}
		e.outcome.Decision = decision
		e.calls, err = w.store.Calls(ctx, scope, d.E, 0)
		check(err)
		all = append(all, e)
	}
	return all
}

// repeat asks and writes what a run does, with so many cases at work at once.
func repeat(ctx context.Context, store *ledger.Ledger, entries []entry, workers int) error {
	var digests []string
	for _, e := range entries {
		digests = append(digests, e.outcome.Digests.E)
	}
	handle, err := store.BeginRun(ctx, operator, digests)
	if err != nil {
		return err
	}
	work := make(chan entry)
	errs := make(chan error, len(entries))
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for e := range work {
				errs <- write(ctx, store, handle, e)
			}
		})
	}
	for _, e := range entries {
		work <- e
	}
	close(work)
	group.Wait()
	for range entries {
		if err := <-errs; err != nil {
			return err
		}
	}
	return handle.Close(ctx)
}

func write(ctx context.Context, store *ledger.Ledger, handle *ledger.RunHandle, e entry) error {
	scope, d := ledger.Scope{Trust: operator}, e.outcome.Digests
	lease, err := handle.Lease(ctx, d.E, d.J)
	if err != nil {
		return err
	}
	if _, _, err := store.Executions(ctx, scope, d.E); err != nil {
		return err
	}
	if _, err := store.Judgements(ctx, scope, d.J); err != nil {
		return err
	}
	for _, digest := range []string{d.E, d.J} {
		if _, err := store.Calls(ctx, scope, digest, 0); err != nil {
			return err
		}
	}
	for _, call := range e.calls {
		call.Lease = lease
		if err := store.SaveCall(ctx, operator, call); err != nil {
			return err
		}
	}
	e.outcome.Lease = lease
	return store.Save(ctx, e.outcome)
}
