package budget

import (
	"errors"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// Cost is what a call to a target took that was sent, in the money that budgets count. An unknown part of a failed call
// counts as the most that it may have taken; a call that a provider refuses
// takes nothing else.
func Cost(reserved ledger.Amount, t config.Target, u verdict.Usage, err error) ledger.Amount {
	var fault *target.Error
	switch {
	case err == nil:
		return ledger.Amount{Calls: 1, Tokens: u.Tokens(), USD: Priced(u, counted(t)).CostUSD}
	case errors.As(err, &fault) && fault.Status != 0:
		return ledger.Amount{Calls: 1}
	}
	return reserved
}

// counted is the price that budgets count; nil where none is known.
func counted(t config.Target) *config.Price {
	if t.Ceiling != nil {
		return t.Ceiling
	}
	return t.Price
}

// Priced is a usage with what it costs: what the target said, where it said so of all calls or
// its price is not known.
func Priced(u verdict.Usage, price *config.Price) verdict.Usage {
	u.CostUSD, u.Unpriced = u.ToldUSD, u.Calls-u.Told
	if isTold := u.Told > 0 && u.Told == u.Calls; price != nil && !isTold {
		u.CostUSD, u.Unpriced = price.Cost(u.InputTokens, u.OutputTokens), 0
	}
	return u
}

// PricedTurns are the turns of a conversation with what each costs.
func PricedTurns(turns []verdict.Turn, price *config.Price) []verdict.Turn {
	turns = slices.Clone(turns)
	for i := range turns {
		turns[i].Usage = Priced(turns[i].Usage, price)
	}
	return turns
}
