package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// lookEvery is how often a process with kept leases looks for another one, which waits
// until they are rows.
const lookEvery = 50 * time.Millisecond

// waits are the pauses of that other process.
var waits = clock.Doubling{First: 5 * time.Millisecond, Most: lookEvery}

// keptLeases are the leases that a process keeps in memory while it is alone with a file.
//
// A run is alone if it begins while no other process has a run, and its row in underway says
// so. As long as the row does, no other process takes a lease, until the row's time is over
// or its process is dead; and every write under a kept lease demands the row. Another process
// begins with a row of its own, and waits. This one sees that row, stores its kept leases as
// rows, and takes no more leases in memory.
//
// The zero value is ready, and safe for concurrent use.
type keptLeases struct {
	mu sync.Mutex
	// on allows new leases to be kept, of the runs that are alone. The writer changes it in
	// the order of its transactions. A transaction that is undone may leave it set or not:
	// the rows decide.
	on   bool
	held map[leasePlace]*Lease
	// again are the digests that had a lease since on was set.
	again  map[string]bool
	looked time.Time
	// All are guarded by mu.
}

// A leasePlace is what one lease can be held on.
type leasePlace struct{ digest, ns string }

func (x *Lease) place() leasePlace { return leasePlace{x.digest, x.handle.trust.namespace()} }

// isKept reports whether the lease began in memory. The epochs of rows are above 0.
func (x *Lease) isKept() bool { return x.epoch < 0 }

// begin has the leases of runs that are alone kept. first says that no run of this process
// kept any.
func (k *keptLeases) begin(first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on = true
	if first || k.held == nil {
		k.held, k.again = map[leasePlace]*Lease{}, map[string]bool{}
	}
}

// add keeps a lease. It reports whether it does, or a kept lease is in the way. isFirst says
// that the digest had no lease before.
func (k *keptLeases) add(x *Lease) (kept, taken, isFirst bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.on:
		return false, false, false
	case k.isTaken(x.place()):
		return false, true, false
	}
	x.epoch = -1 - rand.Int64N(1<<62) //nolint:gosec // it only has to differ from others
	isFirst = !k.again[x.digest]
	k.held[x.place()], k.again[x.digest] = x, true
	return true, false, isFirst
}

// isTaken reports whether a kept lease is in the way of another. The caller holds mu.
func (k *keptLeases) isTaken(at leasePlace) bool {
	return k.on && (k.held[at] != nil || k.held[leasePlace{digest: at.digest}] != nil)
}

// has reports whether a kept lease is in the way of another.
func (k *keptLeases) has(at leasePlace) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.isTaken(at)
}

// holds reports whether a lease is kept, and has not ended. It may be a row by now.
func (k *keptLeases) holds(x *Lease) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return x.isKept() && k.held[x.place()] == x
}

// remove ends a lease in memory. It reports whether the lease may have a row.
func (k *keptLeases) remove(x *Lease) (stored bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[x.place()] == x {
		delete(k.held, x.place())
	}
	return !x.isKept() || !k.on
}

// end returns the kept leases of a run, and has no more leases kept.
func (k *keptLeases) end(run string) []*Lease {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on = false
	var all []*Lease
	for _, x := range k.held {
		if x.handle.run == run {
			all = append(all, x)
		}
	}
	return all
}

// forget removes the kept leases of a run that ends.
func (k *keptLeases) forget(run string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at, x := range k.held {
		if x.handle.run == run {
			delete(k.held, at)
		}
	}
}

// isDue reports whether none of the runs of this process has looked for others recently.
func (k *keptLeases) isDue() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if now.Sub(k.looked) < lookEvery/2 {
		return false
	}
	k.looked = now
	return true
}

// goAlone marks a run that begins as alone, if all other runs and leases are of this process
// and in its memory. Without the locks of the file, a dead process would be waited for too
// often.
func (l *Ledger) goAlone(t *store.Tx, r *RunHandle) error {
	r.alone = false
	locks := l.store.Locks()
	if r.slot == 0 || !locks.Shared() {
		return nil
	}
	var list [2]string
	var runs, owners []string // each of runs after 1 or 0
	err := t.Row("SELECT (SELECT json_group_array(alone || run) FROM underway WHERE run <> ?), (SELECT json_group_array(DISTINCT owner) FROM leases)", r.run).Scan(&list[0], &list[1])
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(list[0]), &runs), json.Unmarshal([]byte(list[1]), &owners))
	}
	if err != nil || slices.ContainsFunc(runs, func(run string) bool { return run[0] != '1' || !locks.Mine(run[1:]) }) ||
		slices.ContainsFunc(owners, locks.Alive) {
		return err
	}
	// Their owners were silent for long before they died.
	if err := t.Exec("DELETE FROM leases"); err != nil {
		return err
	}
	if err := t.Exec("UPDATE underway SET alone = 1 WHERE run = ?", r.run); err != nil {
		return err
	}
	r.alone = true
	l.alone.begin(len(runs) == 0)
	return nil
}

// keep takes a lease in memory. It reports whether it does, or whether another kept lease is
// in the way. The row of a run that was silent for too long may be gone.
func (l *Ledger) keep(ctx context.Context, x *Lease, judgement string) (kept, taken bool, err error) {
	r, now := x.handle, l.now().UnixMilli()
	r.mu.Lock()
	isAlone := r.alone && now < r.until && now >= r.until-leaseTime.Milliseconds()
	r.mu.Unlock()
	if !isAlone {
		return false, false, nil
	}
	kept, taken, isFirst := l.alone.add(x)
	if !kept {
		return false, taken, nil
	}
	if r.asked[x.digest] && (judgement == "" || r.asked[judgement]) {
		x.blank = isFirst && !r.used[x.digest] && !r.used[judgement]
		return true, false, nil
	}
	err = l.store.Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&x.blank) }, unused, digestBytes(x.digest), digestBytes(judgement))
	if err != nil {
		err = errors.Join(err, x.ended(context.WithoutCancel(ctx)))
	}
	return true, false, err
}

