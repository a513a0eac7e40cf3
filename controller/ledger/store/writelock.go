package store

import "time"

// The bytes of the file of lives that writers lock. No run uses them as its slot.
const (
	nextWriter = 1<<62 + 1
	thisWriter = 1<<62 + 2
	turnPause  = 200 * time.Microsecond
	// turnWait is much longer than a transaction takes. A process that was stopped must
	// not delay the others for longer each time.
	turnWait = 250 * time.Millisecond
)

// A writeLock lets the writers of several processes take turns. SQLite itself lets a
// writer with much to write begin again and again before another gets its turn, which
// may then wait for so long that its leases end.
type writeLock struct{ lives *runLocks }

// WriteLock returns the lock of one ledger's writers.
func (v *runLocks) WriteLock() writeLock { return writeLock{v} }

// Acquire waits for the caller's turn, and returns a function that ends the turn. One
// lock marks the writer, and another one the next in line, which holds it until it
// writes. A process that waits for too long goes ahead: SQLite then keeps others from
// writing.
func (t writeLock) Acquire() (release func()) {
	f := t.lives.openFile()
	if f == nil {
		return func() {}
	}
	deadline := time.Now().Add(turnWait)
	lock := func(at int64) bool {
		for byteTaken(f, at) {
			if time.Now().After(deadline) {
				return false
			}
			time.Sleep(turnPause)
		}
		return true
	}
	next := lock(nextWriter)
	this := next && lock(thisWriter)
	if next {
		unlockByte(f, nextWriter)
	}
	if !this {
		return func() {}
	}
	return func() { unlockByte(f, thisWriter) }
}
