package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// An Order says what a change may be made next to.
type Order int

// A change that reads what it then relies on is made alone. One is made alongside
// others of this kind only if it is right in every order of their statements: because
// it locks the rows that it relies on, or because a constraint decides.
const (
	Alone Order = iota
	Alongside
)

// An Engine is the database below a [Store].
type Engine interface {
	// Query reads. The caller closes the rows.
	Query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	// Submit has a change made and returns when it is durable. ctx can end the wait
	// only before the change is taken up. do may be called twice, and what it did the
	// first time is then undone in the database only.
	Submit(ctx context.Context, order Order, do func(*Tx) error) error
	// Hint says what to do about an error, or nothing.
	Hint(err error) string
	// Close waits for the changes that were taken up. It refuses later ones.
	Close() error
}

// A Statement is one with its arguments. Into is where the columns of the row go that it
// returns; nil where it returns none.
type Statement struct {
	Text       string
	Args, Into []any
}

// ErrRefused means that a change is not made by its statements, and has to be made by
// [Store.Submit], which knows why.
var ErrRefused = errors.New("the change has to be made step by step")

// A Single is an [Engine] that makes a change by statements whose results it does not
// need in between: in one transaction and one round trip.
type Single interface {
	// Single runs the statements, and may run them twice. One that stores a token in
	// submissions was run before where the token is there. The error is ErrRefused
	// where one of them refuses. Alone is as for Submit; Alongside takes no lock.
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
	vanished   func() error // nil for what cannot vanish
}

// A Native is what each kind of database does in a way of its own.
type Native struct {
	DB *sql.DB
	// Rewrite puts a statement and its arguments into the words of the database; nil
	// leaves them as they are.
	Rewrite func(text string, args []any) (string, []any)
	// Isolation makes a transaction see the database as of one moment.
	Isolation sql.IsolationLevel
	// Sizes is the query for the bytes that entries take, and those that are free.
	Sizes string
	// Faults are queries for what the database itself finds broken: entries, each with
	// a message.
	Faults []string
	// Shrink are the statements that give free space back to the disk.
	Shrink []string
}

// New returns a store on another engine than a file. name is what people are told,
// without secrets.
func New(e Engine, n Native, name string) *Store {
	return &Store{engine: e, native: n, name: name, path: name, lives: heartbeatLocks()}
}

// Path is the full path of the file, or what another database is called.
func (s *Store) Path() string { return s.path }

// Locks tell which runs are alive.
func (s *Store) Locks() *runLocks { return s.lives }

// DB is the database, for what [Store.Each] and [Store.Submit] cannot do.
func (s *Store) DB() *sql.DB { return s.native.DB }

// Sizes returns the bytes that entries take, and those that are free.
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

// Shrink gives free space back to the disk, where the database does not do so by itself.
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

// Vanished is [ErrVanished] where the file at the path is not the one that was
// opened. Later writes are lost with the last process that has it open.
func (s *Store) Vanished() error {
	if s.vanished == nil {
		return nil
	}
	return s.Fault("look at the file", s.vanished())
}

// Submit has a change made alone, see [Engine].
func (s *Store) Submit(ctx context.Context, do func(*Tx) error) error {
	return s.engine.Submit(ctx, Alone, do)
}

// Alongside has a change made that is right next to all others of its kind, see
// [Order].
func (s *Store) Alongside(ctx context.Context, do func(*Tx) error) error {
	return s.engine.Submit(ctx, Alongside, do)
}

// Single has a change made by statements in one round trip, see [Single]. The error is [ErrRefused] where the database has no such way.
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

// eachRow calls do for every row and closes them. The error is that of the query.
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

// Fault says what was done with which ledger when the error came up, and what
// to do about it.
func (s *Store) Fault(op string, err error) error { return fault(s.engine, s.name, op, err) }

func fault(e Engine, name, op string, err error) error {
	if err == nil {
		return nil
	}
	hint := e.Hint(err)
	if hint != "" {
		hint = "; " + hint
	}
	return fmt.Errorf("ledger %s: %s: %w%s", name, op, err, hint)
}
