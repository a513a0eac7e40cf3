package forge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
)

// errWriteDropped means that a write was never sent: its caller's context ended while it
// waited for its turn.
var errWriteDropped = errors.New("dropped before its turn to be written")

type (
	writeKey    struct{}
	finishesKey struct{}
)

// WithWrite returns a context for writes of a priority. Without it, a write has the
// priority of a comment requested now.
func WithWrite(ctx context.Context, w PendingWrite) context.Context {
	return context.WithValue(ctx, writeKey{}, w)
}

// Finishing returns a context for reads and for writes that wait for their turn until
// ctx ends. A write already sent is still finished, unless sent ends: an interrupted
// write may be applied at any later time.
func Finishing(ctx, sent context.Context) context.Context {
	return context.WithValue(ctx, finishesKey{}, sent)
}

// writeFromContext returns the write that a context carries, see [WithWrite].
func writeFromContext(ctx context.Context, now time.Time) PendingWrite {
	write, ok := ctx.Value(writeKey{}).(PendingWrite)
	if !ok {
		write.Worth = WorthComment
	}
	if write.Pushed.IsZero() {
		write.Pushed = now
	}
	return write
}

// sending returns the context of a write once it is sent, see [Finishing].
func sending(ctx context.Context) context.Context {
	if sent, ok := ctx.Value(finishesKey{}).(context.Context); ok {
		return sent
	}
	return ctx
}

// Await notes that a head waits for its verdict, until end is called once. While many wait,
// no status that only announces a verdict is written.
func (c *Client) Await() (end func()) {
	c.transport.turns.await(1)
	return func() { c.transport.turns.await(-1) }
}

// writeTurns are granted one at a time, with the pause that the forge requires. They are
// safe for concurrent use.
type writeTurns struct {
	clock clock.Clock

	mu sync.Mutex
	// The fields below are guarded by mu.
	queue WriteQueue[chan struct{}] // waiting writes; closed when it is their turn
	taken bool
	free  time.Time // the earliest time of the next turn
}

// newWriteTurns returns turns by a clock. wait sleeps, or returns its context's error.
func newWriteTurns(c clock.Clock) *writeTurns {
	return &writeTurns{clock: c}
}

// Acquire waits for a turn, or until ctx ends; then the error is [errWriteDropped] and
// the context's. The holder of a turn returns it with [writeTurns.Release].
func (t *writeTurns) Acquire(ctx context.Context, write PendingWrite) error {
	for {
		mine := make(chan struct{})
		t.mu.Lock()
		t.queue.Add(write, mine)
		t.grant()
		t.mu.Unlock()
		select {
		case <-mine:
		case <-ctx.Done():
			t.leave(mine)
			return errors.Join(errWriteDropped, ctx.Err())
		}
		waited, err := t.distance(ctx)
		if err != nil {
			t.Release(0)
			return errors.Join(errWriteDropped, err)
		}
		if !waited || !t.passed(write) {
			return nil
		}
	}
}

// distance waits until the forge accepts the next write. Only the holder of the turn
// calls it.
func (t *writeTurns) distance(ctx context.Context) (waited bool, err error) {
	t.mu.Lock()
	gap := t.free.Sub(t.clock.Now())
	t.mu.Unlock()
	if gap <= 0 {
		return false, ctx.Err()
	}
	return true, t.clock.Sleep(ctx, gap)
}

// passed gives the turn back if a write with precedence has arrived meanwhile, or if the
// write is held back by now, and reports whether it did.
func (t *writeTurns) passed(write PendingWrite) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if _, first, ok := t.queue.First(now); !t.queue.Holds(write) && (!ok || !first.Before(write, now)) {
		return false
	}
	t.taken = false
	t.grant()
	return true
}

func (t *writeTurns) leave(mine chan struct{}) {
	t.mu.Lock()
	there := t.queue.Remove(mine)
	t.mu.Unlock()
	if !there { // it got the turn meanwhile
		t.Release(0)
	}
}

// Release ends the turn. The next one begins after the given time at the earliest.
func (t *writeTurns) Release(after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if next := t.clock.Now().Add(after); next.After(t.free) {
		t.free = next
	}
	t.taken = false
	t.grant()
}

// await adds n to the number of heads that wait for their verdicts.
func (t *writeTurns) await(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue.Await(n)
	t.grant()
}

// grant grants the turn, if it is free.
func (t *writeTurns) grant() {
	if t.taken {
		return
	}
	if first, _, ok := t.queue.First(t.clock.Now()); ok {
		t.queue.Remove(first)
		t.taken = true
		close(first)
	}
}
