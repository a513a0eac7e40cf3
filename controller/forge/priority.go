package forge

import (
	"slices"
	"time"
)

// A WriteWorth ranks a write by its value to waiting people.
type WriteWorth int

// The worths, in ascending order. WorthSuperseded is the final status of a replaced head,
// and WorthPending a status that only announces a verdict. A WorthVerdict is a terminal status,
// which decides about merging. Without a WorthCredential no other write is possible.
const (
	WorthSuperseded WriteWorth = iota
	WorthPending
	WorthReaction
	WorthCheckRun
	WorthComment
	WorthVerdict
	WorthCredential
)

// patience is the time after its push during which a write of each worth is passed over
// by more valuable or newer writes.
var patience = [...]time.Duration{
	WorthSuperseded: 4 * time.Minute,
	WorthPending:    4 * time.Minute,
	WorthReaction:   time.Minute, // the author of a command looks for it
	WorthCheckRun:   8 * time.Minute,
	WorthComment:    6 * time.Minute,
	WorthVerdict:    3 * time.Minute,
	WorthCredential: -time.Hour, // before all due writes
}

// A PendingWrite is a waiting write. A forge accepts one write at a time, a second apart,
// so a burst of pushes forms a queue, and its order decides how long people wait for a
// verdict.
type PendingWrite struct {
	Worth WriteWorth
	// Pushed is the time of the push that the write is about, or the start of another
	// wait of people.
	Pushed time.Time
}

// due returns the time from which nothing may pass the write.
func (w PendingWrite) due() time.Time { return w.Pushed.Add(patience[w.Worth]) }

// Before reports whether a write goes before another one now. Due writes go first, the
// longest due at the front. Then worth decides, and among equals the newest push:
// somebody is looking at it, while a head that has waited for long has lost its reader
// already.
func (w PendingWrite) Before(other PendingWrite, now time.Time) bool {
	mine, theirs := !w.due().After(now), !other.due().After(now)
	switch {
	case mine != theirs:
		return mine
	case mine:
		return w.due().Before(other.due())
	case w.Worth != other.Worth:
		return w.Worth > other.Worth
	}
	return w.Pushed.After(other.Pushed)
}

// A WriteQueue holds the waiting writes, each with its payload. Its zero
// value is empty. It is not safe for concurrent use.
type WriteQueue[T comparable] struct{ waiting []queuedWrite[T] }

type queuedWrite[T comparable] struct {
	write PendingWrite
	item  T
}

// Add puts an item into the queue.
func (q *WriteQueue[T]) Add(w PendingWrite, item T) {
	q.waiting = append(q.waiting, queuedWrite[T]{w, item})
}

// Remove takes an item out and reports whether it was there.
func (q *WriteQueue[T]) Remove(item T) bool {
	i := slices.IndexFunc(q.waiting, func(e queuedWrite[T]) bool { return e.item == item })
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// First returns the next item with its write; among equals the one added first. It
// stays in the queue. ok is false if the queue is empty.
func (q *WriteQueue[T]) First(now time.Time) (item T, w PendingWrite, ok bool) {
	if len(q.waiting) == 0 {
		return item, w, false
	}
	best := q.waiting[0]
	for _, e := range q.waiting[1:] {
		if e.write.Before(best.write, now) {
			best = e
		}
	}
	return best.item, best.write, true
}

// Len returns the number of waiting writes.
func (q *WriteQueue[T]) Len() int { return len(q.waiting) }
