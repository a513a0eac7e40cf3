package serve

import (
	"context"
	"slices"
	"sync"
)

// slotPool bounds how many commits are judged at once. It hands slots out in the order of
// the requests, background work last. It is safe for concurrent use.
type slotPool struct {
	most int

	mu sync.Mutex
	// The fields below are guarded by mu.
	waiting []*slot           // the oldest first
	busy    int               // the taken ones
	of      map[slotClass]int // the taken ones by class
}

// A slot is taken or waited for.
type slot struct {
	class  slotClass
	begins chan struct{} // closed when it is taken
}

// A slotClass says for whom a commit is judged.
type slotClass int

// The classes: people who may write, background work, and strangers. At most one commit
// of a stranger has a slot at a time, so that many strangers use no more than one is
// allowed.
const (
	classInteractive slotClass = iota
	classBackground
	classStranger
)

// newSlots returns so many slots.
func newSlots(most int) *slotPool { return &slotPool{most: most, of: map[slotClass]int{}} }

// Acquire waits for a slot, or until ctx ends. It calls waits if none is free at once.
// classBackground work leaves one to the others if there are several.
func (t *slotPool) Acquire(ctx context.Context, c slotClass, waits func()) (end func(), err error) {
	mine := &slot{c, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.grant()
	mustWait := slices.Contains(t.waiting, mine)
	t.mu.Unlock()
	if mustWait {
		waits()
	}
	select {
	case <-mine.begins:
	case <-ctx.Done():
		t.end(mine)
		return nil, ctx.Err()
	}
	return func() { t.end(mine) }, nil
}

func (t *slotPool) end(mine *slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	t.count(mine, -1)
	t.grant()
}

func (t *slotPool) count(mine *slot, n int) {
	t.busy += n
	t.of[mine.class] += n
}

// grant gives out the slots that are free.
func (t *slotPool) grant() {
	for t.busy < t.most && len(t.waiting) > 0 {
		i := slices.IndexFunc(t.waiting, func(w *slot) bool {
			return w.class == classInteractive || w.class == classStranger && t.of[classStranger] == 0
		})
		if i < 0 && t.of[classBackground] < max(1, t.most-1) {
			i = slices.IndexFunc(t.waiting, func(w *slot) bool { return w.class == classBackground })
		}
		if i < 0 {
			return
		}
		next := t.waiting[i]
		t.waiting = slices.Delete(t.waiting, i, i+1)
		t.count(next, 1)
		close(next.begins)
	}
}

// Queued returns how many wait for one.
func (t *slotPool) Queued() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}
