package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// A BudgetConfig sets the limits of a run and the accounts that count its spending.
type BudgetConfig struct {
	Budget config.Budget
	// Repository and PullRequest name the accounts that several runs share in
	// the ledger; 0 means none.
	Repository  string
	PullRequest int
	// Run, if set, names a run that several processes judge. The ledger then counts
	// its own limits, too, for all processes together.
	Run string
	// Now returns the time, which decides the day of the daily limits. Defaults to
	// time.Now.
	Now func() time.Time
}

// A Budget pays for calls. [Budget.Admit] admits a case with a claim of its likely
// cost, so that a small budget finishes some cases instead of beginning all of them.
// [Claim.Reserve] reserves the maximum cost of a call, and [Claim.Settle] replaces the
// reservation by the actual cost. Only a reply that is larger than any before it
// exceeds a limit. Several runs may share a Budget, one after the other.
type Budget struct {
	cfg BudgetConfig
	// spending serialises looking at the rest and taking from it.
	spending sync.Mutex

	mu sync.Mutex
	// taken is the amount spent or reserved. underway counts the calls that are not
	// settled. claims holds the claims of running cases in the order of admission, and
	// largest the tokens of the largest reply by target. changed is closed when a call
	// is settled or a case ends. All are guarded by mu.
	taken    ledger.Amount
	underway int
	claims   []*Claim
	largest  map[string]int64
	changed  chan struct{}
}

// NewBudget returns a Budget for a run that has not spent anything.
func NewBudget(cfg BudgetConfig) *Budget {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Budget{cfg: cfg, largest: map[string]int64{}, changed: make(chan struct{})}
}

// Limited reports whether the budget has any limit.
func (b *Budget) Limited() bool {
	c, none := b.cfg.Budget, config.Limits{}
	return c.Limits != none || c.Day != none || c.PullRequest != none
}

// A Need is the expected cost of a case before it begins.
type Need struct {
	// Likely is the total expected cost.
	Likely ledger.Amount
	// Peak is Likely plus the excess of its largest call over its share. So much must
	// be left for the last call to be allowed.
	Peak ledger.Amount
	// Least is the Peak of the shortest conversation. It differs from Peak if the length
	// is a guess.
	Least ledger.Amount
}

// A Claim is the remaining likely cost of an admitted case. The calls of cases admitted
// later do not use it.
type Claim struct {
	budget *Budget
	lease  *ledger.Lease
	// likely is the claimed amount, and used the part that is spent or reserved. used
	// is guarded by budget.mu.
	likely, used ledger.Amount
	// idle marks a claim of a case that has not begun: nobody waits for it to end.
	idle bool
	// kept is the claim of the other half of a pair, which has not begun; nil without
	// one. Shared accounts know it as a part of this claim. It is guarded by budget.mu.
	kept *Claim
}

// Admit admits a case whose lease is held, or returns a [*Shortage] with the limit that
// is too small for it; other errors are ctx's or the ledger's. While other cases are in
// progress, here or in another process that shares an account, it waits for their
// leftovers. A case that is alone is admitted if the rest may be enough, so that a high
// guess does not exclude it forever. The caller must call Done.
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

// admit admits a case if peak is left.
func (b *Budget) admit(ctx context.Context, c *Claim, peak ledger.Amount) (*Shortage, error) {
	b.mu.Lock()
	short := exceeds(b.cfg.Budget.Limits, b.taken.Plus(b.ahead(c)), peak)
	waits := slices.ContainsFunc(b.claims, func(c *Claim) bool { return !c.idle })
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

// Done ends a case and leaves the rest of its claim to the others. On shared accounts
// the claim ends with the lease.
func (c *Claim) Done() {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.claims, c); i >= 0 {
		b.claims = slices.Delete(b.claims, i, i+1)
	}
	for _, other := range b.claims {
		if other.kept == c {
			other.kept = nil
		}
	}
	b.wake()
}

// wake makes all waiting cases and calls look again. The caller holds mu.
func (b *Budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// ahead returns the remaining claims of the cases admitted before c. The caller holds
// mu.
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

// rest returns the remaining likely cost of the case. The caller holds mu.
func (c *Claim) rest() ledger.Amount { return c.likely.Rest(c.used) }

// known returns what shared accounts know as the claim after so much is used: that of the
// case, and of the other half of its pair. The caller holds mu.
func (c *Claim) known(used ledger.Amount) ledger.Amount {
	rest := c.likely.Rest(used)
	if c.kept != nil {
		rest = rest.Plus(c.kept.rest())
	}
	return rest
}

// take adds an amount, which may be negative, to the case's spending. The caller holds
// mu.
func (c *Claim) take(a ledger.Amount) {
	c.used = c.used.Plus(a)
	c.budget.taken = c.budget.taken.Plus(a)
}

// budgetLooks are the pauses between checks for leftovers of another process.
var budgetLooks = clock.Doubling{First: 10 * time.Millisecond, Most: 500 * time.Millisecond}

// until repeats try until it succeeds or no more budget can become free.
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
		if err := short.await(ctx, changed, budgetLooks.Pause(n)); err != nil {
			return err
		}
	}
}

// await returns when another try is worthwhile.
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
