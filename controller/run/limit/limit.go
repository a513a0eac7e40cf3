// Package limit keeps the calls to a target within what its configuration
// allows and its provider asks for.
package limit

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gavel-evals/gavel/controller/config"
)

// defaultConcurrency is how many calls to one target are under way at once
// where its configuration says nothing.
const defaultConcurrency = 8

// A Limiter holds the calls to one target within its concurrency and rates.
type Limiter struct {
	slots    chan struct{}
	requests *rate.Limiter // nil where unlimited
	tokens   *rate.Limiter // nil where unlimited

	mu sync.Mutex
	// until is when the provider wants to be asked again; guarded by mu.
	until time.Time
}

// New gives the Limiter of a target.
func New(t config.Target) *Limiter {
	return &Limiter{
		slots:    make(chan struct{}, cmp.Or(t.Concurrency, defaultConcurrency)),
		requests: perMinute(t.RequestsPerMinute),
		tokens:   perMinute(t.TokensPerMinute),
	}
}

// perMinute allows a tenth of a minute's amount at once.
func perMinute(n int) *rate.Limiter {
	if n == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(n/10, 1))
}

// Size is how many calls may be under way at once.
func (l *Limiter) Size() int { return cap(l.slots) }

// Pause keeps all calls back until the given time.
func (l *Limiter) Pause(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.until) {
		l.until = until
	}
}

// Acquire waits for a place and for the rates. The caller must call release
// with the tokens that the call took; they delay the calls after it.
func (l *Limiter) Acquire(ctx context.Context, sleep func(context.Context, time.Duration) error) (release func(tokens int64), err error) {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := l.wait(ctx, sleep); err != nil {
		<-l.slots
		return nil, err
	}
	return func(tokens int64) {
		l.owe(int(tokens))
		<-l.slots
	}, nil
}

// owe takes tokens as a debt that later calls wait for, since how many a call
// takes is known only afterwards.
func (l *Limiter) owe(tokens int) {
	if l.tokens == nil {
		return
	}
	now := time.Now()
	for tokens > 0 {
		n := min(tokens, l.tokens.Burst())
		l.tokens.ReserveN(now, n)
		tokens -= n
	}
}

func (l *Limiter) wait(ctx context.Context, sleep func(context.Context, time.Duration) error) error {
	l.mu.Lock()
	until := l.until
	l.mu.Unlock()
	if d := time.Until(until); d > 0 {
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
	for _, r := range []*rate.Limiter{l.requests, l.tokens} {
		if r == nil {
			continue
		}
		if err := r.Wait(ctx); err != nil {
			return err
		}
	}
	// A place may come free in the moment in which the call is given up.
	return ctx.Err()
}
