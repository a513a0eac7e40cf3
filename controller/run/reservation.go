package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// usualOutput bounds the tokens of a reply if the target sets no max_tokens and has
// not written more before.
const usualOutput = 4096

// A Reservation is the amount reserved for one call.
type Reservation struct {
	// Amount is the maximum cost of the call.
	Amount   ledger.Amount
	accounts []ledger.Account
	// target names what is counted, so that the largest one is known; empty for nothing.
	target string
	// part means that it belongs to a call that has its reservation, and holds a permit: it
	// waits for nothing that may need that permit.
	part bool
	// slow means that nothing of it becomes free before further reservations, which it
	// may need itself.
	slow bool
}

// Reserve allows one more call of the case, or returns a [*Shortage] with the limit
// that the call may pass; other errors are ctx's or the ledger's. While other calls or
// cases that were admitted before are running, it waits for their leftovers. The caller
// must call Settle.
//
// A call during which requests are passed on is paid for with each of them.
func (c *Claim) Reserve(ctx context.Context, t config.Target, req target.Request) (Reservation, error) {
	if t.PassesOn() {
		return c.reserve(ctx, Reservation{Amount: ledger.Amount{Calls: 1}, slow: true})
	}
	c.budget.mu.Lock()
	largest := c.budget.largest[t.Name]
	c.budget.mu.Unlock()
	return c.reserve(ctx, Reservation{Amount: upperBound(t, int64(bytesOf(req)), largest, req.Room), target: t.Name})
}

// reserveFurther is Reserve for a request that is a part of a call, of so many bytes and with
// at most out tokens in its reply, or 0.
func (c *Claim) reserveFurther(ctx context.Context, t config.Target, in, out int64) (Reservation, error) {
	if out == 0 {
		out = usualOutput
	}
	// Requests of a target are larger than what they say of themselves, if they do not say it.
	r := Reservation{target: t.Name + " request", part: true}
	c.budget.mu.Lock()
	r.Amount.Tokens = max(in+out, c.budget.largest[r.target])
	c.budget.mu.Unlock()
	if price := counted(t); price != nil {
		r.Amount.USD = price.Cost(in, r.Amount.Tokens-in)
	}
	return c.reserve(ctx, r)
}

func (c *Claim) reserve(ctx context.Context, r Reservation) (Reservation, error) {
	err := c.budget.until(ctx, func() (short *Shortage, err error) {
		r, short, err = c.tryReserve(ctx, r)
		return short, err
	})
	return r, err
}

