package run

import (
	"context"
	"errors"
	"sync"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// costs are what a case costs, without what its samples do. The methods are safe for
// concurrent use; the fields are read and set while no call is in flight.
type costs struct {
	mu sync.Mutex // guards the fields while the case makes calls
	// Spent and Made are what calls cost that belong to no sample: Made all of them,
	// Spent those that were not in the journal.
	Spent, Made verdict.Usage
	// Unrun says which budget, or which target that is down, refused a call.
	Unrun string
	// GivenUp counts the calls that were sent and have no reply.
	GivenUp int
	// Unrecorded is set where a reply that was to be recorded is not stored.
	Unrecorded bool
}

// Add counts calls that belong to no sample.
func (c *costs) Add(spent, made verdict.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Spent, c.Made = c.Spent.Add(spent), c.Made.Add(made)
}

// GiveUp counts a call that was sent and has no reply.
func (c *costs) GiveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.GivenUp++
}

// MissReply notes that a reply that was to be recorded is not stored.
func (c *costs) MissReply() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Unrecorded = true
}

// Refuse notes that the case, or a call of it, was not allowed, where err is a
// [*Shortage] or a [*limit.Down].
func (c *costs) Refuse(err error) {
	var short *Shortage
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
	c.Unrun = why
}

// budgetError marks an error of the budget as a fault of the ledger unless it is a
// shortage or the end of ctx.
func budgetError(ctx context.Context, err error) error {
	var short *Shortage
	if err == nil || errors.As(err, &short) || ctx.Err() != nil {
		return err
	}
	return &evaluate.Fault{Err: err}
}
