package forge

import (
	"slices"
	"time"
)

// A WriteWorth ranks a write by its value to waiting people.
type WriteWorth int

// The worths, in ascending order. WorthPending is a status that only announces a verdict,
// and WorthSuperseded the final status of a replaced head. A WorthReaction answers a person
// who has just asked. A WorthVerdict is a terminal status, which decides about merging.
// Without a WorthCredential no other write is possible.
const (
	WorthPending WriteWorth = iota
	WorthSuperseded
	WorthCheckRun
	WorthComment
	WorthReaction
	WorthVerdict
	WorthCredential
)

// patience is the time after its push during which newer writes of the same worth pass a
// write.
const patience = 3 * time.Minute

// crowd is how many heads may wait for their verdicts before none is announced.
const crowd = 8

// A PendingWrite is a waiting write. A forge accepts one write at a time, a second apart,
// so a burst of pushes forms a queue, and its order decides how long people wait for a
// verdict.
type PendingWrite struct {
	Worth WriteWorth
	// Pushed is the time of the push that the write is about, or the start of another
	// wait of people.
	Pushed time.Time
}

// due returns the time from which no write of the same worth may pass the write.
func (w PendingWrite) due() time.Time { return w.Pushed.Add(patience) }

// Before reports whether a write goes before another one now. Worth decides: a verdict
// waits for no write of less worth, however long that has waited. Among equals due writes
// go first, the longest due at the front, and then the newest push: somebody is looking at
// it, while a head that has waited for long has lost its reader already.
func (w PendingWrite) Before(other PendingWrite, now time.Time) bool {
	mine, theirs := !w.due().After(now), !other.due().After(now)
	switch {
	case w.Worth != other.Worth:
		return w.Worth > other.Worth
	case mine != theirs:
		return mine
	case mine:
		return w.due().Before(other.due())
	}
	return w.Pushed.After(other.Pushed)
}

// A WriteQueue orders the waiting writes, each with its payload, and holds announcements
// back while many heads wait for their verdicts. Its zero value is empty. It is not safe
// for concurrent use.
type WriteQueue[T comparable] struct {
	waiting []queuedWrite[T]
	// awaited counts the heads that wait for their verdicts. crowded means that there were
	// more than crowd, and is true until no other one is left.
	awaited int
	crowded bool
}

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

// Await adds n to the number of heads that wait for their verdicts.
func (q *WriteQueue[T]) Await(n int) {
	q.awaited += n
	q.crowded = q.awaited > crowd || q.crowded && q.awaited > 1
}

// Holds reports whether a write must not be sent now: each announcement takes a turn that
// a verdict may need.
func (q *WriteQueue[T]) Holds(w PendingWrite) bool { return w.Worth == WorthPending && q.crowded }

// First returns the next item with its write; among equals the one added first. It
// stays in the queue. ok is false if nothing may be sent.
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
	return best.item, best.write, !q.Holds(best.write)
}

// Len returns the number of waiting writes.
func (q *WriteQueue[T]) Len() int { return len(q.waiting) }
