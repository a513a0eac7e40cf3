package ledger

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// beat gives signs of life until it is cancelled.
func (i *Interest) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			i.sign(ctx)
		}
	}
}

// sign gives one sign of life and tells the leases that turn out to be lost.
// Where it cannot be written, the holders' next writes tell.
func (i *Interest) sign(ctx context.Context) {
	i.mu.Lock()
	before := slices.Collect(maps.Values(i.leases))
	i.mu.Unlock()
	var list string
	err := i.ledger.submit(ctx, func(t *tx) error {
		until := i.ledger.soon()
		err := errors.Join(
			t.exec("INSERT INTO underway (run, ns, until) VALUES (?, ?, ?) ON CONFLICT (run) DO UPDATE SET until = excluded.until",
				i.run, i.trust.namespace(), until),
			t.exec("UPDATE leases SET until = ? WHERE owner = ?", until, i.run))
		if err != nil {
			return err
		}
		return t.row("SELECT json_group_array(epoch) FROM leases WHERE owner = ?", i.run).Scan(&list)
	})
	var held []int64
	if err != nil || json.Unmarshal([]byte(list), &held) != nil {
		return
	}
	for _, lease := range before {
		if !slices.Contains(held, lease.epoch) && lease.drop() {
			lease.lose()
		}
	}
}

// sweep forgets the runs that are dead, so that nobody waits for them.
func (l *Ledger) sweep(t *tx) error {
	now := l.now()
	var list string
	err := t.row("SELECT json_group_object(run, until > ? AND until <= ?) FROM underway",
		now.UnixMilli(), now.Add(leaseTime).UnixMilli()).Scan(&list)
	if err != nil {
		return err
	}
	var runs map[string]int
	if err := json.Unmarshal([]byte(list), &runs); err != nil {
		return err
	}
	for run, signed := range runs {
		if l.lives.mine(run) {
			continue
		}
		if !l.lives.alive(run) {
			if err := t.exec("DELETE FROM leases WHERE owner = ?", run); err != nil {
				return err
			}
		} else if signed == 1 {
			continue
		}
		// Of one that is only silent the leases end by themselves.
		if err := leave(t, run); err != nil {
			return err
		}
	}
	return nil
}

// leave takes a run out of those under way.
func leave(t *tx, run string) error {
	return errors.Join(t.exec("DELETE FROM wanted WHERE run = ?", run), t.exec("DELETE FROM underway WHERE run = ?", run))
}

// lives tell which runs on this machine are alive. Every run locks a byte of
// one file, its slot, for as long as it lives, and the system lets go of the
// lock with the process. Where there are no such locks the slot is 0, and a
// run that was killed is waited for until its leases end.
type lives struct {
	path string

	mu sync.Mutex
	// file is opened when it is needed; slots are those of this process. Both
	// are guarded by mu.
	file  *os.File
	slots map[int64]bool
}

// begin names a new run and locks its slot.
func (v *lives) begin() (run string, slot int64) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	slot = int64(binary.BigEndian.Uint64(random[:])>>2) + 1
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open() != nil || lockByte(v.file, slot) != nil {
		slot = 0
	}
	run = strconv.FormatInt(slot, 36) + "-" + rand.Text()
	if slot != 0 {
		v.slots[slot] = true
	}
	return run, slot
}

func (v *lives) open() error {
	if v.file != nil {
		return nil
	}
	var err error
	v.file, err = os.OpenFile(v.path, os.O_RDWR|os.O_CREATE, 0o600)
	return err
}

// openFile gives the file, or nil where it cannot be had.
func (v *lives) openFile() *os.File {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open() != nil {
		return nil
	}
	return v.file
}

// end lets go of a slot.
func (v *lives) end(slot int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.slots[slot] {
		unlockByte(v.file, slot)
		delete(v.slots, slot)
	}
}

// mine reports whether a run is one of this process and has not ended.
func (v *lives) mine(run string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.slots[slotOf(run)]
}

// alive reports whether a run lives, or may live as far as anybody can tell.
func (v *lives) alive(run string) bool {
	slot := slotOf(run)
	v.mu.Lock()
	defer v.mu.Unlock()
	if slot == 0 || v.slots[slot] || v.open() != nil {
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

func (v *lives) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.file == nil {
		return nil
	}
	return v.file.Close()
}
