package queue

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
)

//go:embed schema.sql
var makeTables string

// ours are the tables created by makeTables. The library's table names may also be another
// program's.
var ours = []string{"queue_workers", "queue_runs", "queue_outcomes", "queue_halves", "queue_targets", "queue_shares"}

// Migrate creates or updates the queue's tables in the ledger's database schema.
// Several processes may do so at once, in any order with processes that open the
// ledger. If there is nothing to create, a role without rights on the schema is enough.
func (q *Queue) Migrate(ctx context.Context) error {
	const migrating = 0x676176656c // an advisory lock
	fail := func(err error) error { return fmt.Errorf("bring the queue up to date: %w", err) }
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return fail(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", migrating); err != nil {
		return fail(err)
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrating) }()
	if err := q.makeTables(ctx, conn); err != nil {
		return fail(err)
	}
	return nil
}

func (q *Queue) makeTables(ctx context.Context, conn *pgxpool.Conn) error {
	in, err := postgres.MakeSchema(ctx, conn.Conn())
	if err != nil {
		return err
	}
	if in == "" {
		return errors.New("the search_path of the database's address names no schema that exists; make it, or leave the search_path out")
	}
	// Its tables may be found in another schema, as another program's.
	migrator, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Schema: in, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	var there int
	err = conn.QueryRow(ctx, "SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename = ANY ($2)", in, ours).Scan(&there)
	if err != nil || there == len(ours) {
		return err
	}
	_, err = conn.Exec(ctx, makeTables)
	return err
}
