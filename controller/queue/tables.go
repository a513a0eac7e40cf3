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
var schema string

// ours are the tables that schema makes. Those of the library have names that another
// program may have, too.
var ours = []string{"queue_workers", "queue_runs", "queue_outcomes", "queue_targets", "queue_shares"}

// Migrate makes the tables of the queue in the schema of the ledger's, or brings them up
// to date. Several processes may do so at once, in any order with those that open the
// ledger. A role that may only use the tables can do so when there is nothing to make.
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
	// Its tables may be found in another schema, as those of another program.
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
	_, err = conn.Exec(ctx, schema)
	return err
}
