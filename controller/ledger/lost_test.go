package ledger_test

import (
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// TestALostDatabaseIsWaitedFor: PostgreSQL is killed again and again while several write.
// Each change is made once, also where its connection was lost while it was committed.
func TestALostDatabaseIsWaitedFor(t *testing.T) {
	const writers, changes, kills = 4, 150, 3
	server := postgrestest.Start(t)
	l := ledgertest.Open(t, ledger.Config{Path: server.URL(t), Wait: time.Minute})
	var made atomic.Int64
	var group sync.WaitGroup
	progress := make(chan struct{}, writers*changes)
	for range writers {
		group.Go(func() {
			for range changes {
				err := l.Store().Submit(t.Context(), func(tx *store.Tx) error {
					return tx.Exec("INSERT INTO spending (account, calls, tokens, usd) VALUES ('a', 1, 0, 0) ON CONFLICT (account) DO UPDATE SET calls = spending.calls + 1")
				})
				if err != nil {
					t.Errorf("a change is not made: %v", err)
				} else {
					made.Add(1)
				}
				progress <- struct{}{}
			}
		})
	}
	for range kills {
		for range writers * changes / (kills + 1) {
			<-progress
		}
		server.Kill(t)
		server.Restart(t)
	}
	group.Wait()
	var counted int64
	err := l.Store().Each(t.Context(), func(rows *sql.Rows) error { return rows.Scan(&counted) }, "SELECT calls FROM spending WHERE account = 'a'")
	if err != nil || counted != writers*changes || made.Load() != counted {
		t.Errorf("%d changes are counted and %d were reported as made, want %d: %v", counted, made.Load(), writers*changes, err)
	}
}
