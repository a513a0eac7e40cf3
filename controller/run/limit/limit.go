// Package limit keeps the calls to a target within what its configuration
// allows and its provider asks for, and stops asking one that is down.
//
// A [Limiter] belongs to one target of one run: it has its concurrency and its
// rates, and slows down where the provider says that it is asked too often. A
// [Breaker] belongs to an endpoint, whichever run asks it.
package limit

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
)

// defaultConcurrency is how many calls to one target are in flight at once
// where its configuration says nothing.
const defaultConcurrency = 8

// A Limiter holds the calls to one target within its concurrency and rates.
type Limiter struct {
	name    string
	clock   clock.Clock
	breaker *Breaker
	// The caller that has the turn is the only one that takes a slot and waits
	// for the provider; the others wait for their turn.
	turn, slots *queue
	requests    *rate.Limiter // nil where unlimited
	tokens      *rate.Limiter // nil where unlimited
	// size and perMinute are what the configuration says. pooled is nil where this
	// process alone calls the target.
	size      int
	perMinute struct{ requests, tokens int }
	pooled    *pool

	mu sync.Mutex
	// The fields below are guarded by mu. held is how long calls were held back
	// in all but for since, which is when the current wait began.
	pace  pace
	held  time.Duration
	since time.Time
}

// New returns the Limiter of a target whose endpoint has the given Breaker.
func New(t config.Target, b *Breaker, c clock.Clock) *Limiter {
	size := cmp.Or(t.Concurrency, defaultConcurrency)
	l := &Limiter{
		name: t.Name, clock: c, breaker: b, size: size,
		turn: newQueue(1), slots: newQueue(size), pace: pace{all: size, open: size},
		requests: perMinute(t.RequestsPerMinute),
		tokens:   perMinute(t.TokensPerMinute),
	}
	l.perMinute.requests, l.perMinute.tokens = t.RequestsPerMinute, t.TokensPerMinute
	return l
}

// perMinute allows a tenth of a minute's amount at once.
func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(n/10, 1))
}

// Size is how many calls may be in flight at once.
func (l *Limiter) Size() int { return l.size }

// Down returns why the target is not asked now; nil where it is.
func (l *Limiter) Down() *Down { return l.named(l.breaker.refuses(l.clock.Now())) }

// named is a refusal in the words of this target.
func (l *Limiter) named(d *Down) *Down {
	if d == nil {
		return nil
	}
	return &Down{Target: l.name, Failures: d.Failures, Last: d.Last}
}

// A Caller is a case that wants to ask the target.
type Caller struct {
	// Begun means that it has asked before within its timeout. Such a caller
	// comes first, and the time for which calls are held back counts.
	Begun bool
	// Left is what is left of its timeout.
	Left time.Duration
}

// A Late error means that a call was not sent, since what has to be waited for
// it is more than what is left of its timeout.
type Late struct{ Wait time.Duration }

// Error says how long there was to wait.
func (l *Late) Error() string {
	return fmt.Sprintf("calls are held back for %s", l.Wait.Round(time.Millisecond))
}

// A Permit is the permission to make one call.
type Permit struct {
	limiter *Limiter
	call    int // its number
	probe   bool
	held    time.Duration
}

// Held is the time that counts against the timeout of the caller: how long it
// waited for the rates and the provider, not for other calls of the run.
func (p *Permit) Held() time.Duration { return p.held }

// Acquire waits for a place and for the rates. The caller must call Done. The
// error is a *Down, a *Late, or ctx's.
func (l *Limiter) Acquire(ctx context.Context, c Caller) (*Permit, error) {
	before := l.heldBack()
	if err := l.turn.enter(ctx, c.Begun); err != nil {
		return nil, err
	}
	defer l.turn.leave()
	if down := l.Down(); down != nil {
		return nil, down
	}
	l.requestShare()
	if err := l.slots.enter(ctx, false); err != nil {
		return nil, err
	}
	p, err := l.admit(ctx, c, before)
	if err != nil {
		l.slots.leave()
		return nil, err
	}
	return p, nil
}

// admit waits for what holds calls back, which began to count at before.
func (l *Limiter) admit(ctx context.Context, c Caller, before time.Duration) (*Permit, error) {
	wait := func(d time.Duration) error {
		if d <= 0 {
			return nil
		}
		if c.Begun && l.heldBack()-before+d >= c.Left {
			return &Late{d}
		}
		return l.hold(ctx, d)
	}
	for _, r := range []*rate.Limiter{l.requests, l.tokens} {
		if r == nil {
			continue
		}
		now := l.clock.Now()
		turn := r.ReserveN(now, 1)
		if err := wait(turn.DelayFrom(now)); err != nil {
			turn.CancelAt(now)
			return nil, err
		}
	}
	for {
		at, now := l.next(), l.clock.Now()
		if err := wait(at.Sub(now)); err != nil {
			return nil, err
		}
		if l.next().Equal(at) {
			break
		}
	}
	probe, down, err := l.breaker.enter(ctx, l.clock.Now)
	switch {
	case err != nil:
		return nil, err
	case down != nil:
		return nil, l.named(down)
	}
	p := &Permit{limiter: l, probe: probe}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.call = l.pace.send(l.clock.Now())
	if c.Begun {
		p.held = l.heldAt(l.clock.Now()) - before
	}
	return p, nil
}

// next is when the provider wants to be asked again.
func (l *Limiter) next() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pace.nextAt()
}

// hold keeps all calls back for a while.
func (l *Limiter) hold(ctx context.Context, d time.Duration) error {
	l.mu.Lock()
	l.since = l.clock.Now()
	l.mu.Unlock()
	err := l.clock.Sleep(ctx, d)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.since = l.heldAt(l.clock.Now()), time.Time{}
	return err
}

// heldBack is for how long calls were held back up to now.
func (l *Limiter) heldBack() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heldAt(l.clock.Now())
}

func (l *Limiter) heldAt(now time.Time) time.Duration {
	if l.since.IsZero() {
		return l.held
	}
	return l.held + now.Sub(l.since)
}

// A Kind is what became of a call, as far as it says something of its target.
type Kind int

const (
	// Other says nothing of the target: the call was given up, or its request
	// is not one that the target takes.
	Other Kind = iota
	// Answered calls have a reply.
	Answered
	// Throttled calls came too early for the provider.
	Throttled
	// Failed calls have none, as those after them, if the target is down.
	Failed
)

// An Outcome is what became of a call.
type Outcome struct {
	Kind Kind
	// Tokens are those that the call took; they delay the calls after it.
	Tokens int64
	// After is how long the provider asks to wait; 0 where it does not.
	After time.Duration
	// Message says what went wrong.
	Message string
}

// Done gives the place back.
func (p *Permit) Done(o Outcome) {
	l, now := p.limiter, p.limiter.clock.Now()
	l.owe(o.Tokens, now)
	l.mu.Lock()
	heard := l.pace.observe(p.call, o, now, l.clock.Random)
	l.pooled.count(o.Kind, heard)
	open := l.pace.open
	l.mu.Unlock()
	if o.Kind == Throttled && !heard {
		o.Kind = Other // an echo of what was heard before
	}
	l.breaker.leave(p.probe, o, now)
	l.slots.resize(open)
	l.slots.leave()
}

// owe takes tokens as a debt that later calls wait for, since how many a call
// takes is known only afterwards.
func (l *Limiter) owe(tokens int64, now time.Time) {
	if l.tokens == nil {
		return
	}
	for left := int(tokens); left > 0; {
		n := min(left, l.tokens.Burst())
		l.tokens.ReserveN(now, n)
		left -= n
	}
}