func (c *Claim) tryReserve(ctx context.Context, r Reservation) (Reservation, *Shortage, error) {
	b := c.budget
	b.mu.Lock()
	r.accounts = b.accounts()
	ahead := ledger.Amount{}
	if !r.part {
		ahead = b.ahead(c)
	}
	short := exceeds(b.cfg.Budget.Limits, b.taken.Plus(ahead), r.Amount)
	underway := b.underway > 0
	rest := c.known(c.used.Plus(r.Amount))
	if short == nil && len(r.accounts) == 0 { // before another call checks the rest
		c.begin(r)
		b.mu.Unlock()
		return r, nil, nil
	}
	b.mu.Unlock()
	if short == nil && len(r.accounts) > 0 {
		on, err := c.lease.Reserve(ctx, r.accounts, r.Amount, rest)
		if err != nil {
			return r, nil, err
		}
		short = shared(r.accounts, on, r.Amount)
	}
	if short != nil {
		// A finished call frees tokens and money, but no call.
		short.who = "call may take"
		short.waits = short.elsewhere || ahead != ledger.Amount{} || underway && short.unit != "calls"
		return r, short, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.begin(r)
	return r, nil, nil
}

// begin counts a reservation. The caller holds the budget's mu.
func (c *Claim) begin(r Reservation) {
	c.take(r.Amount)
	if !r.slow {
		c.budget.underway++
	}
}

// Settle replaces a reservation by the actual cost. The error is the ledger's.
func (c *Claim) Settle(ctx context.Context, r Reservation, spent ledger.Amount) error {
	b, more := c.budget, spent.Less(r.Amount)
	b.mu.Lock()
	if r.target != "" {
		b.largest[r.target] = max(b.largest[r.target], spent.Tokens)
	}
	c.take(more)
	rest := c.known(c.used)
	if !r.slow {
		b.underway--
	}
	b.wake()
	b.mu.Unlock()
	if len(r.accounts) == 0 {
		return nil
	}
	return c.lease.Settle(context.WithoutCancel(ctx), r.accounts, more, rest)
}

// UpperBound returns the maximum cost of a call of so many bytes: a token has at least
// a byte, and a reply is not longer than the target allows.
func UpperBound(t config.Target, bytes int64) ledger.Amount { return upperBound(t, bytes, 0, 0) }

// upperBound is UpperBound for a target with a known largest call, and for a request with
// [target.Request.Room].
func upperBound(t config.Target, in, largest int64, room int) ledger.Amount {
	a := ledger.Amount{Calls: 1}
	if t.Provider == config.Replay || t.Provider == config.Mock {
		return a
	}
	out := int64(usualOutput)
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		if limit, set := t.Parameters[name]; set && json.Unmarshal(limit, &out) == nil {
			break
		}
	}
	out <<= room
	a.Tokens = max(in+out, largest)
	if price := counted(t); price != nil {
		a.USD = price.Cost(in, max(out, a.Tokens-in))
	}
	return a
}

// bytesOf returns the size of a request, including each message's frame.
func bytesOf(req target.Request) int {
	raw, err := json.Marshal(struct {
		System   string
		Messages []schema.Message
		Tools    []schema.Tool
		Format   *target.Format
	}{req.System, req.Messages, req.Tools, req.Format})
	if err != nil {
		return 0 // its target refuses such a request
	}
	return len(raw)
}

// callCost returns the cost of a sent call at the budget's price. The unknown part of a
// failed call counts at its upper bound. A call that a provider refuses counts as a
// call without tokens.
func callCost(reserved ledger.Amount, t config.Target, u verdict.Usage, err error) ledger.Amount {
	var fault *target.Error
	switch {
	case err == nil || u.Tokens() > 0:
		return ledger.Amount{Calls: 1, Tokens: u.Tokens(), USD: priced(u, counted(t)).CostUSD}
	case errors.As(err, &fault) && fault.Status != 0:
		return ledger.Amount{Calls: 1}
	}
	return reserved
}

// counted returns the price for budgets, or nil if none is known.
func counted(t config.Target) *config.Price {
	if t.Ceiling != nil {
		return t.Ceiling
	}
	return t.Price
}

// priced adds the cost in USD to a usage. A cost reported by the target counts if it
// covers all calls or if there is no known price.
func priced(u verdict.Usage, price *config.Price) verdict.Usage {
	u.CostUSD, u.Unpriced = u.ToldUSD, u.Calls-u.Told
	if isTold := u.Told > 0 && u.Told == u.Calls; price != nil && !isTold {
		u.CostUSD, u.Unpriced = price.Cost(u.InputTokens, u.OutputTokens), 0
		if *price == (config.Price{}) {
			u.Told = u.Calls // it is free, however many tokens it takes
		}
	}
	return u
}

// EffortCost returns the cost of an effort in USD, at a price where the agent did not report
// it; nil if that is unknown.
func EffortCost(e *verdict.Effort, price *config.Price) *float64 {
	if e == nil {
		return nil
	}
	return priced(e.Usage(), price).Cost()
}

// pricedTurns returns the turns of a conversation, each with its cost.
func pricedTurns(turns []verdict.Turn, price *config.Price) []verdict.Turn {
	turns = slices.Clone(turns)
	for i := range turns {
		turns[i].Usage = priced(turns[i].Usage, price)
	}
	return turns
}
