package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

const (
	// leaseTime is how long a lease lasts without a sign of life.
	leaseTime = 10 * time.Second
	// longestLease is how long a living run's lease can last by the clock of a reader,
	// who may have read it a while ago, or on another machine.
	longestLease = 2 * leaseTime
	// beatEvery is how often a run gives a sign of life.
	beatEvery = 3 * time.Second
)

var (
	// ErrLeased means that another run is working on a digest.
	ErrLeased = errors.New("another run is at work on it")
	// ErrLeaseLost means that another run took over, because there was no sign of life
	// for too long.
	ErrLeaseLost = errors.New("another run took over")
)

// A RunHandle is one run in progress and the digests that it wants judged. It gives a
// sign of life every few seconds until it is closed.
type RunHandle struct {
	ledger *Ledger
	trust  Trust
	run    string
	slot   int64
	cancel context.CancelFunc
	beats  sync.WaitGroup

	// asked are the digests of which it is known whether anything was stored under them when
	// the run began, and used those with something. Both are empty for a run that is not
	// alone.
	asked, used map[string]bool

	mu     sync.Mutex
	leases map[int64]*Lease // by epoch; guarded by mu
	judged []string         // the digests that are no longer wanted; guarded by mu
	alone  bool             // whether its leases are kept in memory, see keptLeases; guarded by mu
	until  int64            // until when its last sign of life counts; guarded by mu
}

// A Lease lets its holder alone work on a digest, among the runs with the same trust.
type Lease struct {
	handle *RunHandle
	digest string
	epoch  int64
	blank  bool
	lost   chan struct{}
	once   sync.Once
}

// BeginRun records that a run begins and wants the results for the execution digests. The
// judgement digests of its cases make [Lease.Blank] quick; they may be left out. The caller
// must call Close.
func (l *Ledger) BeginRun(ctx context.Context, trust Trust, digests []string, judgements ...string) (*RunHandle, error) {
	list, err := digestList(digests)
	if err := errors.Join(err, trust.check()); err != nil {
		return nil, l.store.Fault("begin a run", err)
	}
	r := &RunHandle{ledger: l, trust: trust, leases: map[int64]*Lease{}}
	r.run, r.slot = l.store.Locks().Begin()
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		if err := l.sweep(t); err != nil {
			return err
		}
		r.until = l.soon()
		err := t.Exec("INSERT INTO underway (run, ns, until) VALUES (?, ?, ?)", r.run, trust.namespace(), r.until)
		if err == nil {
			err = l.goAlone(t, r)
		}
		if err != nil {
			return err
		}
		return t.Exec("INSERT INTO wanted (run, digest) SELECT DISTINCT ?, unhex(value) FROM json_each(?)", r.run, list)
	})
	if err != nil {
		l.store.Locks().End(r.slot)
		return nil, l.store.Fault("begin a run", err)
	}
	isAlone := r.alone
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	r.beats.Go(func() { r.beat(beating, isAlone) })
	if isAlone {
		if err := r.survey(ctx, slices.Concat(digests, judgements)); err != nil {
			return nil, l.store.Fault("begin a run", errors.Join(err, r.Close(context.WithoutCancel(ctx))))
		}
	}
	return r, nil
}

// Close gives up everything that the run still wants or holds.
func (r *RunHandle) Close(ctx context.Context) error {
	r.cancel()
	r.beats.Wait()
	defer r.ledger.store.Locks().End(r.slot)
	r.ledger.alone.forget(r.run)
	return r.ledger.store.Fault("end a run", r.ledger.store.Submit(ctx, func(t *store.Tx) error {
		return errors.Join(t.Exec("DELETE FROM leases WHERE owner = ?", r.run), leave(t, r.run))
	}))
}

// Release ends the interest in one digest. It reports whether another run in progress
// wants the digest and could use this run's results.
func (r *RunHandle) Release(ctx context.Context, digest string) (wanted bool, err error) {
	l, ns := r.ledger, r.trust.namespace()
	err = l.store.Submit(ctx, func(t *store.Tx) error {
		if err := l.sweep(t); err != nil {
			return err
		}
		if err := t.Exec("DELETE FROM wanted WHERE run = ? AND digest = ?", r.run, digestBytes(digest)); err != nil {
			return err
		}
		return t.Row(`SELECT EXISTS (SELECT 1 FROM wanted w JOIN underway u ON u.run = w.run
			WHERE w.digest = ? AND (? = '' OR u.ns = ?))`, digestBytes(digest), ns, ns).Scan(&wanted)
	})
	return wanted, l.store.Fault("give up "+digest, err)
}

