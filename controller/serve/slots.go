package serve

import (
	"context"
	"slices"
	"sync"
)

// slots bound how many commits are judged at once. Who waits for one has said on
// its commit that it is looked at.
type slots struct {
	most int

	mu sync.Mutex
	// The fields below are guarded by mu.
	waiting      []*slot // the oldest first
	busy, behind int     // those that are taken, and of these those in the background
}

// A slot is one that is taken or waited for.
type slot struct {
	behind bool          // of the background, which waits for all others
	begins chan struct{} // closed when it is taken
}

// take waits for a slot, or until ctx ends. Those in the background leave one to
// the others where there are several.
func (t *slots) take(ctx context.Context, behind bool) (end func(), err error) {
	mine := &slot{behind, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.grant()
	t.mu.Unlock()
	select {
	case <-mine.begins:
	case <-ctx.Done():
		t.end(mine)
		return nil, ctx.Err()
	}
	return func() { t.end(mine) }, nil
}

func (t *slots) end(mine *slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	t.count(mine, -1)
	t.grant()
}

func (t *slots) count(mine *slot, n int) {
	t.busy += n
	if mine.behind {
		t.behind += n
	}
}

// grant gives out the slots that are free.
func (t *slots) grant() {
	for t.busy < t.most && len(t.waiting) > 0 {
		i := slices.IndexFunc(t.waiting, func(w *slot) bool { return !w.behind })
		if i < 0 && t.behind >= max(1, t.most-1) {
			return
		}
		next := t.waiting[max(0, i)]
		t.waiting = slices.Delete(t.waiting, max(0, i), max(0, i)+1)
		t.count(next, 1)
		close(next.begins)
	}
}

// queued is how many wait for one.
func (t *slots) queued() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}
