package run

import (
	"context"
	"errors"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// paid tells a fault of the ledger in what the budget says.
func paid(ctx context.Context, err error) error {
	var short *budget.Shortage
	if err == nil || errors.As(err, &short) || ctx.Err() != nil {
		return err
	}
	return &storeError{err}
}

// took is what a call took that was begun. What is not known of one that
// failed counts as the most that it may have taken; a provider that refuses
// takes nothing but the call.
func took(reserved ledger.Amount, u verdict.Usage, err error) ledger.Amount {
	var fault *target.Error
	switch {
	case err == nil:
		return ledger.Amount{Calls: 1, Tokens: u.Tokens(), USD: u.CostUSD}
	case errors.As(err, &fault) && fault.Status != 0:
		return ledger.Amount{Calls: 1}
	}
	return reserved
}

// atPrice is a usage with what it costs.
func atPrice(u verdict.Usage, price *config.Price) verdict.Usage {
	u.CostUSD, u.Unpriced = 0, u.Calls
	if price != nil {
		u.CostUSD, u.Unpriced = price.Cost(u.InputTokens, u.OutputTokens), 0
	}
	return u
}

// refused notes that the job, or a call of it, was not allowed.
func (w *work) refused(err error) {
	var short *budget.Shortage
	var down *limit.Down
	why := ""
	switch {
	case errors.As(err, &short):
		why = short.Summary()
	case errors.As(err, &down):
		why = down.Error()
	default:
		return
	}
	w.counting.Lock()
	defer w.counting.Unlock()
	w.unrun = why
}
