// Package reconcile brings things, each named by a key, to their desired state, again
// whenever a hint suggests that one may have left it.
//
// Most callers create a [Loop], call [Loop.Add] for every hint and at every start for
// every key, and [Loop.Run] until the program ends. A hint only requests a look, so
// hints may be lost, repeated and reordered. At most one run of a key is in progress
// and one waiting.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
)

// A Stall is an error that retries cannot repair: only a new hint starts the key again.
type Stall struct{ Err error }

// Error returns the cause's text.
func (e *Stall) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Stall) Unwrap() error { return e.Err }

// A Wait is a temporary error, or a state that will be reached: the key is due again
// after that time. A nil Err is not a failure.
type Wait struct {
	Err   error
	After time.Duration
}

// Error returns the cause's text, or a description of the wait.
func (e *Wait) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("look again after %v", e.After)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Wait) Unwrap() error { return e.Err }

// ErrSuperseded is the cause of a run's context after a hint made the run stale.
var ErrSuperseded = errors.New("superseded")

// A Config configures a Loop.
type Config[K comparable] struct {
	// Reconcile brings one key to its state. Its error decides the next step: nil ends
	// the key, a [Stall] or [Wait] acts as documented, the context's own error does
	// nothing, and every other error causes a retry after a while.
	Reconcile func(ctx context.Context, key K) error
	// Stale is called when a hint arrives for a key whose run is in progress: true
	// cancels that run with the cause [ErrSuperseded]. The key runs again in either
	// case. Defaults to never.
	Stale func(ctx context.Context, key K) bool
	// Done is called after every run, and after a panic of Stale. Calls may
	// overlap. Defaults to nothing.
	Done func(key K, took time.Duration, err error)
	// Workers bounds the keys that run at once. Defaults to 4.
	Workers int
	// Background reports which keys yield to the others, and leave them half of the
	// workers if there are several. Defaults to none.
	Background func(key K) bool
	// First and Most bound the time before a retry, which doubles each time and has a
	// jitter of up to a half. Default to 1 s and 5 min.
	First, Most time.Duration
	// Random returns the jitter, in [0, 1). Defaults to [rand.Float64].
	Random func() float64
}

// A Loop is the set of due keys. It is safe for concurrent use.
type Loop[K comparable] struct {
	cfg  Config[K]
	wake chan struct{} // wakes the loop when a key becomes due

	mu sync.Mutex
	// The fields below are guarded by mu.
	due     []K // in order of arrival, each once
	items   map[K]*item
	timers  map[K]*time.Timer
	running int
	behind  int // number of running background keys
}

// An item is a key that is due, running or waiting for a retry.
type item struct {
	queued, running bool
	again           bool // a hint arrived while it was running
	asked           bool // Stale is being asked
	cancel          context.CancelCauseFunc
	tries           int
}

// New returns an empty Loop.
func New[K comparable](cfg Config[K]) *Loop[K] {
	if cfg.Stale == nil {
		cfg.Stale = func(context.Context, K) bool { return false }
	}
	if cfg.Done == nil {
		cfg.Done = func(K, time.Duration, error) {}
	}
	if cfg.Background == nil {
		cfg.Background = func(K) bool { return false }
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Workers == 0 {
		cfg.Workers = 4
	}
	if cfg.First == 0 {
		cfg.First = time.Second
	}
	if cfg.Most == 0 {
		cfg.Most = 5 * time.Minute
	}
	return &Loop[K]{cfg: cfg, wake: make(chan struct{}, 1), items: map[K]*item{}, timers: map[K]*time.Timer{}}
}

// Add makes a key due at once. A key that waits for a retry stops waiting; a running
// key runs once more.
func (l *Loop[K]) Add(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(key)
}

// AddIfIdle makes a key due at once unless it waits for a retry.
func (l *Loop[K]) AddIfIdle(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timers[key] == nil {
		l.add(key)
	}
}

func (l *Loop[K]) add(key K) {
	if t := l.timers[key]; t != nil {
		t.Stop()
		delete(l.timers, key)
	}
	it := l.items[key]
	if it == nil {
		it = &item{}
		l.items[key] = it
	}
	switch {
	case it.running:
		it.again, it.asked = true, false
	case !it.queued:
		it.queued = true
		l.due = append(l.due, key)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Depth returns the number of waiting and of running keys.
func (l *Loop[K]) Depth() (waiting, running int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.due), l.running
}

// Run works until ctx ends and returns when all its goroutines have ended. Keys that
// are then due are forgotten: every start finds the open work again.
func (l *Loop[K]) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer func() {
		l.stop()
		group.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
		}
		for {
			key, runCtx, ok := l.next(ctx)
			if !ok {
				break
			}
			group.Go(func() { l.work(runCtx, key) })
		}
		l.checkStale(ctx, &group)
	}
}

