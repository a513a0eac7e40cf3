// Package priority orders the writes that wait for one credential. A forge accepts one
// write at a time, a second apart, so a burst of pushes forms a queue, and its order
// decides how long people wait for a verdict.
//
// A client takes a turn of [Turns] for each write; its callers set its worth by
// [WithWrite]. The order itself, [Write.Before] and [Queue], is pure: times come in.
package priority

import (
	"slices"
	"time"
)

// Worth ranks a write by its value to waiting people.
type Worth int

// The worths, in ascending order. Superseded is the final status of a replaced head,
// and Pending a status that only announces a verdict. A Verdict is a terminal status,
// which decides about merging. Without a Credential no other write is possible.
const (
	Superseded Worth = iota
	Pending
	Reaction
	CheckRun
	Comment
	Verdict
	Credential
)

// patience is the time after its push during which a write of each worth is passed over
// by more valuable or newer writes.
var patience = [...]time.Duration{
	Superseded: 4 * time.Minute,
	Pending:    4 * time.Minute,
	Reaction:   time.Minute, // the author of a command looks for it
	CheckRun:   8 * time.Minute,
	Comment:    6 * time.Minute,
	Verdict:    3 * time.Minute,
	Credential: -time.Hour, // before all due writes
}

// A Write is a waiting write.
type Write struct {
	Worth Worth
	// Pushed is the time of the push that the write is about, or the start of another
	// wait of people.
	Pushed time.Time
}

// due returns the time from which nothing may pass the write.
func (w Write) due() time.Time { return w.Pushed.Add(patience[w.Worth]) }

// Before reports whether a write goes before another one now. Due writes go first, the
// longest due at the front. Then worth decides, and among equals the newest push:
// somebody is looking at it, while a head that has waited for long has lost its reader
// already.
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

// First returns the next item with its write; among equals the one added first. It
// stays in the queue. ok is false if the queue is empty.
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

// Len returns the number of waiting writes.
func (q *Queue[T]) Len() int { return len(q.waiting) }
