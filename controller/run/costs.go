package run

import (
	"context"
	"errors"
	"sync"

	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// costs are the costs of a case outside of its samples. The methods are safe for
// concurrent use; the fields are read and set while no call is in flight.
type costs struct {
	mu sync.Mutex // guards the fields while the case makes calls
	// Spent and Made are the costs of calls that belong to no sample: Made of all
	// calls, Spent of the ones that were not in the journal.
	Spent, Made verdict.Usage
	// Unrun names the budget, or the target that is down, that refused a call.
	Unrun string
	// GivenUp counts the sent calls without a reply.
	GivenUp int
	// Fault is the last call that ended with an error; zero if none did.
	Fault Fault
	// Unrecorded is set if a reply to record is not stored.
	Unrecorded bool
}

// Add adds calls that belong to no sample.
func (c *costs) Add(spent, made verdict.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Spent, c.Made = c.Spent.Add(spent), c.Made.Add(made)
}

// GiveUp counts a sent call without a reply.
func (c *costs) GiveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.GivenUp++
}

// Fail records a call that ended with an error.
func (c *costs) Fail(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Fault = f
}

// MissReply records that a reply to record is not stored.
func (c *costs) MissReply() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Unrecorded = true
}

// Refuse records that the case, or one of its calls, was refused; err is a [*Shortage]
// or a [*limit.Down].
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