// Lease takes the lease on an execution digest, under which a case with the judgement
// digest is judged; the latter may be empty. The error is ErrLeased while another run has
// it whose samples this one could use: then they are worth waiting for. A run with more
// trust never waits for one with less.
func (r *RunHandle) Lease(ctx context.Context, digest, judgement string) (*Lease, error) {
	l := r.ledger
	lease := &Lease{handle: r, digest: digest, lost: make(chan struct{})}
	kept, taken, err := l.keep(ctx, lease, judgement)
	if err == nil && !kept && !taken {
		taken, err = l.acquire(ctx, lease, judgement)
	}
	switch {
	case err != nil:
		return nil, l.store.Fault("take the lease on "+digest, err)
	case taken:
		return nil, ErrLeased
	}
	lease.undrop()
	return lease, nil
}

// acquire stores a lease, and reports whether a living run has it instead.
func (l *Ledger) acquire(ctx context.Context, x *Lease, judgement string) (taken bool, err error) {
	err = l.epochs.Acquire(ctx, l.store, x, judgement)
	if !errors.Is(err, store.ErrRefused) {
		return false, err
	}
	for {
		var elsewhere bool
		err = l.store.Submit(ctx, func(t *store.Tx) (err error) {
			taken, elsewhere, err = l.take(t, x, judgement)
			return err
		})
		if err != nil || !elsewhere {
			return taken, err
		}
		if err := l.awaitRows(ctx); err != nil {
			return false, err
		}
	}
}

// unused finds out whether nothing is stored under the digests of an execution and its
// judgement, neither samples nor calls. Judgements rest on samples.
const (
	unused     = "SELECT " + hasNothing
	hasNothing = "NOT EXISTS (SELECT 1 FROM samples WHERE e = ?1) AND NOT EXISTS (SELECT 1 FROM calls WHERE digest IN (?1, ?2))"
)

// Blank reports that nothing was stored under the digests when the lease was taken,
// in any scope. Since then only its holder can have stored anything.
func (x *Lease) Blank() bool { return x != nil && x.blank }

// take takes a lease. It reports whether a living run has it instead, or whether another
// process keeps leases, which may be one of them.
func (l *Ledger) take(t *store.Tx, x *Lease, judgement string) (taken, elsewhere bool, err error) {
	free := "NOT EXISTS (SELECT 1 FROM leases WHERE digest = ?1 AND ns IN ('', ?3))"
	if l.store.Locks().Shared() {
		free += " AND NOT EXISTS (SELECT 1 FROM underway WHERE alone = 1)"
	}
	err = t.Row("INSERT INTO leases (digest, ns, owner, until) SELECT ?1, ?3, ?4, ?5 WHERE "+free+" ON CONFLICT (digest, ns) DO NOTHING RETURNING epoch, "+hasNothing,
		digestBytes(x.digest), digestBytes(judgement), x.handle.trust.namespace(), x.handle.run, l.soon()).Scan(&x.epoch, &x.blank)
	if !errors.Is(err, sql.ErrNoRows) {
		return false, false, err
	}
	if elsewhere, err = l.makeRoom(t); err != nil || elsewhere {
		return false, elsewhere, err
	}
	if taken, err = l.replace(t, x); err != nil || taken {
		return taken, false, err
	}
	return false, false, t.Row(unused, digestBytes(x.digest), digestBytes(judgement)).Scan(&x.blank)
}

