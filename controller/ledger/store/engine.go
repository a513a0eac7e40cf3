package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// An Order says which changes may be made at the same time as a change.
type Order int

// A change that relies on its own reads is made alone. One is made alongside others of
// this kind only if it is right in every order of their statements: because it locks
// the rows that it relies on, or because a constraint decides.
const (
	Alone Order = iota
	Alongside
)

// An Engine is the database below a [Store].
type Engine interface {
	// Query reads. The caller closes the rows.
	Query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	// Submit makes a change and returns when it is durable. ctx can end the wait only
	// before the change is started. do may be called twice, and the effect of its first
	// call is then undone in the database only.
	Submit(ctx context.Context, order Order, do func(*Tx) error) error
	// Hint says what to do about an error, or nothing.
	Hint(err error) string
	// Close waits for the changes that were taken up. It refuses later ones.
	Close() error
}

// A Statement is one with its arguments. Into receives the columns of the row that it
// returns; nil if it returns none.
type Statement struct {
	Text       string
	Args, Into []any
}

// ErrRefused means that statements cannot make a change, and that [Store.Submit] has to
// make it, which knows the reason.
var ErrRefused = errors.New("the change has to be made step by step")

// A Single is an [Engine] that makes a change by statements whose results it does not
// need in between: in one transaction and one round trip.
type Single interface {
	// Single runs the statements, and may run them twice. Statements that store a token
	// in submissions were run before if the token exists. The error is ErrRefused if
	// one of them refuses. Alone means the same as for Submit; Alongside takes no lock.
	Single(ctx context.Context, order Order, statements ...Statement) error
}

// Statements run in one transaction.
type Statements interface {
	// Change runs a statement and returns how many rows it changed.
	Change(text string, args ...any) (int64, error)
	// Row reads one row.
	Row(text string, args ...any) *sql.Row
}

// A Tx is the transaction that a change is made in.
type Tx struct{ Statements }

// Exec runs a statement in the transaction.
func (t *Tx) Exec(text string, args ...any) error {
	_, err := t.Change(text, args...)
	return err
}

// A Store is safe for concurrent use, and several processes may use the same
// database.
type Store struct {
	engine     Engine
	native     Native
	name, path string
	lives      *runLocks
	vanished   func() error // nil for a store that cannot vanish
}

// A Native is the behavior that differs between kinds of databases.
type Native struct {
	DB *sql.DB
	// Rewrite puts a statement and its arguments into the words of the database; nil
	// leaves them as they are.
	Rewrite func(text string, args []any) (string, []any)
	// Isolation makes a transaction see the database at one moment.
	Isolation sql.IsolationLevel
	// Sizes is the query for the bytes of entries, and the free bytes.
	Sizes string
	// Faults are queries for the faults that the database itself finds: entries, each
	// with a message.
	Faults []string
	// Shrink are the statements that give free space back to the disk.
	Shrink []string
}

// New returns a store on another engine than a file. name is its name in messages,
// without secrets.
func New(e Engine, n Native, name string) *Store {
	return &Store{engine: e, native: n, name: name, path: name, lives: heartbeatLocks()}
}

// Path returns the full path of the file, or the name of another database.
func (s *Store) Path() string { return s.path }

// Locks returns the locks that show which runs are alive.
func (s *Store) Locks() *runLocks { return s.lives }

// DB returns the database, for uses that [Store.Each] and [Store.Submit] do not cover.
func (s *Store) DB() *sql.DB { return s.native.DB }

// Sizes returns the bytes of entries, and the free bytes.
func (s *Store) Sizes(ctx context.Context) (used, free int64, err error) {
	err = s.native.DB.QueryRowContext(ctx, s.native.Sizes).Scan(&used, &free)
	return used, free, err
}

// Broken calls found with each entry that the database itself finds broken.
func (s *Store) Broken(ctx context.Context, found func(entry, message string)) error {
	for _, text := range s.native.Faults {
		err := each(ctx, s.native.DB, func(rows *sql.Rows) error {
			var entry, message string
			err := rows.Scan(&entry, &message)
			if err == nil {
				found(entry, message)
			}
			return err
		}, text)
		if err != nil {
			return err
		}
	}
	return nil
}

// Shrink gives free space back to the disk, if the database does not do so by itself.
func (s *Store) Shrink(ctx context.Context) error {
	for _, text := range s.native.Shrink {
		if _, err := s.native.DB.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("make the file smaller: %w", err)
		}
	}
	return nil
}

// A Reader calls do for every row of a query.
type Reader func(ctx context.Context, do func(*sql.Rows) error, text string, args ...any) error

// AsOf calls do with a reader that sees all entries as of one moment.
func (s *Store) AsOf(ctx context.Context, do func(Reader) error) (err error) {
	t, err := s.native.DB.BeginTx(ctx, &sql.TxOptions{Isolation: s.native.Isolation, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Rollback()) }()
	return do(func(ctx context.Context, row func(*sql.Rows) error, text string, args ...any) error {
		if s.native.Rewrite != nil {
			text, args = s.native.Rewrite(text, args)
		}
		return each(ctx, t, row, text, args...)
	})
}

// Vanished returns [ErrVanished] if the file at the path is not the opened one. Later
// writes are lost with the last process that has it open.
func (s *Store) Vanished() error {
	if s.vanished == nil {
		return nil
	}
	return s.Fault("look at the file", s.vanished())
}

// Submit makes a change alone, see [Engine].
func (s *Store) Submit(ctx context.Context, do func(*Tx) error) error {
	return s.engine.Submit(ctx, Alone, do)
}

// Alongside makes a change that is right next to all others of its kind, see [Order].
func (s *Store) Alongside(ctx context.Context, do func(*Tx) error) error {
	return s.engine.Submit(ctx, Alongside, do)
}

// Single makes a change by statements in one round trip, see [Single]. The error is
// [ErrRefused] if the database cannot do so.
func (s *Store) Single(ctx context.Context, order Order, statements ...Statement) error {
	if single, ok := s.engine.(Single); ok {
		return single.Single(ctx, order, statements...)
	}
	return ErrRefused
}

// Each calls do for every row of a query.
func (s *Store) Each(ctx context.Context, do func(*sql.Rows) error, text string, args ...any) error {
	rows, err := s.engine.Query(ctx, text, args...)
	return eachRow(rows, err, do)
}

type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

func each(ctx context.Context, in querier, do func(*sql.Rows) error, text string, args ...any) error {
	rows, err := in.QueryContext(ctx, text, args...)
	return eachRow(rows, err, do)
}

// eachRow calls do for every row and closes the rows. The error comes from do or from
// the query.
func eachRow(rows *sql.Rows, queried error, do func(*sql.Rows) error) (err error) {
	if queried != nil {
		return queried
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Close waits until the changes that were taken up are durable and closes the
// database. Changes after it are refused.
func (s *Store) Close() error { return s.engine.Close() }

// Fault describes an error: the action, the ledger, and what to do about it.
func (s *Store) Fault(op string, err error) error { return fault(s.engine, s.name, op, err) }

func fault(e Engine, name, op string, err error) error {
	if err == nil {
		return nil
	}
	hint := e.Hint(err)
	if hint != "" {
		hint = "; " + hint
	}
	return &FaultError{fmt.Sprintf("ledger %s: %s: %v%s", name, op, err, hint), err}
}

// A FaultError is an error of a ledger.
type FaultError struct {
	text  string
	cause error
}

// Error describes the action, the ledger, and what to do about it.
func (e *FaultError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *FaultError) Unwrap() error { return e.cause }
