// Package ledger remembers what was judged before, so that no verdict is paid
// for twice.
//
// [Open] gives a [Ledger] on a SQLite file. It is the source of truth and
// append-only: samples, judgements and decisions by their digests, the journal
// of every call, and the runs with their reports. What a write returns without
// an error is on disk. What an untrusted head wrote serves nobody but the same
// pull request, see [Scope].
//
// Most callers ask with [Ledger.Known] what there is, and write what is new of
// a case with [Ledger.Save].
package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/lives"
)

// A Config says where the ledger is.
type Config struct {
	// Path is the file. It and its folder are made when they are missing,
	// for nobody but their owner.
	Path string
	// Wait bounds how long a write waits for other processes that write to
	// the same file. Defaults to 10 s.
	Wait time.Duration
	// Now is the clock that entries are dated by. Defaults to time.Now.
	Now func() time.Time
	// Rand gives the ledger's secret. Defaults to crypto/rand.
	Rand io.Reader
}

// A Ledger is safe for concurrent use, and several processes may have the same
// file open.
type Ledger struct {
	path   string
	db     *sql.DB
	now    func() time.Time
	secret []byte
	lives  *lives.Lives

	mu    sync.Mutex
	reads map[string]*sql.Stmt // by text; guarded by mu

	writes chan write
	stop   chan struct{}
	close  func() error
}

// Open opens the ledger and brings its schema up to date. Errors say what to
// do about a file that is no ledger, that is damaged, that a newer version
// wrote, that is locked, or that cannot be written.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Wait == 0 {
		cfg.Wait = 10 * time.Second
	}
	l := &Ledger{
		path: cfg.Path, now: cfg.Now, reads: map[string]*sql.Stmt{},
		writes: make(chan write), stop: make(chan struct{}),
	}
	path, err := prepareFile(cfg.Path)
	if err != nil {
		return nil, l.fault("open", err)
	}
	l.lives = lives.New(path + "-runs")
	if l.db, err = sql.Open("sqlite", dsn(path, cfg.Wait)); err != nil {
		return nil, l.fault("open", err)
	}
	// A connection is dear to open and cannot read faster than a core.
	conns := max(4, runtime.GOMAXPROCS(0)) + 1
	l.db.SetMaxOpenConns(conns)
	l.db.SetMaxIdleConns(conns)
	conn, err := l.prepare(ctx, cfg)
	if err != nil {
		return nil, l.fault("open", errors.Join(err, l.db.Close()))
	}
	l.start(conn)
	return l, nil
}

// start begins to write over a connection of its own.
func (l *Ledger) start(conn *sql.Conn) {
	ended := make(chan error)
	go func() { ended <- l.writer(conn) }()
	l.close = sync.OnceValue(func() error {
		close(l.stop)
		return l.fault("close", errors.Join(<-ended, l.db.Close(), l.lives.Close()))
	})
}

// prepare brings the schema up to date and loads what every caller needs.
func (l *Ledger) prepare(ctx context.Context, cfg Config) (*sql.Conn, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := patiently(ctx, cfg.Wait, func() error { return migrate(ctx, conn) }); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if l.secret, err = l.loadSecret(ctx, conn, cfg.Rand); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Close waits until the writes that were taken up are on disk and closes the
// file. Writes after it are refused.
func (l *Ledger) Close() error { return l.close() }

// Secret is 32 random bytes that were made with the ledger.
func (l *Ledger) Secret() []byte { return l.secret }

// loadSecret makes the secret where there is none. Of two processes that do so
// at once the first wins, and both get its secret.
func (l *Ledger) loadSecret(ctx context.Context, conn *sql.Conn, random io.Reader) ([]byte, error) {
	var secret []byte
	load := func() error {
		return conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'secret'").Scan(&secret)
	}
	err := load()
	if !errors.Is(err, sql.ErrNoRows) {
		return secret, err
	}
	fresh := make([]byte, 32)
	if _, err := io.ReadFull(random, fresh); err != nil {
		return nil, fmt.Errorf("make the secret: %w", err)
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('secret', ?), ('created', ?) ON CONFLICT DO NOTHING",
		fresh, []byte(l.now().UTC().Format(time.RFC3339)))
	if err != nil {
		return nil, err
	}
	return secret, load()
}

// query reads. Statements are prepared once, for most of the time of a small
// query goes into that.
func (l *Ledger) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	l.mu.Lock()
	stmt, ok := l.reads[text]
	l.mu.Unlock()
	if !ok {
		var err error
		if stmt, err = l.db.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.reads[text] = stmt
		l.mu.Unlock()
	}
	return stmt.QueryContext(ctx, args...)
}

// each calls do for every row of a query.
func (l *Ledger) each(ctx context.Context, do func(*sql.Rows) error, text string, args ...any) (err error) {
	rows, err := l.query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// fault says what was done with which ledger when the error came up, and what
// to do about it.
func (l *Ledger) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	hint := repair(err)
	if hint != "" {
		hint = "; " + hint
	}
	return fmt.Errorf("ledger %s: %s: %w%s", filepath.ToSlash(l.path), op, err, hint)
}
