// Package priority orders the writes that wait for one credential. A forge takes
// one at a time with a second between two, so that a burst of pushes is a queue,
// and its order decides how long people wait for a verdict.
//
// A client takes a turn of [Turns] for each write; its callers say by [WithWrite] what
// that is worth. The order itself, [Write.Before] and [Queue], is pure: times come
// in.
package priority

import (
	"slices"
	"time"
)

// Worth is what a write is worth to people who wait for it.
type Worth int

// The worths, from the least on. Superseded is the last word on a head that was
// replaced, and Pending a status that only says that a verdict will come. A
// Verdict is a terminal status, by which people merge. Without a Credential
// nothing else is written.
const (
	Superseded Worth = iota
	Pending
	Reaction
	CheckRun
	Comment
	Verdict
	Credential
)

// patience is how long after its push a write of each worth is passed over by
// those that are worth more or newer.
var patience = [...]time.Duration{
	Superseded: 4 * time.Minute,
	Pending:    4 * time.Minute,
	Reaction:   time.Minute, // somebody who wrote a command looks for it
	CheckRun:   8 * time.Minute,
	Comment:    6 * time.Minute,
	Verdict:    3 * time.Minute,
	Credential: -time.Hour, // before all that is due
}

// A Write is one that waits.
type Write struct {
	Worth Worth
	// Pushed is when the head came that the write is about, or whatever else
	// people wait for since.
	Pushed time.Time
}

// due is when nothing may pass the write any more.
func (w Write) due() time.Time { return w.Pushed.Add(patience[w.Worth]) }

// Before reports whether a write goes before another one now. Due writes go
// first, the longest due at the head. Then worth decides, and of the same worth
// the newest push: it is the one that somebody looks at, while a head that waits
// for long has lost its reader already.
func (w Write) Before(other Write, now time.Time) bool {
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

// A Queue holds the waiting writes, each with its payload. Its zero
// value is empty. It is not safe for concurrent use.
type Queue[T comparable] struct{ waiting []entry[T] }

type entry[T comparable] struct {
	write Write
	item  T
}

// Add puts an item into the queue.
func (q *Queue[T]) Add(w Write, item T) { q.waiting = append(q.waiting, entry[T]{w, item}) }

// Remove takes an item out and reports whether it was there.
func (q *Queue[T]) Remove(item T) bool {
	i := slices.IndexFunc(q.waiting, func(e entry[T]) bool { return e.item == item })
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// First is the item whose turn it is now with its write, of equals the one that
// was added first. It stays in the queue. It reports false where that is empty.
func (q *Queue[T]) First(now time.Time) (item T, w Write, ok bool) {
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

// Len is how many wait.
func (q *Queue[T]) Len() int { return len(q.waiting) }
