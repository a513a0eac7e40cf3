package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// beat returns signs of life until it is cancelled. While the run is alone, it looks for
// other processes.
func (r *RunHandle) beat(ctx context.Context, isAlone bool) {
	tick, look := time.NewTicker(beatEvery), time.NewTicker(lookEvery)
	defer tick.Stop()
	defer look.Stop()
	for {
		if !isAlone {
			look.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.sign(ctx)
		case <-look.C:
			isAlone = r.look(ctx)
		}
	}
}

// sign gives one sign of life and notifies the leases that turn out to be lost. If the
// sign cannot be written, the holders learn it from their next writes.
func (r *RunHandle) sign(ctx context.Context) {
	r.mu.Lock()
	before, judged := slices.Collect(maps.Values(r.leases)), r.judged
	r.judged = nil
	r.mu.Unlock()
	over, err := digestList(judged)
	if err != nil {
		return
	}
	var list string
	var until int64
	var alone bool
	err = r.ledger.store.Submit(ctx, func(t *store.Tx) error {
		until = r.ledger.soon()
		err := errors.Join(
			t.Exec("INSERT INTO underway (run, ns, until) VALUES (?, ?, ?) ON CONFLICT (run) DO UPDATE SET until = excluded.until",
				r.run, r.trust.namespace(), until),
			t.Exec("UPDATE leases SET until = ? WHERE owner = ?", until, r.run),
			t.Exec("DELETE FROM wanted WHERE run = ? AND digest IN (SELECT unhex(value) FROM json_each(?))", r.run, over))
		if err != nil {
			return err
		}
		if alone, err = r.isAlone(t); err != nil {
			return err
		}
		return t.Row("SELECT json_group_array(epoch) FROM leases WHERE owner = ?", r.run).Scan(&list)
	})
	var held []int64
	if err != nil || json.Unmarshal([]byte(list), &held) != nil {
		r.mu.Lock()
		r.judged = append(r.judged, judged...)
		r.mu.Unlock()
		return
	}
	r.mu.Lock()
	r.alone, r.until = alone, until
	r.mu.Unlock()
	for _, lease := range before {
		if (!alone || !lease.isKept()) && !slices.Contains(held, lease.epoch) && lease.drop() {
			lease.lose()
		}
	}
}

// sweep forgets the runs that are dead, so that nobody waits for them.
func (l *Ledger) sweep(t *store.Tx) error {
	now := l.now()
	var list string
	err := t.Row("SELECT json_group_array(CASE WHEN until > ? AND until <= ? THEN '+' ELSE '-' END || run) FROM underway",
		now.UnixMilli(), now.Add(longestLease).UnixMilli()).Scan(&list)
	if err != nil {
		return err
	}
	var runs []string // each after + if it gave a sign of life, or after -
	if err := json.Unmarshal([]byte(list), &runs); err != nil {
		return err
	}
	for _, signed := range runs {
		run := signed[1:]
		if l.store.Locks().Mine(run) {
			continue
		}
		if !l.store.Locks().Alive(run) {
			if err := t.Exec("DELETE FROM leases WHERE owner = ?", run); err != nil {
				return err
			}
		} else if signed[0] == '+' {
			continue
		}
		// The leases of a run that is only silent end by themselves.
		if err := leave(t, run); err != nil {
			return err
		}
	}
	return nil
}

// leave removes a run from the runs in progress.
func leave(t *store.Tx, run string) error {
	return errors.Join(t.Exec("DELETE FROM wanted WHERE run = ?", run), t.Exec("DELETE FROM underway WHERE run = ?", run))
}
