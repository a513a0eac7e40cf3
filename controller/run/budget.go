package run

import (
	"fmt"
	"sync"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A purse holds what a run may spend.
type purse struct {
	limit config.Budget

	mu sync.Mutex
	// begun counts the calls that were sent, spent is what the answered ones
	// cost; both are guarded by mu.
	begun int64
	spent verdict.Usage
}

// take allows one more call, or says which limit is reached. Tokens and money
// are known only when a call is answered, so the calls under way may pass
// their limits; the number of calls never does.
func (p *purse) take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch l := p.limit; {
	case l.Calls != nil && p.begun >= *l.Calls:
		return fmt.Errorf("not run: the budget of %d calls is used up", *l.Calls)
	case l.Tokens != nil && p.spent.Tokens() >= *l.Tokens:
		return fmt.Errorf("not run: the budget of %d tokens is used up", *l.Tokens)
	case l.USD != nil && p.spent.CostUSD >= *l.USD:
		return fmt.Errorf("not run: the budget of %g USD is used up", *l.USD)
	}
	p.begun++
	return nil
}

// settle adds what a call cost.
func (p *purse) settle(u verdict.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = p.spent.Add(u)
}
