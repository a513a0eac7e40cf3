package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
)

// maxBatch bounds how many writes share one transaction, and with it how long
// one of them waits for the others.
const maxBatch = 256

// A write is one caller's change, which waits for its transaction.
type write struct {
	do   func(*Tx) error
	done chan error
}

// A turn is the transaction that changes to a file are made in. A cancelled caller
// does not end it, for it serves others too.
type turn struct {
	*Tx
	lock  writeLock
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by text, kept from one transaction to the next
}

func newTurn(conn *sql.Conn) *turn {
	t := &turn{conn: conn, stmts: map[string]*sql.Stmt{}}
	t.Tx = &Tx{t}
	return t
}

// withConn calls do with statements over a connection that has no transaction yet; each
// statement is its own transaction.
func withConn(conn *sql.Conn, do func(*Tx) error) error {
	t := newTurn(conn)
	return errors.Join(do(t.Tx), t.forget())
}

// ErrClosed is the error of writes after Close.
var ErrClosed = errors.New("it is closed")

// Submit passes a change to the writer and returns when it is durable. ctx can end the
// wait only before the change is started. The change may be called twice, and the
// effect of its first call is then undone in the database only.
//
// All changes to a file are made one after the other, whatever their order says.
func (s *file) Submit(ctx context.Context, _ Order, do func(*Tx) error) error {
	if err := errors.Join(ctx.Err(), s.refuse); err != nil {
		return err
	}
	w := write{do: do, done: make(chan error, 1)}
	select {
	case s.writes <- w:
		return <-w.done
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stop:
		return ErrClosed
	}
}

// writer is the only goroutine that writes. The changes that arrive while one
// transaction is flushed to disk are made together in the next, so that they share its
// flush. It ends when the ledger is closed, with the error of closing.
func (s *file) writer(conn *sql.Conn) error {
	t := newTurn(conn)
	t.lock = s.lives.WriteLock()
	for {
		select {
		case w := <-s.writes:
			t.commit(s.gather(w))
		case <-s.stop:
			return t.close()
		}
	}
}

// gather adds the changes to a first one that wait already, or that goroutines which can
// run now are about to submit. A commit takes longer than most changes.
func (s *file) gather(first write) []write {
	batch := []write{first}
	for asked := false; len(batch) < maxBatch; {
		select {
		case w := <-s.writes:
			batch, asked = append(batch, w), false
		default:
			if asked {
				return batch
			}
			asked = true
			runtime.Gosched()
		}
	}
	return batch
}

// commit writes a batch. When one of its changes fails, each is written again in its
// own transaction, so that it fails alone.
func (t *turn) commit(batch []write) {
	failed, err := t.transact(batch)
	if !failed || len(batch) == 1 {
		for _, w := range batch {
			w.done <- err
		}
		return
	}
	for i := range batch {
		_, err := t.transact(batch[i : i+1])
		batch[i].done <- err
	}
}

// transact makes all changes or none. failed reports that a change and not the
// transaction failed.
func (t *turn) transact(batch []write) (failed bool, err error) {
	defer t.lock.Acquire()()
	if err := t.Exec("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	for _, w := range batch {
		if err := w.do(t.Tx); err != nil {
			t.rollback()
			return true, err
		}
	}
	if err := t.Exec("COMMIT"); err != nil {
		t.rollback()
		return false, err
	}
	return false, nil
}

// rollback undoes a transaction. It can fail only if there is none any more, because
// SQLite has undone it itself, as it does when the disk is full.
func (t *turn) rollback() { _ = t.Exec("ROLLBACK") }

// close ends the connection. A statement that is left open would keep the file
// open, and its log from being folded into it.
func (t *turn) close() error { return errors.Join(t.forget(), t.conn.Close()) }

func (t *turn) forget() (err error) {
	for _, stmt := range t.stmts {
		err = errors.Join(err, stmt.Close())
	}
	return err
}

// Change runs a statement and returns how many rows it changed.
func (t *turn) Change(text string, args ...any) (int64, error) {
	stmt, err := t.prepare(text)
	if err != nil {
		return 0, err
	}
	result, err := stmt.Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Row reads one row in the transaction.
func (t *turn) Row(text string, args ...any) *sql.Row {
	stmt, err := t.prepare(text)
	if err != nil {
		// The text cannot be prepared; running it gives a row with that error.
		return t.conn.QueryRowContext(context.Background(), text, args...)
	}
	return stmt.QueryRow(args...)
}

func (t *turn) prepare(text string) (*sql.Stmt, error) {
	if stmt, ok := t.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := t.conn.PrepareContext(context.Background(), text)
	if err == nil {
		t.stmts[text] = stmt
	}
	return stmt, err
}
