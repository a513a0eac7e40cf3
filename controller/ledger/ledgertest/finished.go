package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
)

// remains are rows that processes may leave that were killed. The query counts them; ? is
// the time in milliseconds: leases and signs of life end by themselves.
type remains struct{ what, query string }

var unfinished = []remains{
	{"leases", "SELECT count(*) FROM leases WHERE until > ?"},
	{"runs in progress", "SELECT count(*) FROM underway WHERE until > ?"},
	{"postings that no forge has", "SELECT count(*) FROM outbox WHERE published IS NULL"},
	{"heads that are pending", "SELECT count(*) FROM pending_heads"},
	{"heads under suspicion", "SELECT count(*) FROM suspects"},
}

// ofQueue are the entries that may be left in a queue.
var ofQueue = remains{"tasks", "SELECT count(*) FROM river_job WHERE kind = 'case' AND state NOT IN ('cancelled', 'completed', 'discarded')"}

// expire is how long the remains of a killed process may exist.
const expire = 15 * time.Second

// Finished waits until killed processes have left no entries in a ledger, nor in the
// queue of its database, if it has one. The error lists the entries that are left after
// a while.
func Finished(ctx context.Context, l *ledger.Ledger) error {
	ctx, cancel := context.WithTimeout(ctx, expire)
	defer cancel()
	queries := unfinished
	if postgres.IsURL(l.Path()) {
		n, err := count(ctx, l, "SELECT count(*) FROM pg_tables WHERE tablename = 'river_job'")
		if err != nil {
			return err
		}
		if n > 0 {
			queries = append(queries[:len(queries):len(queries)], ofQueue)
		}
	}
	var left []string
	for {
		found := []string{}
		for _, q := range queries {
			n, err := count(ctx, l, q.query)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if n > 0 {
				found = append(found, fmt.Sprint(n, " ", q.what))
			}
		}
		if ctx.Err() != nil {
			return errors.New("in the ledger are still " + strings.Join(left, ", "))
		}
		if left = found; len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(expire / 30):
		}
	}
}

func count(ctx context.Context, l *ledger.Ledger, query string) (n int, err error) {
	var args []any
	if strings.Contains(query, "?") {
		args = append(args, time.Now().UnixMilli())
	}
	err = l.Store().Each(ctx, func(rows *sql.Rows) error { return rows.Scan(&n) }, query, args...)
	return n, err
}
