// Package budget enforces what runs may spend, on cases and on their calls.
//
// [Budget.Admit] lets a case in with a claim of what the case is likely to take,
// so that a small budget finishes some cases instead of beginning all of them.
// Each of its calls is then paid with [Claim.Reserve] before it and
// [Claim.Settle] after it.
package budget

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/backoff"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// A Config says what a run may spend, and where that is counted.
type Config struct {
	Budget config.Budget
	// Repository and PullRequest name the accounts that several runs share in
	// the ledger; 0 means none.
	Repository  string
	PullRequest int
	// Run, where it is set, names a run that several processes judge: then its own
	// limits are counted in the ledger, too, and hold for all of them together.
	Run string
	// Now returns the time, which says what day it is. Defaults to time.Now.
	Now func() time.Time
}

// A Budget is what calls are paid from. Before a call the most that it may take
// is reserved, and afterwards what the call took replaces the reservation. A
// limit is passed only by a reply that is larger than any before it. Several
// runs may share a Budget, one after the other.
type Budget struct {
	cfg Config
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

// New returns a Budget from which nothing was spent yet in this run.
func New(cfg Config) *Budget {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Budget{cfg: cfg, largest: map[string]int64{}, changed: make(chan struct{})}
}

// Limited reports whether there is a limit at all.
func (b *Budget) Limited() bool {
	c, none := b.cfg.Budget, config.Limits{}
	return c.Limits != none || c.Day != none || c.PullRequest != none
}

// A Need is what a case is expected to take, before it has begun.
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
	budget *Budget
	lease  *ledger.Lease
	// likely is what was claimed; used is what was spent of it or is reserved,
	// and guarded by budget.mu.
	likely, used ledger.Amount
}

// Admit lets a case in whose lease is held, or says which limit is too small
// for it: the error is a [*Shortage], else ctx's or the ledger's. While other
// cases are in progress, here or in another process that shares an account, it
// waits for what they leave over. A case that is alone is let in where what is
// left may be enough, so that a guess that is too high does not keep it out for
// good. The caller must call Done.
func (b *Budget) Admit(ctx context.Context, lease *ledger.Lease, need Need) (*Claim, error) {
	c := &Claim{budget: b, lease: lease, likely: need.Likely}
	if !b.Limited() || need.Likely.Calls == 0 {
		return c, nil
	}
	err := b.until(ctx, func() (*Shortage, error) {
		short, err := b.admit(ctx, c, need.Peak)
		if err != nil || short == nil || short.waits {
			return short, err
		}
		return b.admit(ctx, c, need.Least)
	})
	return c, err
}

// admit lets a case in if what is left has peak in it.
func (b *Budget) admit(ctx context.Context, c *Claim, peak ledger.Amount) (*Shortage, error) {
	b.mu.Lock()
	short := exceeds(b.cfg.Budget.Limits, b.taken.Plus(b.ahead(c)), peak)
	waits := len(b.claims) > 0
	b.mu.Unlock()
	accounts := b.accounts()
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
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claims = append(b.claims, c)
	return nil, nil
}

// Done ends a case: what it did not take is left to the others. On the
// accounts that are shared the claim ends with the lease.
func (c *Claim) Done() {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.claims, c); i >= 0 {
		b.claims = slices.Delete(b.claims, i, i+1)
	}
	b.wake()
}

// wake has everybody look again who waits. The caller holds mu.
func (b *Budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// ahead is what the cases may still take that were let in before one. The
// caller holds mu.
func (b *Budget) ahead(c *Claim) ledger.Amount {
	var sum ledger.Amount
	for _, other := range b.claims {
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
	c.budget.taken = c.budget.taken.Plus(a)
}

// looks are the pauses before looking again whether another process has left
// something over.
var looks = backoff.Doubling{First: 10 * time.Millisecond, Most: 500 * time.Millisecond}

// until tries until it succeeds, for as long as what is short may still come
// free.
func (b *Budget) until(ctx context.Context, try func() (*Shortage, error)) error {
	for n := 0; ; n++ {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		b.spending.Lock()
		short, err := try()
		b.spending.Unlock()
		switch {
		case err != nil:
			return err
		case short == nil:
			return nil
		case !short.waits:
			return short
		}
		if err := short.await(ctx, changed, looks.Pause(n)); err != nil {
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
