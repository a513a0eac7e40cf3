// Package board tracks the progress of running reviews for people. Most callers want
// [Board.Track] and [Board.All].
package board

import (
	"cmp"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/progress"
)

// An Entry is the progress of a commit.
type Entry struct {
	Head  string `json:"head"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
	// Again counts repeated measurements.
	Again int `json:"again"`
	// Waiting counts the cases that wait while no worker judges any of them. Why
	// explains it in words.
	Waiting int    `json:"waiting,omitempty"`
	Why     string `json:"why,omitempty"`
}

// A Board is safe for concurrent use. Its zero value is empty.
type Board struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	entries map[string]Entry
	changed chan struct{} // closed at the next change; nil without waiters
}

// Track shows a commit until end is called. step receives each step of its judging.
func (b *Board) Track(head string) (step func(progress.Step), end func()) {
	put := func(e Entry) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.entries == nil {
			b.entries = map[string]Entry{}
		}
		e.Waiting, e.Why = b.entries[head].Waiting, b.entries[head].Why
		b.entries[head] = e
		b.notify()
	}
	put(Entry{Head: head})
	step = func(s progress.Step) { put(Entry{Head: head, Done: s.Done, Total: s.Total, Again: s.Again}) }
	end = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.entries, head)
		b.notify()
	}
	return step, end
}

// Waits sets the number of a commit's cases that wait for workers.
func (b *Board) Waits(head string, w progress.Waiting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, tracked := b.entries[head]; tracked {
		e.Waiting, e.Why = w.Cases, ""
		if w.Cases > 0 {
			e.Why = w.String()
		}
		b.entries[head] = e
		b.notify()
	}
}

// notify wakes everyone who waits for a change. The caller holds mu.
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

// Tracks reports whether a commit is shown.
func (b *Board) Tracks(head string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, tracked := b.entries[head]
	return tracked
}

// Why returns what the cases of a commit wait for, or an empty string.
func (b *Board) Why(head string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[head].Why
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
