package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// Single makes a change by statements in one round trip. The server treats statements
// that are sent together as one transaction, so it needs neither a begin nor a commit.
func (e *engine) Single(ctx context.Context, order store.Order, statements ...store.Statement) error {
	if order == store.Alone {
		lock := store.Statement{Text: "SELECT pg_advisory_xact_lock(?)", Args: []any{int64(writing)}}
		statements = append([]store.Statement{lock}, statements...)
	}
	if e.made.Add(1)%1000 == 0 {
		statements = append(statements[:len(statements):len(statements)], store.Statement{Text: forgetting})
	}
	return e.change(ctx, func(ctx context.Context) error { return e.send(ctx, statements) })
}

func (e *engine) send(ctx context.Context, statements []store.Statement) error {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	return conn.Raw(func(raw any) error {
		var batch pgx.Batch
		for _, s := range statements {
			known := e.known.translate(s.Text)
			batch.Queue(known.text, known.pick(s.Args)...)
		}
		results := raw.(*stdlib.Conn).Conn().SendBatch(ctx, &batch)
		var err error
		for _, s := range statements {
			if err == nil && s.Into == nil {
				_, err = results.Exec()
			} else if err == nil {
				err = results.QueryRow().Scan(s.Into...)
			}
		}
		return singly(errors.Join(err, results.Close()))
	})
}

// duplicate is the code of a row that is there.
const duplicate = "23505"

// refusals are the codes of errors by which a statement refuses a change: a text that
// is not a number, which is how a statement refuses by itself; a null in a column that
// forbids it; a missing row; an existing one; and a right that the role lacks.
var refusals = []string{"22P02", "23502", "23503", duplicate, "42501"}

// singly interprets an error of statements that are sent together. An existing token
// means that the change was made before.
func singly(err error) error {
	var fault *pgconn.PgError
	if !errors.As(err, &fault) {
		return err
	}
	if fault.Code == duplicate && fault.ConstraintName == "submissions_pkey" {
		return nil
	}
	if slices.Contains(refusals, fault.Code) {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	return err
}
