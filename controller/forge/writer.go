package forge

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/priority"
)

// writeGap is GitHub's rule for clients that write: one at a time, at least a
// second between two.
const writeGap = time.Second

// ErrDropped means that a write was never sent: the context of its caller ended
// while it waited for its turn.
var ErrDropped = errors.New("dropped before its turn to be written")

type (
	worthKey    struct{}
	finishesKey struct{}
)

// Prioritized gives a context for writes of that worth. Without it a write has
// that of a comment which was asked for now.
func Prioritized(ctx context.Context, w priority.Write) context.Context {
	return context.WithValue(ctx, worthKey{}, w)
}

// Finishing gives a context for writes that wait for their turn, and reads, as
// long as ctx does not end. A write that was sent then is finished all the same,
// unless sent ends: one that is broken off may be applied at any later time.
func Finishing(ctx, sent context.Context) context.Context {
	return context.WithValue(ctx, finishesKey{}, sent)
}

// worthOf is what a write that is asked for now is worth.
func worthOf(ctx context.Context, now time.Time) priority.Write {
	write, ok := ctx.Value(worthKey{}).(priority.Write)
	if !ok {
		write.Worth = priority.Comment
	}
	if write.Pushed.IsZero() {
		write.Pushed = now
	}
	return write
}

// sending is the context that a write has once it is sent.
func sending(ctx context.Context) context.Context {
	if sent, ok := ctx.Value(finishesKey{}).(context.Context); ok {
		return sent
	}
	return ctx
}

// A writer gives out turns to write, one at a time and with the distance that
// the forge wants.
type writer struct {
	now  func() time.Time
	wait func(context.Context, time.Duration) error

	mu sync.Mutex
	// The fields below are guarded by mu.
	queue priority.Queue[chan struct{}] // of those who wait; closed when it is their turn
	taken bool
	free  time.Time // there is no turn before
}

// take waits for a turn, or until ctx ends; then the error is [ErrDropped] and
// the context's. Whoever has a turn gives it back with give.
func (w *writer) take(ctx context.Context, write priority.Write) error {
	for {
		mine := make(chan struct{})
		w.mu.Lock()
		w.queue.Add(write, mine)
		w.grant()
		w.mu.Unlock()
		select {
		case <-mine:
		case <-ctx.Done():
			w.leave(mine)
			return errors.Join(ErrDropped, ctx.Err())
		}
		waited, err := w.distance(ctx)
		if err != nil {
			w.give(0)
			return errors.Join(ErrDropped, err)
		}
		if !waited || !w.passed(write) {
			return nil
		}
	}
}

// distance waits until the forge takes the next write. Only whoever has the turn
// calls it.
func (w *writer) distance(ctx context.Context) (waited bool, err error) {
	w.mu.Lock()
	gap := w.free.Sub(w.now())
	w.mu.Unlock()
	if gap <= 0 {
		return false, ctx.Err()
	}
	return true, w.wait(ctx, gap)
}

// passed gives the turn back where a write that goes before has come meanwhile.
func (w *writer) passed(write priority.Write) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if _, first, ok := w.queue.First(now); !ok || !first.Before(write, now) {
		return false
	}
	w.taken = false
	w.grant()
	return true
}

func (w *writer) leave(mine chan struct{}) {
	w.mu.Lock()
	there := w.queue.Remove(mine)
	w.mu.Unlock()
	if !there { // it was given the turn meanwhile
		w.give(0)
	}
}

// give gives the turn back. The next one begins after that time at the earliest.
func (w *writer) give(after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if next := w.now().Add(after); next.After(w.free) {
		w.free = next
	}
	w.taken = false
	w.grant()
}

// grant gives out the turn, if it is there.
func (w *writer) grant() {
	if w.taken {
		return
	}
	if first, _, ok := w.queue.First(w.now()); ok {
		w.queue.Remove(first)
		w.taken = true
		close(first)
	}
}

// isWrite reports whether a method may change something.
func isWrite(method string) bool { return method != http.MethodGet && method != http.MethodHead }
