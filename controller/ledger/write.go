package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// maxBatch bounds how many writes share one transaction.
const maxBatch = 256

// A write is one caller's change, which waits for its transaction.
type write struct {
	do   func(ctx context.Context, conn *sql.Conn) error
	done chan error
}

// errClosed is what writers get after Close.
var errClosed = errors.New("the ledger is closed")

// submit has a change written and returns when it is durable. ctx can end the
// wait only before the change is taken up.
func (l *Ledger) submit(ctx context.Context, do func(context.Context, *sql.Conn) error) error {
	w := write{do: do, done: make(chan error, 1)}
	select {
	case l.writes <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stop:
		return errClosed
	}
	return <-w.done
}

// writer is the only goroutine that writes. All changes that wait at the same
// time go into one transaction, so that they share its flush to disk.
func (l *Ledger) writer() {
	for {
		select {
		case w := <-l.writes:
			l.commit(l.gather(w))
		case <-l.stop:
			return
		}
	}
}

func (l *Ledger) gather(first write) []write {
	batch := []write{first}
	for len(batch) < maxBatch {
		select {
		case w := <-l.writes:
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

// commit writes a batch in one transaction. A change that fails is rolled back
// alone; if the transaction itself fails, all of them have failed.
func (l *Ledger) commit(batch []write) {
	ctx := context.Background() // a batch belongs to no single caller
	results := make([]error, len(batch))
	err := l.transact(ctx, func(conn *sql.Conn) error {
		for i, w := range batch {
			results[i] = nested(ctx, conn, w.do)
		}
		return nil
	})
	for i, w := range batch {
		if err != nil {
			results[i] = fmt.Errorf("write to the ledger: %w", err)
		}
		w.done <- results[i]
	}
}

func (l *Ledger) transact(ctx context.Context, do func(*sql.Conn) error) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it returns to the pool
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := do(conn); err != nil {
		_, undo := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, undo)
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		_, undo := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, undo)
	}
	return nil
}

func nested(ctx context.Context, conn *sql.Conn, do func(context.Context, *sql.Conn) error) error {
	if _, err := conn.ExecContext(ctx, "SAVEPOINT item"); err != nil {
		return err
	}
	if err := do(ctx, conn); err != nil {
		_, undo := conn.ExecContext(ctx, "ROLLBACK TO item; RELEASE item")
		return errors.Join(err, undo)
	}
	_, err := conn.ExecContext(ctx, "RELEASE item")
	return err
}
