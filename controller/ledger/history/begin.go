package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// Begin has the history of judgement digests begin at a time, since what is older was
// found to be no longer true.
func Begin(ctx context.Context, l *ledger.Ledger, digests []string, at time.Time) error {
	err := l.Store().Submit(ctx, func(t *store.Tx) error {
		for _, j := range digests {
			if err := t.Exec("INSERT INTO histories (j, since) VALUES (?, ?) ON CONFLICT DO NOTHING", j, at.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
	return l.Store().Fault("begin histories", err)
}

// Begun are the times at which the histories of judgement digests began again, the
// earliest first. Digests whose history never did are left out.
func Begun(ctx context.Context, l *ledger.Ledger, digests []string) (map[string][]time.Time, error) {
	list, err := json.Marshal(digests)
	if err != nil {
		return nil, err
	}
	begun := map[string][]time.Time{}
	err = l.Store().Each(ctx, func(rows *sql.Rows) error {
		var j string
		var since int64
		if err := rows.Scan(&j, &since); err != nil {
			return err
		}
		begun[j] = append(begun[j], time.UnixMilli(since).UTC())
		return nil
	}, "SELECT h.j, h.since FROM (SELECT DISTINCT value FROM json_each(?)) q JOIN histories h ON h.j = q.value ORDER BY h.j, h.since", string(list))
	return begun, l.Store().Fault("read when histories began", err)
}

// Last is the last of the times, the earliest first, that is not after another one; zero
// where there is none.
func Last(begun []time.Time, until time.Time) (last time.Time) {
	for _, at := range begun {
		if !at.After(until) {
			last = at
		}
	}
	return last
}
