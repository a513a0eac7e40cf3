// Package board shows how far the judging of several commits is, to people who look
// while it runs. Most callers want [Board.Track] and [Board.All].
package board

import (
	"cmp"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/progress"
)

// An Entry is how far a commit is.
type Entry struct {
	Head  string `json:"head"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
	// Again counts measurements that are repeated.
	Again int `json:"again"`
}

// A Board is safe for concurrent use. Its zero value is empty.
type Board struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	entries map[string]Entry
	changed chan struct{} // closed at the next change; nil while nobody waits
}

// Track shows a commit until end is called. Each step of its judging is given to step.
func (b *Board) Track(head string) (step func(progress.Step), end func()) {
	put := func(e Entry) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.entries == nil {
			b.entries = map[string]Entry{}
		}
		b.entries[head] = e
		b.notify()
	}
	put(Entry{Head: head})
	step = func(s progress.Step) { put(Entry{head, s.Done, s.Total, s.Again}) }
	end = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.entries, head)
		b.notify()
	}
	return step, end
}

// notify wakes all that wait for a change. The caller holds mu.
func (b *Board) notify() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// Changed returns a channel that is closed at the next change.
func (b *Board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// All returns the commits that are being judged, by their ids.
func (b *Board) All() []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Entry
	for _, e := range b.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y Entry) int { return cmp.Compare(x.Head, y.Head) })
	return out
}