// isAlone reports whether the row of the run says so, as it does until another process took
// over, or waits.
func (r *RunHandle) isAlone(t *store.Tx) (alone bool, err error) {
	if r.ledger.store.Locks().Shared() {
		err = t.Row("SELECT EXISTS (SELECT 1 FROM underway WHERE run = ? AND alone = 1)", r.run).Scan(&alone)
	}
	return alone, err
}

// inMemory reports whether the lease is kept in memory, and no other run took over.
func (x *Lease) inMemory(t *store.Tx) (held bool, err error) {
	if x.handle.ledger.alone.holds(x) {
		held, err = x.handle.isAlone(t)
	}
	return held, err
}

// ended removes a lease that ended, or was not used, from memory, and its row, if it became one
// at the same time.
func (x *Lease) ended(ctx context.Context) error {
	l := x.handle.ledger
	if !x.isKept() || !l.alone.remove(x) {
		return nil
	}
	return l.store.Submit(ctx, func(t *store.Tx) error { return t.Exec("DELETE FROM leases WHERE epoch = ?", x.epoch) })
}

// survey finds out what is stored under digests, for a run that is alone: until it has a
// lease on one, nothing is added.
func (r *RunHandle) survey(ctx context.Context, digests []string) error {
	list, err := digestList(digests)
	if err != nil {
		return err
	}
	r.asked, r.used = make(map[string]bool, len(digests)), map[string]bool{}
	for _, digest := range digests {
		r.asked[digest] = true
	}
	return r.ledger.store.Each(ctx, func(rows *sql.Rows) error {
		var place int
		err := rows.Scan(&place)
		if err == nil {
			r.used[digests[place]] = true
		}
		return err
	}, `SELECT key FROM json_each(?) WHERE EXISTS (SELECT 1 FROM samples WHERE e = unhex(value))
		OR EXISTS (SELECT 1 FROM calls WHERE digest = unhex(value))`, list)
}

// storeKept makes the kept leases of this process rows. It reports whether another process
// keeps leases.
func (l *Ledger) storeKept(t *store.Tx) (elsewhere bool, err error) {
	var list string
	if err := t.Row("SELECT json_group_array(run) FROM underway WHERE alone = 1").Scan(&list); err != nil {
		return false, err
	}
	var runs []string
	if err := json.Unmarshal([]byte(list), &runs); err != nil {
		return false, err
	}
	for _, run := range runs {
		if !l.store.Locks().Mine(run) {
			elsewhere = true
			continue
		}
		for _, x := range l.alone.end(run) {
			err := t.Exec("INSERT INTO leases (epoch, digest, ns, owner, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
				x.epoch, digestBytes(x.digest), x.handle.trust.namespace(), run, l.soon())
			if err != nil {
				return false, err
			}
		}
		if err := t.Exec("UPDATE underway SET alone = 0 WHERE run = ?", run); err != nil {
			return false, err
		}
	}
	return elsewhere, nil
}

// makeRoom has rows decide about leases: it stores the kept ones of this process, and reports
// whether a living process keeps others.
func (l *Ledger) makeRoom(t *store.Tx) (elsewhere bool, err error) {
	if !l.store.Locks().Shared() {
		return false, nil
	}
	if elsewhere, err = l.storeKept(t); err != nil || !elsewhere {
		return false, err
	}
	if err := l.sweep(t); err != nil {
		return false, err
	}
	return l.storeKept(t)
}

// awaitRows waits until no other process keeps leases in memory.
func (l *Ledger) awaitRows(ctx context.Context) error {
	if !l.store.Locks().Shared() {
		return nil
	}
	for n := 0; ; n++ {
		now, elsewhere := l.now(), false
		err := l.store.Each(ctx, func(rows *sql.Rows) error {
			var run string
			err := rows.Scan(&run)
			elsewhere = elsewhere || !l.store.Locks().Mine(run) && l.store.Locks().Alive(run)
			return err
		}, "SELECT run FROM underway WHERE alone = 1 AND until > ? AND until <= ?", now.UnixMilli(), now.Add(longestLease).UnixMilli())
		if err != nil || !elsewhere {
			return err
		}
		if err := clock.Sleep(ctx, waits.Pause(n)); err != nil {
			return err
		}
	}
}

// underRows calls do while all leases are rows, of this process and of others.
func (l *Ledger) underRows(ctx context.Context, do func() error) error {
	if !l.store.Locks().Shared() {
		return do()
	}
	r, err := l.BeginRun(ctx, Trust{Level: LevelOperator}, nil)
	if err != nil {
		return err
	}
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		_, err := l.makeRoom(t)
		return err
	})
	if err == nil {
		err = l.awaitRows(ctx)
	}
	if err == nil {
		err = do()
	}
	return errors.Join(err, r.Close(context.WithoutCancel(ctx)))
}

// look stores the kept leases if another process has a run. It reports whether the run is
// still alone.
func (r *RunHandle) look(ctx context.Context) bool {
	l, isAlone, others := r.ledger, true, false
	if !l.alone.isDue() {
		return true
	}
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var run string
		var alone bool
		err := rows.Scan(&run, &alone)
		if run == r.run {
			isAlone = alone
		}
		others = others || !l.store.Locks().Mine(run) && l.store.Locks().Alive(run)
		return err
	}, "SELECT run, alone FROM underway")
	if err != nil || !others {
		return err != nil || isAlone
	}
	return l.store.Submit(ctx, func(t *store.Tx) error {
		_, err := l.storeKept(t)
		return err
	}) != nil
}
