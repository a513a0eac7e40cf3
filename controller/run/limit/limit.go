// Package limit keeps the calls to a target within its configured limits and its
// provider's requests, and stops calling a target that is down.
//
// A [Limiter] belongs to one target of one run: it enforces its concurrency and rates,
// and slows down when the provider throttles. A [Breaker] belongs to an endpoint,
// whichever run calls it.
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

// defaultConcurrency is the default number of calls to one target in flight.
const defaultConcurrency = 8

// Concurrency returns the maximum number of calls to a target in flight.
func Concurrency(t config.Target) int { return cmp.Or(t.Concurrency, defaultConcurrency) }

// A Limiter keeps the calls to one target within its concurrency and rates.
type Limiter struct {
	name    string
	clock   clock.Clock
	breaker *Breaker
	// Only the caller that has the turn takes a slot and waits for the provider; the
	// others wait for their turn.
	turn, slots *queue
	requests    *rate.Limiter // nil if unlimited
	tokens      *rate.Limiter // nil if unlimited
	// size and perMinute are the configured limits. pooled is nil if only this process
	// calls the target.
	size      int
	perMinute struct{ requests, tokens int }
	pooled    *pool

	mu sync.Mutex
	// The fields below are guarded by mu. held is the total time of holding calls back,
	// without the current wait, which began at since.
	pace  pace
	held  time.Duration
	since time.Time
}

// New returns the Limiter of a target whose endpoint has the given Breaker.
func New(t config.Target, b *Breaker, c clock.Clock) *Limiter {
	size := Concurrency(t)
	l := &Limiter{
		name: t.Name, clock: c, breaker: b, size: size,
		turn: newQueue(1), slots: newQueue(size), pace: pace{all: size, open: size},
		requests: perMinute(t.RequestsPerMinute),
		tokens:   perMinute(t.TokensPerMinute),
	}
	l.perMinute.requests, l.perMinute.tokens = t.RequestsPerMinute, t.TokensPerMinute
	return l
}

// perMinute allows bursts of a tenth of a minute's amount.
func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(n/10, 1))
}

// Size returns the number of calls that may be in flight.
func (l *Limiter) Size() int { return l.size }

// Down returns the reason why the target is not called now, or nil.
func (l *Limiter) Down() *Down { return l.named(l.breaker.refuses(l.clock.Now())) }

// named adds this target's name to a refusal.
func (l *Limiter) named(d *Down) *Down {
	if d == nil {
		return nil
	}
	return &Down{Target: l.name, Failures: d.Failures, Last: d.Last}
}

// A Caller is a case that wants to call the target.
type Caller struct {
	// Run is the same for the cases of a run. Runs take turns.
	Run any
	// Begun means that it has called before within its timeout. Such a caller comes
	// first, and the time of holding calls back counts.
	Begun bool
	// Left is the rest of its timeout.
	Left time.Duration
}

// A Late error means that a call was not sent because the necessary wait exceeds the
// rest of its timeout.
type Late struct{ Wait time.Duration }

// Error gives the necessary wait.
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

// Held returns the time that counts against the caller's timeout: its wait for the
// rates and the provider, not for other calls of the run.
func (p *Permit) Held() time.Duration { return p.held }

// Acquire waits for a slot and for the rates. The caller must call Done. The error is a
// *Down, a *Late, or ctx's.
func (l *Limiter) Acquire(ctx context.Context, c Caller) (*Permit, error) {
	before := l.heldBack()
	if err := l.turn.enter(ctx, c.Run, c.Begun); err != nil {
		return nil, err
	}
	defer l.turn.leave()
	if down := l.Down(); down != nil {
		return nil, down
	}
	l.requestShare()
	if err := l.slots.enter(ctx, nil, false); err != nil {
		return nil, err
	}
	p, err := l.admit(ctx, c, before)
	if err != nil {
		l.slots.leave()
		return nil, err
	}
	return p, nil
}

// admit waits until calls are no longer held back; before is the total hold at the
// start.
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

// next returns the provider's time for the next call.
func (l *Limiter) next() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pace.nextAt()
}

// hold holds all calls back for a while.
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

// heldBack returns the total time of holding calls back until now.
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

// A Kind classifies a call's outcome for the limiter.
type Kind int

const (
	// Other does not concern the target: the call was cancelled, or its request is
	// unacceptable.
	Other Kind = iota
	// Answered calls have a reply.
	Answered
	// Throttled calls came too early for the provider.
	Throttled
	// Failed calls have no reply, and later calls will fail, too, if the target is
	// down.
	Failed
)

// An Outcome is the outcome of a call.
type Outcome struct {
	Kind Kind
	// Tokens are the tokens of the call; they delay later calls.
	Tokens int64
	// After is the wait that the provider asks for, or 0.
	After time.Duration
	// Message describes the failure.
	Message string
}

// Done returns the slot.
func (p *Permit) Done(o Outcome) {
	l, now := p.limiter, p.limiter.clock.Now()
	l.owe(o.Tokens, now)
	l.mu.Lock()
	heard := l.pace.observe(p.call, o, now, l.clock.Random)
	l.pooled.count(o.Kind, heard)
	open := l.pace.open
	l.mu.Unlock()
	if o.Kind == Throttled && !heard {
		o.Kind = Other // an echo of an earlier refusal
	}
	l.breaker.leave(p.probe, o, now)
	l.slots.resize(open)
	l.slots.leave()
}

// owe adds tokens as a debt that later calls wait for, since a call's tokens are only
// known afterwards.
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
