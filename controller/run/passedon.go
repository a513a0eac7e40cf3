package run

import (
	"context"
	"errors"
	"sync"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// passedOn pays for the requests that a coding agent has passed on during a call: each needs
// its budget before it is sent.
type passedOn struct {
	claim  *Claim
	costs  *costs
	target config.Target
	// timeout is the call's, which waits for budget do not use up.
	timeout *timeout

	mu    sync.Mutex
	spent ledger.Amount // guarded by mu
	err   error         // of the ledger; guarded by mu
}

// pay reserves the most that a request may cost, and returns a function that replaces it by
// what it did.
func (p *passedOn) pay(ctx context.Context, in, out int64) (target.Paid, error) {
	p.timeout.pause()
	reserved, err := p.claim.reserveFurther(ctx, p.target, in, out)
	p.timeout.resume()
	if err != nil {
		p.costs.Refuse(err)
		return nil, budgetError(ctx, err)
	}
	return func(u verdict.Usage, known bool) {
		amount := reserved.Amount
		if known {
			amount = ledger.Amount{Tokens: u.Tokens(), USD: priced(u, counted(p.target)).CostUSD}
		}
		err := p.claim.Settle(ctx, reserved, amount)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.spent, p.err = p.spent.Plus(amount), errors.Join(p.err, err)
	}, nil
}

// total returns what the requests have cost, and the error of the ledger.
func (p *passedOn) total() (ledger.Amount, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent, p.err
}
