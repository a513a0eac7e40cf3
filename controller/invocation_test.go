package controller_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
)

// TestAnInvocationIsContinuedForADay where it was broken off, as a killed process
// leaves it.
func TestAnInvocationIsContinuedForADay(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b := newFixture(t)
	b.store = ledgertest.Open(t, ledger.Config{Now: func() time.Time { return now }})
	cfg := settings()
	cfg.Targets = map[string]config.Target{"bot": {Name: "bot", Provider: config.HTTP, Kind: config.Agent, URL: "https://h", Revision: config.RevisionNone}}
	run := func(isKilled bool) int64 {
		t.Helper()
		continued, err := controller.ContinueInvocation(t.Context(), b.store, controller.Tree, now)
		if err != nil {
			t.Fatal(err)
		}
		p, err := controller.Prepare(t.Context(), controller.Request{
			Head:       controller.Checkout{Commit: controller.Worktree, FS: files(), Config: cfg},
			ConfigFile: "gavel.yaml", Ledger: b.store, HeadTrust: operator, LookupEnv: nowhere,
			Invocation: continued, Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		host := controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return b.calculator, nil })
		killed := errors.New("killed before the report was stored")
		outbox := func(*report.Report) ([]ledger.OutboxItem, error) {
			if isKilled {
				return nil, killed
			}
			return nil, nil
		}
		b.calls.Store(0)
		if _, err := p.Execute(t.Context(), host, controller.RunOptions{Outbox: outbox}); err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		return b.calls.Load()
	}
	for _, step := range []struct {
		name     string
		after    time.Duration
		isKilled bool
		calls    int64
	}{
		{"the first", 0, true, 4},
		{"one that continues it", time.Hour, false, 0},
		{"a new one", time.Hour, true, 4},
		{"one that is too late to continue it", 25 * time.Hour, true, 4},
		{"one that continues that", time.Hour, false, 0},
	} {
		now = now.Add(step.after)
		if got := run(step.isKilled); got != step.calls {
			t.Errorf("%s made %d calls, want %d", step.name, got, step.calls)
		}
	}
}
