package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// An engine is a database that several processes may have open.
type engine struct {
	db     *sql.DB
	wait   time.Duration
	known  statements
	places chan struct{} // the places of changes in progress
	made   atomic.Int64  // changes

	mu     sync.RWMutex // held for reading by every change
	closed bool         // guarded by mu
}

// Query reads.
func (e *engine) Query(ctx context.Context, text string, args ...any) (rows *sql.Rows, err error) {
	s := e.known.translate(text)
	picked := s.pick(args)
	err = e.patiently(ctx, isLost, func() error {
		rows, err = e.db.QueryContext(ctx, s.text, picked...)
		return err
	})
	return rows, err
}

// writing is the lock that a single change takes exclusively, and a change alongside
// others shares.
const writing = 0x6761766c01

// Submit makes a change in its own transaction. A change that may have been committed
// when its connection was lost is found by its token, and not made again.
func (e *engine) Submit(ctx context.Context, order store.Order, do func(*store.Tx) error) error {
	token := uuid.NewString()
	return e.change(ctx, func(ctx context.Context) error { return e.transact(ctx, token, order, do) })
}

// change calls do when it is the turn of a change, and again after errors that pass.
func (e *engine) change(ctx context.Context, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.places <- struct{}{}:
		defer func() { <-e.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return store.ErrClosed
	}
	after := context.WithoutCancel(ctx) // it is taken up
	return e.patiently(after, isTransient, func() error { return do(after) })
}

// A transaction is the transaction in which a change is made.
type transaction struct {
	ctx   context.Context
	conn  *sql.Conn
	pgx   pgx.Tx
	known *statements
}

// transact makes a change unless the token shows that it was made.
func (e *engine) transact(ctx context.Context, token string, order store.Order, do func(*store.Tx) error) (err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	t := &transaction{ctx: ctx, conn: conn, known: &e.known}
	err = conn.Raw(func(raw any) (err error) {
		t.pgx, err = raw.(*stdlib.Conn).Conn().Begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	made, err := t.begin(token, order)
	if err == nil && made {
		err = do(&store.Tx{Statements: t})
	}
	if err == nil && e.made.Add(1)%1000 == 0 {
		err = t.forget()
	}
	if err != nil {
		_ = t.pgx.Rollback(ctx) // the connection may be gone; the first error has the reason
		return err
	}
	return t.pgx.Commit(ctx)
}

// begin writes the token and takes the lock. It reports false if the change was made
// before: the token makes it wait for a change that is still being committed.
func (t *transaction) begin(token string, order store.Order) (bool, error) {
	lock := "pg_advisory_xact_lock"
	if order == store.Alongside {
		lock += "_shared"
	}
	var locked string
	err := t.conn.QueryRowContext(t.ctx, "INSERT INTO submissions (token) VALUES ($1) ON CONFLICT DO NOTHING RETURNING "+lock+"($2)::text",
		token, int64(writing)).Scan(&locked)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// forgetting removes old tokens, which are no longer used.
const forgetting = "DELETE FROM submissions WHERE made < now() - interval '1 hour'"

func (t *transaction) forget() error {
	_, err := t.conn.ExecContext(t.ctx, forgetting)
	return err
}

// Change runs a statement and returns how many rows it changed.
func (t *transaction) Change(text string, args ...any) (int64, error) {
	s := t.known.translate(text)
	result, err := t.conn.ExecContext(t.ctx, s.text, s.pick(args)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Row reads one row.
func (t *transaction) Row(text string, args ...any) *sql.Row {
	s := t.known.translate(text)
	return t.conn.QueryRowContext(t.ctx, s.text, s.pick(args)...)
}

// Tx returns the transaction in which a change is made, for others that take part in
// it, such as a queue that marks its job as done. It must not be committed or rolled
// back. The error says that the ledger is not in PostgreSQL.
func Tx(t *store.Tx) (pgx.Tx, error) {
	in, ok := t.Statements.(*transaction)
	if !ok {
		return nil, errors.New("the ledger is not in PostgreSQL")
	}
	return in.pgx, nil
}

// Close waits for the changes that were taken up and closes the connections.
func (e *engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	return e.db.Close()
}

// patiently calls do again while its error passes, for as long as the engine waits.
func (e *engine) patiently(ctx context.Context, passes func(error) bool, do func() error) error {
	return retry(ctx, e.wait, passes, do)
}

// Patiently calls do again while its error means that the server cannot be reached, for
// at most as long as wait. It returns the last error of do.
func Patiently(ctx context.Context, wait time.Duration, do func() error) error {
	return retry(ctx, wait, isLost, do)
}

func retry(ctx context.Context, wait time.Duration, passes func(error) bool, do func() error) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	deadline := time.Now().Add(wait)
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := do()
		if err == nil || !passes(err) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", wait, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// isStarting reports whether a server answers that it is not ready yet.
func isStarting(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && fault.Code == "57P03"
}

// isTransient reports whether a change may succeed when it is made again.
func isTransient(err error) bool {
	var fault *pgconn.PgError
	if errors.As(err, &fault) && (fault.Code == "40001" || fault.Code == "40P01") {
		return true // two changes waited for each other
	}
	return isLost(err)
}

// lost are the codes of a server that is stopping, starting, or full.
var lost = []string{"57P01", "57P02", "57P03", "25P03", "53300", "08000", "08003", "08006"}

// A briefError has another text than the error that it wraps.
type briefError struct {
	error
	text string
}

func (e briefError) Error() string { return e.text }
func (e briefError) Unwrap() error { return e.error }

// Brief returns an error in whose text each cause is once and on the same line. A server
// is tried with and without TLS, mostly with the same result.
func Brief(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	var causes []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(causes, line) {
			causes = append(causes, line)
		}
	}
	text := causes[0]
	if len(causes) > 1 {
		text += " " + strings.Join(causes[1:], "; ")
	}
	return briefError{err, text}
}

// IsLost reports whether an error means that the connection is gone, that none is
// available for now, or that the server does not answer.
func IsLost(err error) bool { return isLost(err) || errors.Is(err, context.DeadlineExceeded) }

// isLost reports whether an error means that the connection is gone, or that none is
// available for now.
func isLost(err error) bool {
	var fault *pgconn.PgError
	if errors.As(err, &fault) {
		return slices.Contains(lost, fault.Code)
	}
	var network net.Error
	var connecting *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connecting) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, sql.ErrConnDone)
}
