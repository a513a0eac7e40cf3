package run

import (
	"context"
	"sync"
	"time"
)

// A timeout bounds the time of a call, without the time for which it is paused.
type timeout struct {
	mu     sync.Mutex
	left   time.Duration // at since; guarded by mu
	since  time.Time     // when the time began to run; guarded by mu
	paused int           // how many wait; guarded by mu
	lost   time.Duration // the length of the pauses; guarded by mu
	timer  *time.Timer   // nil before context; guarded by mu
}

func newTimeout(d time.Duration) *timeout { return &timeout{left: d} }

// context returns a context that ends with the timeout, whose cause is then
// [context.DeadlineExceeded]. The time begins to run.
func (t *timeout) context(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = time.Now()
	if t.left <= 0 {
		cancel(context.DeadlineExceeded)
	}
	t.timer = time.AfterFunc(t.left, func() { cancel(context.DeadlineExceeded) })
	return call, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer.Stop()
		cancel(nil)
	}
}

// pause stops the time until resume. Calls of both may overlap.
func (t *timeout) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused++; t.paused > 1 || t.timer == nil {
		return
	}
	now := time.Now()
	if t.timer.Stop() {
		t.left -= now.Sub(t.since)
	}
	t.since = now
}

// resume lets the time run again.
func (t *timeout) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused--; t.paused > 0 || t.timer == nil {
		return
	}
	now := time.Now()
	t.lost, t.since = t.lost+now.Sub(t.since), now
	t.timer.Reset(t.left)
}

// waited returns the length of the pauses.
func (t *timeout) waited() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}
