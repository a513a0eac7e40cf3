package run

import (
	"errors"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// claimOf admits a case of a run with some tokens, of which it is likely to need a part.
func claimOf(t *testing.T, b *Budget, likely int64) *Claim {
	t.Helper()
	c, err := b.Admit(t.Context(), nil, Need{Likely: ledger.Amount{Calls: 1, Tokens: likely}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAPartOfACallWaitsForNoCase: the request of an agent that runs takes what is there, also
// where an earlier case is likely to need it: that case may wait for the agent's permit.
func TestAPartOfACallWaitsForNoCase(t *testing.T) {
	b := NewBudget(BudgetConfig{Budget: config.Budget{Limits: config.Limits{Tokens: new(int64(10_000))}}})
	claimOf(t, b, 9_000)
	second := claimOf(t, b, 0)
	r, err := second.reserveFurther(t.Context(), config.Target{Name: "coder"}, 1_000, 1_000)
	if err != nil || r.Amount.Tokens != 2_000 {
		t.Fatalf("the reservation is %+v (%v), want 2,000 tokens", r.Amount, err)
	}
	if err := second.Settle(t.Context(), r, ledger.Amount{Tokens: 7_000}); err != nil {
		t.Fatal(err)
	}
	// The next one may be as large, whatever it says of itself.
	_, err = second.reserveFurther(t.Context(), config.Target{Name: "coder"}, 1, 1)
	if _, short := errors.AsType[*Shortage](err); !short {
		t.Errorf("a request as large as the last one is answered by %v, want a shortage", err)
	}
}

// TestMostOf: what was counted as it was passed on is paid for, whatever an agent says.
func TestMostOf(t *testing.T) {
	said, counted := ledger.Amount{Calls: 1, Tokens: 2, USD: 3}, ledger.Amount{Tokens: 61_000, USD: 1}
	if got, want := mostOf(said, counted), (ledger.Amount{Calls: 1, Tokens: 61_000, USD: 3}); got != want {
		t.Errorf("the amount is %+v, want %+v", got, want)
	}
}
