// Package purse holds what runs may spend, and lets cases and calls have it
// only as far as it suffices.
//
// A case is let in by [Purse.Admit] with a claim of what it is likely to take,
// so that a small budget finishes some cases rather than beginning all. Each of
// its calls is then paid with [Claim.Reserve] before it and [Claim.Settle]
// after it.
package purse

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// Means say what a run may spend, and where that is counted.
type Means struct {
	Budget config.Budget
	// Repository and PullRequest name the accounts that several runs share in
	// the ledger; 0 is no pull request.
	Repository  string
	PullRequest int
	// Now tells which day it is. Defaults to time.Now.
	Now func() time.Time
}

// A Purse is what calls are paid from. Before a call the most that it may take
// is reserved, and afterwards what it took is put in the place of that, so that
// no limit is passed but by a reply that is larger than any before. Several
// runs may share a Purse, one after the other.
type Purse struct {
	means Means
	// spending lets one at a time see what is left and take of it.
	spending sync.Mutex

	mu sync.Mutex
	// taken holds what was spent or is reserved, underway how many calls have
	// not been settled, claims those of the cases that were let in and have not
	// ended, in that order, and largest the most tokens of a reply by target.
	// changed is closed when a call is settled or a case ends. All are guarded
	// by mu.
	taken    ledger.Amount
	underway int
	claims   []*Claim
	largest  map[string]int64
	changed  chan struct{}
}

// New opens a purse that nothing was spent from in this run.
func New(m Means) *Purse {
	if m.Now == nil {
		m.Now = time.Now
	}
	return &Purse{means: m, largest: map[string]int64{}, changed: make(chan struct{})}
}

// Limited reports whether there is a limit at all.
func (p *Purse) Limited() bool {
	b := p.means.Budget
	return b.Limits != (config.Limits{}) || b.Day != (config.Limits{}) || b.PullRequest != (config.Limits{})
}

// Need is what a case takes as far as can be told before.
type Need struct {
	// Likely is what it is expected to take in all.
	Likely ledger.Amount
	// Peak is Likely with what the largest of its calls may take above that: so
	// much has to be there for its last call to be allowed.
	Peak ledger.Amount
	// Least is the Peak of a case that goes as short as it may. It differs
	// where the length of a conversation is a guess.
	Least ledger.Amount
}

// A Claim is what a case that was let in is likely to take still. The calls of
// cases that were let in later leave it alone.
type Claim struct {
	purse *Purse
	lease *ledger.Lease
	// likely is what was claimed; used is what was spent of it or is reserved,
	// and guarded by purse.mu.
	likely, used ledger.Amount
}

// Admit lets a case in whose lease is held, or says which limit is too small
// for it: the error is a [*Shortage], else ctx's or the ledger's. While other
// cases are under way, here or in another process that shares an account, it
// waits for what they leave over. A case that is alone is let in where what is
// left may suffice, so that a guess that is too high does not keep it out for
// good. The caller must call Done.
func (p *Purse) Admit(ctx context.Context, lease *ledger.Lease, need Need) (*Claim, error) {
	c := &Claim{purse: p, lease: lease, likely: need.Likely}
	if !p.Limited() || need.Likely.Calls == 0 {
		return c, nil
	}
	err := p.until(ctx, func() (*Shortage, error) {
		short, err := p.admit(ctx, c, need.Peak)
		if err != nil || short == nil || short.waits {
			return short, err
		}
		return p.admit(ctx, c, need.Least)
	})
	return c, err
}

// admit lets a case in if what is left has peak in it.
func (p *Purse) admit(ctx context.Context, c *Claim, peak ledger.Amount) (*Shortage, error) {
	p.mu.Lock()
	short := exceeds(p.means.Budget.Limits, p.taken.Plus(p.ahead(c)), peak)
	waits := len(p.claims) > 0
	p.mu.Unlock()
	accounts := p.accounts()
	if short == nil && len(accounts) > 0 {
		on, err := c.lease.Claim(ctx, accounts, c.likely, peak)
		if err != nil {
			return nil, err
		}
		short = shared(accounts, on, peak)
	}
	if short != nil {
		short.who, short.waits = "case takes at least", short.elsewhere || waits
		return short, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = append(p.claims, c)
	return nil, nil
}

// Done ends a case: what it did not take is left to the others. On the
// accounts that are shared the claim ends with the lease.
func (c *Claim) Done() {
	p := c.purse
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.claims, c); i >= 0 {
		p.claims = slices.Delete(p.claims, i, i+1)
	}
	p.wake()
}

// wake has everybody look again who waits. The caller holds mu.
func (p *Purse) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// ahead is what the cases may still take that were let in before one. The
// caller holds mu.
func (p *Purse) ahead(c *Claim) ledger.Amount {
	var sum ledger.Amount
	for _, other := range p.claims {
		if other == c {
			break
		}
		sum = sum.Plus(other.rest())
	}
	return sum
}

// rest is what the case is likely to take still. The caller holds mu.
func (c *Claim) rest() ledger.Amount { return c.likely.Rest(c.used) }

// take counts an amount, which may be below 0, as taken by the case. The caller
// holds mu.
func (c *Claim) take(a ledger.Amount) {
	c.used = c.used.Plus(a)
	c.purse.taken = c.purse.taken.Plus(a)
}

const (
	// firstLook and lastLook are the pauses between two looks whether another
	// process has left something over.
	firstLook = 10 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// until tries until it succeeds, for as long as what is short may still come
// free.
func (p *Purse) until(ctx context.Context, try func() (*Shortage, error)) error {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		p.spending.Lock()
		short, err := try()
		p.spending.Unlock()
		switch {
		case err != nil:
			return err
		case short == nil:
			return nil
		case !short.waits:
			return short
		}
		if err := short.await(ctx, changed, pause); err != nil {
			return err
		}
	}
}

// await returns when it is worth to look again.
func (s *Shortage) await(ctx context.Context, changed <-chan struct{}, pause time.Duration) error {
	var look <-chan time.Time
	if s.elsewhere {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		look = timer.C
	}
	select {
	case <-changed:
		return nil
	case <-look:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
