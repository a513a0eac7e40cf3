package run

import (
	"context"
	"errors"
	"sync"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// costs are what a case costs, without what its samples do, and what it could
// not have.
type costs struct {
	mu sync.Mutex
	// The fields below are guarded by mu while the case makes calls. spent and made
	// are what calls cost that belong to no sample: made all of them, spent those
	// that were not in the journal.
	spent, made verdict.Usage
	// unrun says which budget, or which target that is down, refused a call.
	unrun string
	// givenUp counts the calls that were sent and have no reply.
	givenUp int
	// unrecorded is set where a reply that was to be recorded is not stored.
	unrecorded bool
}

// add counts calls that belong to no sample.
func (c *costs) add(spent, made verdict.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent, c.made = c.spent.Add(spent), c.made.Add(made)
}

// giveUp counts a call that was sent and has no reply.
func (c *costs) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp++
}

// missReply notes that a reply that was to be recorded is not stored.
func (c *costs) missReply() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unrecorded = true
}

// refused notes that the case, or a call of it, was not allowed.
func (c *costs) refused(err error) {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unrun = why
}

// budgetErr marks an error of the budget as a fault of the ledger unless it is a
// shortage or the end of ctx.
func budgetErr(ctx context.Context, err error) error {
	var short *budget.Shortage
	if err == nil || errors.As(err, &short) || ctx.Err() != nil {
		return err
	}
	return &evaluate.Fault{Err: err}
}