// replace takes the place of a lease that has ended, and reports whether a living run
// has it instead.
func (l *Ledger) replace(t *store.Tx, x *Lease) (taken bool, err error) {
	ns := x.handle.trust.namespace()
	var before sql.NullInt64
	if err := t.Row("SELECT max(epoch) FROM leases WHERE digest = ? AND ns = ?", digestBytes(x.digest), ns).Scan(&before); err != nil {
		return false, err
	}
	if taken, err := l.isLeased(t, x.digest, ns); err != nil || taken {
		return taken, err
	}
	// One that has ended is removed with its claims. Another may appear right then.
	if err := t.Exec("DELETE FROM leases WHERE epoch = ?", before.Int64); err != nil {
		return false, err
	}
	err = t.Row("INSERT INTO leases (digest, ns, owner, until) VALUES (?, ?, ?, ?) ON CONFLICT (digest, ns) DO NOTHING RETURNING epoch",
		digestBytes(x.digest), ns, x.handle.run, l.soon()).Scan(&x.epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return false, err
}

// signed selects the owners of the leases on a digest, each after + if its lease lasts, or
// after -. One that lasts too long was taken before the clock was set back.
const signed = "CASE WHEN until > ?1 AND until <= ?2 THEN '+' ELSE '-' END || owner"

// isLeased reports whether a living run has the lease. A run of this process is alive until
// it ends, even if the database did not take its signs of life for a while.
func (l *Ledger) isLeased(t *store.Tx, digest, ns string) (bool, error) {
	leased := func() (isMine, there bool, err error) {
		now := l.now()
		var list string
		err = t.Row("SELECT json_group_array("+signed+") FROM leases WHERE digest = ?3 AND ns IN ('', ?4)",
			now.UnixMilli(), now.Add(longestLease).UnixMilli(), digestBytes(digest), ns).Scan(&list)
		var owners []string
		if err == nil {
			err = json.Unmarshal([]byte(list), &owners)
		}
		for _, owner := range owners {
			isMine = isMine || l.store.Locks().Mine(owner[1:])
			there = there || owner[0] == '+'
		}
		return isMine, there, err
	}
	isMine, there, err := leased()
	if err != nil || isMine || !there {
		return isMine, err
	}
	if err := l.sweep(t); err != nil {
		return false, err
	}
	_, there, err = leased()
	return there, err
}

// Leased reports whether the lease on a digest is worth waiting for, if that can be
// determined without writing.
func (r *RunHandle) Leased(ctx context.Context, digest string) (bool, error) {
	l, now, there := r.ledger, r.ledger.now(), false
	if l.alone.has(leasePlace{digest, r.trust.namespace()}) {
		return true, nil
	}
	err := l.store.Each(ctx, func(rows *sql.Rows) error {
		var owner string
		if err := rows.Scan(&owner); err != nil {
			return err
		}
		run := owner[1:]
		there = there || l.store.Locks().Mine(run) || owner[0] == '+' && l.store.Locks().Alive(run)
		return nil
	}, "SELECT "+signed+" FROM leases WHERE digest = ?3 AND ns IN ('', ?4)",
		now.UnixMilli(), now.Add(longestLease).UnixMilli(), digestBytes(digest), r.trust.namespace())
	return there, l.store.Fault("read the lease on "+digest, err)
}

// Lost is closed when the holder learns that another run took over.
func (x *Lease) Lost() <-chan struct{} { return x.lost }

// Release gives up the lease, if it is still held.
func (x *Lease) Release(ctx context.Context) error {
	if !x.drop() || !x.handle.ledger.alone.remove(x) {
		return nil
	}
	err := x.handle.ledger.store.Submit(ctx, func(t *store.Tx) error { return t.Exec("DELETE FROM leases WHERE epoch = ?", x.epoch) })
	return x.handle.ledger.store.Fault("release "+x.digest, err)
}

// drop removes the lease from the held ones, and reports whether it was one of them.
func (x *Lease) drop() bool {
	r := x.handle
	r.mu.Lock()
	defer r.mu.Unlock()
	_, held := r.leases[x.epoch]
	delete(r.leases, x.epoch)
	return held
}

// undrop reverts drop for a lease that continues unless it is lost.
func (x *Lease) undrop() {
	select {
	case <-x.lost:
		return
	default:
	}
	r := x.handle
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases[x.epoch] = x
}

// check demands that no other run took over. Without a lease it always succeeds.
func (x *Lease) check(t *store.Tx) error {
	if x == nil {
		return nil
	}
	held, err := x.inMemory(t)
	if err != nil || held {
		return err
	}
	// No other run takes over before this transaction ends.
	err = t.Row("SELECT count(*) > 0 FROM (SELECT 1 FROM leases WHERE epoch = ? /* FOR UPDATE */) AS held", x.epoch).Scan(&held)
	if err != nil {
		return err
	}
	if !held {
		x.lose()
		return ErrLeaseLost
	}
	return nil
}

// end ends the lease, and demands the same as check.
func (x *Lease) end(t *store.Tx) error {
	if x == nil {
		return nil
	}
	if held, err := x.inMemory(t); err != nil || held {
		return err
	}
	n, err := t.Change("DELETE FROM leases WHERE epoch = ?", x.epoch)
	if err == nil && n == 0 {
		x.lose()
		return ErrLeaseLost
	}
	return err
}

// done ends the interest in the digest, with the next sign of life.
func (x *Lease) done() {
	r := x.handle
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged = append(r.judged, x.digest)
}

func (x *Lease) lose() {
	x.drop()
	x.handle.ledger.alone.remove(x)
	x.once.Do(func() { close(x.lost) })
}

// soon is the time until which a sign of life counts. Transactions call it, since they
// may have waited for their turn.
func (l *Ledger) soon() int64 { return l.now().Add(leaseTime).UnixMilli() }
