package run_test

import (
	"context"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/runtest"
)

// TestConformance is of a run in one process.
func TestConformance(t *testing.T) {
	runtest.Conformance(t, func(t *testing.T) runtest.Fixture {
		return runtest.Fixture{
			Ledger: ledgertest.Open(t, ledger.Config{Path: emptyLedger(t)}),
			Execute: func(ctx context.Context, o runtest.Order) ([]run.Outcome, error) {
				o.Config.Budget = run.NewBudget(run.BudgetConfig{Budget: o.Budget})
				return run.Run(ctx, o.Config, o.Jobs)
			},
		}
	})
}
