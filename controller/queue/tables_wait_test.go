package queue_test

import (
	"context"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
	"github.com/gavel-evals/gavel/controller/queue"
)

// TestProcessesThatWaitToMakeTables on an empty database find what the first one of them
// made, the ledgers' as the queues'.
func TestProcessesThatWaitToMakeTables(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	o := outside(t, url)
	locks := []int64{0x6761766c00, 0x676176656c} // of the ledger's tables and of the queue's
	for _, lock := range locks {
		if _, err := o.conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", lock); err != nil {
			t.Fatal(err)
		}
	}
	makeLedger := func(ctx context.Context) error {
		l, err := ledger.Open(ctx, ledger.Config{Path: url})
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	}
	makeQueue := func(ctx context.Context) error {
		q, err := queue.Open(ctx, url)
		if err == nil {
			t.Cleanup(q.Close)
			err = q.Migrate(ctx)
		}
		return err
	}
	var group sync.WaitGroup
	makers := []func(context.Context) error{makeLedger, makeQueue, makeLedger, makeQueue}
	for _, make := range makers {
		group.Go(func() {
			if err := make(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < len(makers); {
		err := o.conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, lock := range locks {
		if _, err := o.conn.Exec(t.Context(), "SELECT pg_advisory_unlock($1)", lock); err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
}
