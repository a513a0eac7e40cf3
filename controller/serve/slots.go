package serve

import (
	"context"
	"slices"
	"sync"
)

// Slots are given out in the order in which they are asked for, those of the
// background last. They are safe for concurrent use.
type Slots struct {
	most int

	mu sync.Mutex
	// The fields below are guarded by mu.
	waiting []*slot           // the oldest first
	busy    int               // those that are taken
	of      map[slotClass]int // and of these those of a class
}

// A slot is one that is taken or waited for.
type slot struct {
	class  slotClass
	begins chan struct{} // closed when it is taken
}

// A slotClass says who waits for a commit.
type slotClass int

// The classes: of people who may write, of nobody in particular, and of a
// stranger. One stranger's commit has a slot at a time: what the bounds allow to
// each is then no more for many at once.
const (
	classInteractive slotClass = iota
	classBackground
	classStranger
)

// New returns so many slots.
func newSlots(most int) *Slots { return &Slots{most: most, of: map[slotClass]int{}} }

// Acquire waits for a slot, or until ctx ends. waits is called where none is free at once.
// classBackground work leaves one to the others where there are several.
func (t *Slots) Acquire(ctx context.Context, c slotClass, waits func()) (end func(), err error) {
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

func (t *Slots) end(mine *slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	t.count(mine, -1)
	t.grant()
}

func (t *Slots) count(mine *slot, n int) {
	t.busy += n
	t.of[mine.class] += n
}

// grant gives out the slots that are free.
func (t *Slots) grant() {
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

// Queued is how many wait for one.
func (t *Slots) Queued() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}
