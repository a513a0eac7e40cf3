package purse

import (
	"context"
	"encoding/json"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/target"
)

// usualOutput is taken for the most tokens that a reply has where its target
// sets no max_tokens and has not written more before.
const usualOutput = 4096

// A Slip is what was reserved for one call.
type Slip struct {
	// Amount is the most that the call may take.
	Amount   ledger.Amount
	accounts []ledger.Account
}

// Reserve allows one more call of the case, or says which limit it may pass:
// the error is a [*Shortage], else ctx's or the ledger's. While other calls are
// under way, or cases that were let in before, it waits for what they leave
// over. The caller must call Settle.
func (c *Claim) Reserve(ctx context.Context, t config.Target, req target.Request) (Slip, error) {
	var s Slip
	err := c.purse.until(ctx, func() (*Shortage, error) {
		var short *Shortage
		var err error
		s, short, err = c.reserve(ctx, t, req)
		return short, err
	})
	return s, err
}

func (c *Claim) reserve(ctx context.Context, t config.Target, req target.Request) (Slip, *Shortage, error) {
	p := c.purse
	p.mu.Lock()
	s := Slip{amount(t, int64(bytesOf(req)), p.largest[t.Name]), p.accounts()}
	ahead := p.ahead(c)
	short := exceeds(p.means.Budget.Limits, p.taken.Plus(ahead), s.Amount)
	underway := p.underway > 0
	rest := c.likely.Rest(c.used.Plus(s.Amount))
	p.mu.Unlock()
	if short == nil && len(s.accounts) > 0 {
		on, err := c.lease.Reserve(ctx, s.accounts, s.Amount, rest)
		if err != nil {
			return s, nil, err
		}
		short = shared(s.accounts, on, s.Amount)
	}
	if short != nil {
		// A call that ends leaves tokens and money over, but no call.
		short.who = "call may take"
		short.waits = short.elsewhere || ahead != ledger.Amount{} || underway && short.unit != "calls"
		return s, short, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.take(s.Amount)
	p.underway++
	return s, nil, nil
}

// Settle puts what a call to a target took in the place of what was reserved
// for it.
func (c *Claim) Settle(ctx context.Context, s Slip, name string, spent ledger.Amount) error {
	p, more := c.purse, spent.Less(s.Amount)
	p.mu.Lock()
	p.largest[name] = max(p.largest[name], spent.Tokens)
	c.take(more)
	rest := c.rest()
	p.underway--
	p.wake()
	p.mu.Unlock()
	if len(s.accounts) == 0 {
		return nil
	}
	return c.lease.Settle(context.WithoutCancel(ctx), s.accounts, more, rest)
}

// Most is the most that a call of so many bytes may take: a token has at least
// a byte, and a reply is no longer than the target allows.
func Most(t config.Target, bytes int64) ledger.Amount { return amount(t, bytes, 0) }

// amount is Most of a target whose largest call so far took so many tokens.
func amount(t config.Target, in, largest int64) ledger.Amount {
	a := ledger.Amount{Calls: 1}
	if t.Provider == config.Replay || t.Provider == config.Mock {
		return a
	}
	out := int64(usualOutput)
	for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		if json.Unmarshal(t.Parameters[name], &out) == nil {
			break
		}
	}
	a.Tokens = max(in+out, largest)
	if t.Price != nil {
		a.USD = t.Price.Cost(in, max(out, a.Tokens-in))
	}
	return a
}

// bytesOf is how much a request says, with some for the frame of each message.
func bytesOf(req target.Request) int {
	raw, err := json.Marshal(struct {
		System, Messages, Tools, Format any
	}{req.System, req.Messages, req.Tools, req.Format})
	if err != nil {
		return 0 // such a request is refused by its target
	}
	return len(raw)
}