// stop ends the timers.
func (l *Loop[K]) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, t := range l.timers {
		t.Stop()
		delete(l.timers, key)
	}
}

// next takes the key that has been due longest, if a worker is free for it.
func (l *Loop[K]) next(ctx context.Context) (K, context.Context, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var none K
	i := l.first()
	if i < 0 || ctx.Err() != nil {
		return none, nil, false
	}
	key := l.due[i]
	l.due = slices.Delete(l.due, i, i+1)
	it := l.items[key]
	it.queued, it.running = false, true
	l.count(key, 1)
	ctx, it.cancel = context.WithCancelCause(ctx)
	return key, ctx, true
}

// first returns the index of the next key, or -1 if there is none or no worker for it.
func (l *Loop[K]) first() int {
	if l.running == l.cfg.Workers {
		return -1
	}
	i := slices.IndexFunc(l.due, func(key K) bool { return !l.cfg.Background(key) })
	if i < 0 && len(l.due) > 0 && l.behind < max(1, l.cfg.Workers/2) {
		return 0
	}
	return i
}

func (l *Loop[K]) count(key K, n int) {
	l.running += n
	if l.cfg.Background(key) {
		l.behind += n
	}
}

// checkStale asks for running keys with a hint whether their run is stale.
func (l *Loop[K]) checkStale(ctx context.Context, group *sync.WaitGroup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, it := range l.items {
		if !it.running || !it.again || it.asked {
			continue
		}
		it.asked = true
		cancel := it.cancel
		group.Go(func() {
			stale := false
			err := Recover(func() error { stale = l.cfg.Stale(ctx, key); return nil })
			switch {
			case err != nil:
				l.cfg.Done(key, 0, err)
			case stale:
				cancel(ErrSuperseded)
			}
		})
	}
}

// work runs a key once and schedules the next step.
func (l *Loop[K]) work(ctx context.Context, key K) {
	start := time.Now()
	err := Recover(func() error { return l.cfg.Reconcile(ctx, key) })
	superseded, ended := errors.Is(context.Cause(ctx), ErrSuperseded), ctx.Err() != nil
	l.cfg.Done(key, time.Since(start), err)
	l.mu.Lock()
	defer l.mu.Unlock()
	it := l.items[key]
	it.cancel(nil)
	it.running = false
	l.count(key, -1)
	var stall *Stall
	var wait *Wait
	switch {
	case it.again || superseded:
		it.again, it.tries = false, 0
		l.add(key)
	case err == nil || errors.As(err, &stall) || ended:
		delete(l.items, key)
	case errors.As(err, &wait):
		it.tries = 0
		l.later(key, wait.After)
	default:
		l.later(key, clock.Doubling{First: l.cfg.First, Most: l.cfg.Most}.Jittered(it.tries, l.cfg.Random))
		it.tries++
	}
	select {
	case l.wake <- struct{}{}: // a worker has become free
	default:
	}
}

// later makes the key due after a time.
func (l *Loop[K]) later(key K, after time.Duration) {
	l.timers[key] = time.AfterFunc(after, func() { l.Add(key) })
}

// Recover turns a panic into an error: one bad item must not end the others.
func Recover(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return do()
}
