package dashboard

import (
	"cmp"
	"slices"
	"sync"
)

// A BoardEntry is the progress of a commit.
type BoardEntry struct {
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

// A Board tracks the progress of running reviews. It is safe for concurrent use, and its
// zero value is empty.
type Board struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	entries map[string]BoardEntry
	changed chan struct{} // closed at the next change; nil without waiters
}

// Track shows a commit until end is called. step sets its counts.
func (b *Board) Track(head string) (step func(done, total, again int), end func()) {
	put := func(e BoardEntry) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.entries == nil {
			b.entries = map[string]BoardEntry{}
		}
		e.Waiting, e.Why = b.entries[head].Waiting, b.entries[head].Why
		b.entries[head] = e
		b.notify()
	}
	put(BoardEntry{Head: head})
	step = func(done, total, again int) {
		put(BoardEntry{Head: head, Done: done, Total: total, Again: again})
	}
	end = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.entries, head)
		b.notify()
	}
	return step, end
}

// Waits sets the number of a commit's cases that wait for workers, and the reason in words.
// No case waits if cases is 0.
func (b *Board) Waits(head string, cases int, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, tracked := b.entries[head]; tracked {
		e.Waiting, e.Why = cases, ""
		if cases > 0 {
			e.Why = why
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
func (b *Board) All() []BoardEntry {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []BoardEntry
	for _, e := range b.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y BoardEntry) int { return cmp.Compare(x.Head, y.Head) })
	return out
}
