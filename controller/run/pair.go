package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/ledger"
)

// A pair is one case at head and at base, judged by two runs at the same time. Its halves
// send their first calls one after the other, and a budget admits both of them or none.
type pair struct {
	need Need // of both
	// decided is closed once it is known whether the budget admits the pair, and met once
	// neither half waits for the other to arrive.
	decided, met chan struct{}

	mu sync.Mutex
	// The fields below are guarded by mu. alone means that one half is not judged. short is
	// the limit that is too small, and kept has room for the half that has not begun.
	isDecided, alone bool
	arrived          int
	short            *Shortage
	kept             *Claim
	// keeper is the claim of the half that asked for both. On shared accounts it has the
	// room of kept, too.
	keeper *Claim
}

// A Half is the half of a pair that a job judges.
type Half struct {
	pair *pair
	// after is the half that sends its first call before this one; nil for the first of all.
	after *Half
	// sent is closed once the first call was sent, or is known not to be sent next to the
	// other half.
	sent    chan struct{}
	once    sync.Once
	arrived atomic.Bool
	// wasAdmitted is guarded by pair.mu.
	wasAdmitted bool
}

// Pair pairs the jobs of the same cases at two sides, which two runs judge at the same time.
// head[i] and base[i] are the case i. The sides take turns at going first.
func Pair(head, base []Job) {
	var last *Half
	for i := range head {
		first, second := &head[i], &base[i]
		if i%2 == 1 {
			first, second = second, first
		}
		p := &pair{decided: make(chan struct{}), met: make(chan struct{}), need: first.Need.plus(second.Need)}
		for _, job := range []*Job{first, second} {
			job.Half = &Half{pair: p, after: last, sent: make(chan struct{})}
			last = job.Half
		}
	}
}

func (n Need) plus(other Need) Need {
	return Need{n.Likely.Plus(other.Likely), n.Peak.Plus(other.Peak), n.Least.Plus(other.Least)}
}

// isDecided is closed once the other half knows whether the budget admits both. It is nil
// for a job without one.
func (h *Half) isDecided() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.pair.decided
}

// admit admits a half, whose lease is held. The first half asks the budget for both.
func (h *Half) admit(ctx context.Context, b *Budget, lease *ledger.Lease, own Need) (*Claim, error) {
	if h == nil || !b.Limited() {
		return b.Admit(ctx, lease, own)
	}
	p := h.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.wasAdmitted && p.kept != nil { // it lost its lease, and with it the room of both
		p.kept.Done()
		p.kept, p.isDecided = nil, false
	}
	var c *Claim
	var err error
	switch {
	case p.short != nil:
		return nil, p.short
	case p.alone || h.wasAdmitted && p.isDecided:
		return b.Admit(ctx, lease, own)
	case p.isDecided:
		if c, err = b.join(ctx, p, lease, own); err == nil {
			p.kept, p.keeper = nil, nil
		}
	default:
		c, err = p.decide(ctx, b, lease, own)
	}
	h.wasAdmitted = h.wasAdmitted || err == nil
	return c, err
}

// decide asks the budget for both halves. The caller holds mu.
func (p *pair) decide(ctx context.Context, b *Budget, lease *ledger.Lease, own Need) (*Claim, error) {
	c, err := b.Admit(ctx, lease, p.need)
	var short *Shortage
	if err != nil && !errors.As(err, &short) {
		return nil, err // the other half asks for itself
	}
	if p.short = short; short == nil {
		p.kept, p.keeper = b.split(c, own), c
	}
	p.isDecided = true
	if !isClosed(p.decided) {
		close(p.decided)
	}
	return c, err
}

// orderly bounds the wait for the halves that go first, such as behind a case whose
// workspace takes long to set up.
const orderly = time.Second

// meet waits for the other half, for apart at most, and for its turn to send the first call.
// Later the two are not a pair any more.
func (h *Half) meet(ctx context.Context, c clock.Clock, apart time.Duration) {
	if h == nil || isClosed(h.sent) {
		return
	}
	p := h.pair
	if !h.arrived.Swap(true) { // several samples begin at the same time
		p.mu.Lock()
		if p.arrived++; p.arrived == 2 {
			p.part()
		}
		p.mu.Unlock()
	}
	await(ctx, c, p.met, apart)
	if h.after != nil {
		await(ctx, c, h.after.sent, orderly)
	}
}

// await waits for a channel to be closed, for a time at most.
func await(ctx context.Context, c clock.Clock, done <-chan struct{}, most time.Duration) {
	if isClosed(done) {
		return
	}
	select {
	case <-done:
	case <-c.After(most):
	case <-ctx.Done():
	}
}

// begin says that the first call was sent.
func (h *Half) begin() {
	if h != nil {
		h.once.Do(func() { close(h.sent) })
	}
}

// miss says that the half does not begin next to the other, or has ended.
func (h *Half) miss() {
	if h == nil {
		return
	}
	h.begin()
	h.pair.mu.Lock()
	defer h.pair.mu.Unlock()
	h.pair.part()
}

// part lets both halves go on. The caller holds mu.
func (p *pair) part() {
	if !isClosed(p.met) {
		close(p.met)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// leave ends a half that was not admitted, and gives its room back.
func (h *Half) leave() {
	if h == nil {
		return
	}
	p := h.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone = p.short == nil
	if p.kept != nil {
		p.kept.Done()
		p.kept, p.keeper = nil, nil
	}
}

// split leaves c what its own half needs, and returns a claim on the rest. On shared
// accounts c keeps the rest, too, until the other half joins.
func (b *Budget) split(c *Claim, own Need) *Claim {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := &Claim{budget: b, likely: c.likely.Rest(own.Likely), idle: true}
	c.likely, c.kept = own.Likely, rest
	b.claims = append(b.claims, rest)
	return rest
}

// join turns the claim that a pair kept for a half into the half's own. If the other half
// has ended, and its claim on shared accounts with it, the half asks for itself. The
// caller holds the mu of the pair.
func (b *Budget) join(ctx context.Context, p *pair, lease *ledger.Lease, own Need) (*Claim, error) {
	accounts := b.accounts()
	b.mu.Lock()
	isOver := !slices.Contains(b.claims, p.keeper)
	b.mu.Unlock()
	if len(accounts) > 0 && isOver {
		p.kept.Done()
		p.kept = nil
		return b.Admit(ctx, lease, own)
	}
	b.spending.Lock() // a call of the other half claims the same room
	defer b.spending.Unlock()
	if len(accounts) > 0 {
		if err := lease.Settle(ctx, accounts, ledger.Amount{}, own.Likely); err != nil {
			return nil, err
		}
	}
	c := &Claim{budget: b, lease: lease, likely: own.Likely}
	b.mu.Lock()
	if i := slices.Index(b.claims, p.kept); i >= 0 {
		b.claims[i] = c
	} else {
		b.claims = append(b.claims, c)
	}
	p.keeper.kept = nil
	left := p.keeper.rest()
	b.mu.Unlock()
	if len(accounts) > 0 {
		return c, p.keeper.lease.Settle(ctx, accounts, ledger.Amount{}, left)
	}
	return c, nil
}
