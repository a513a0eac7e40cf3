package store

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// runLocks record which runs on this machine are alive. Every run locks a byte of one
// file, its slot, for as long as it lives, and the system releases the lock with the
// process. Without such locks the slot is 0, and others wait for a killed run until its
// leases end. They are safe for concurrent use.
type runLocks struct {
	path string

	mu sync.Mutex
	// file is opened when it is needed; slots are the slots of this process. Both are
	// guarded by mu.
	file  *os.File
	slots map[int64]bool
}

// newLocks returns the locks of processes that share the file at path, which is made
// when the first run begins.
func newLocks(path string) *runLocks { return &runLocks{path: path, slots: map[int64]bool{}} }

// heartbeatLocks returns locks without a shared file: every other run counts as alive
// until its leases end.
func heartbeatLocks() *runLocks { return newLocks("") }

// Shared reports whether the locks are the file's, and so show which runs of other processes
// have ended.
func (v *runLocks) Shared() bool { return v.path != "" }

// Begin names a new run and locks its slot.
func (v *runLocks) Begin() (run string, slot int64) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	slot = int64(binary.BigEndian.Uint64(random[:])>>2) + 1
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.path != "" && (v.open() != nil || lockByte(v.file, slot) != nil) {
		slot = 0
	}
	run = strconv.FormatInt(slot, 36) + "-" + rand.Text()
	if slot != 0 {
		v.slots[slot] = true
	}
	return run, slot
}

func (v *runLocks) open() error {
	if v.file != nil {
		return nil
	}
	var err error
	v.file, err = safefile.OpenFile(v.path, os.O_RDWR|os.O_CREATE, 0o600)
	return err
}

// openFile returns the file, or nil if it cannot be opened.
func (v *runLocks) openFile() *os.File {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open() != nil {
		return nil
	}
	return v.file
}

// End releases a slot.
func (v *runLocks) End(slot int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.slots[slot] && v.path != "" {
		unlockByte(v.file, slot)
	}
	delete(v.slots, slot)
}

// Mine reports whether a run is one of this process and has not ended.
func (v *runLocks) Mine(run string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.slots[slotOf(run)]
}

// Alive reports whether a run is alive, or may be.
func (v *runLocks) Alive(run string) bool {
	slot := slotOf(run)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.path == "" || slot == 0 || v.slots[slot] || v.open() != nil {
		return true
	}
	return byteLocked(v.file, slot)
}

func slotOf(run string) int64 {
	text, _, _ := strings.Cut(run, "-")
	slot, err := strconv.ParseInt(text, 36, 64)
	if err != nil {
		return 0
	}
	return slot
}

// Close releases every slot.
func (v *runLocks) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.file == nil {
		return nil
	}
	return v.file.Close()
}
