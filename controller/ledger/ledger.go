// Package ledger remembers what was judged before, so that no verdict is paid
// for twice.
//
// [Open] gives a Ledger on a SQLite file. It is the source of truth and
// append-only: samples, judgements and decisions by their digests, the journal
// of every call, and the runs with their reports. What an untrusted head wrote
// serves nobody but the same pull request, see [Scope].
package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the database driver
)

//go:embed migrations/*.sql
var migrations embed.FS

// Level says how far what was judged is to be trusted.
type Level int

const (
	// LevelPull is a head that nobody with write permission stands for.
	LevelPull Level = 1
	// LevelBase is what the repository has accepted.
	LevelBase Level = 2
	// LevelOperator is the person at the keyboard.
	LevelOperator Level = 3
)

// Trust is written into every entry.
type Trust struct {
	Level      Level
	Repository string
	// PullRequest is 0 where there is none.
	PullRequest int
}

// namespace separates the entries that only the same pull request may read.
func (t Trust) namespace() string {
	if t.Level >= LevelBase {
		return ""
	}
	return t.Repository + "#" + strconv.Itoa(t.PullRequest)
}

// A Scope says which entries a reader may use: those of level base or above,
// and those of its own pull request.
type Scope struct {
	Trust
	// NotBefore leaves out what is older; zero leaves nothing out.
	NotBefore time.Time
	// Nothing leaves everything out: reuse is off.
	Nothing bool
}

func (s Scope) since() int64 {
	if s.NotBefore.IsZero() {
		return 0
	}
	return s.NotBefore.UnixMilli()
}

// A Config says where the ledger is.
type Config struct {
	// Path is the file. It and its folder are made when they are missing,
	// readable for the owner only.
	Path string
	// Now defaults to time.Now.
	Now func() time.Time
	// Rand gives the ledger's secret. Defaults to crypto/rand.
	Rand io.Reader
}

// A Ledger is safe for concurrent use, and several processes may have the same
// file open.
type Ledger struct {
	db     *sql.DB
	now    func() time.Time
	secret []byte

	writes chan write
	stop   chan struct{}
	done   sync.WaitGroup
}

// Open opens the ledger and brings its schema up to date. Errors say what to
// do about a file that is no ledger, that a newer version wrote, or that
// cannot be written.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if err := prepareFile(cfg.Path); err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	db, err := sql.Open("sqlite", dsn(cfg.Path))
	if err != nil {
		return nil, fmt.Errorf("open the ledger %s: %w", cfg.Path, err)
	}
	l := &Ledger{db: db, now: cfg.Now, writes: make(chan write), stop: make(chan struct{})}
	if err := l.migrate(ctx); err != nil {
		return nil, errors.Join(explain(cfg.Path, err), db.Close())
	}
	if l.secret, err = l.loadSecret(ctx, cfg.Rand); err != nil {
		return nil, errors.Join(explain(cfg.Path, err), db.Close())
	}
	l.done.Go(l.writer)
	return l, nil
}

// Close waits for writes that were begun and closes the file.
func (l *Ledger) Close() error {
	close(l.stop)
	l.done.Wait()
	if err := l.db.Close(); err != nil {
		return fmt.Errorf("close the ledger: %w", err)
	}
	return nil
}

// Secret is 32 random bytes that were made with the ledger.
func (l *Ledger) Secret() []byte { return l.secret }

func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; name another file with --ledger", err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(path string) string {
	q := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// explain adds to an error of the database what to do about it.
func explain(path string, err error) error {
	hint := ""
	switch text := err.Error(); {
	case strings.Contains(text, "file is not a database"), strings.Contains(text, "malformed"):
		hint = "; the file is no ledger or is damaged: move it away to start anew, or name another with --ledger"
	case strings.Contains(text, "database is locked"):
		hint = "; another process is writing to it: wait for it to end"
	case strings.Contains(text, "readonly"):
		hint = "; the file or its folder cannot be written"
	case strings.Contains(text, "disk is full"):
		hint = "; make room and run again: what was judged is kept"
	}
	return fmt.Errorf("open the ledger %s: %w%s", path, err, hint)
}

// migrate runs the numbered scripts that the file has not seen. How many it
// has seen stands in its user_version; a handful of scripts needs no library.
func (l *Ledger) migrate(ctx context.Context) error {
	scripts, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it returns to the pool
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version == len(scripts) {
		return nil
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := apply(ctx, conn, scripts); err != nil {
		_, undo := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

func apply(ctx context.Context, conn *sql.Conn, scripts []string) error {
	// Another process may have been quicker: only now nobody else writes.
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(scripts) {
		return fmt.Errorf("it was written by a newer version of gavel (schema %d, this one knows %d)", version, len(scripts))
	}
	for _, name := range scripts[version:] {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(scripts)))
	return err
}

func (l *Ledger) loadSecret(ctx context.Context, random io.Reader) ([]byte, error) {
	fresh := make([]byte, 32)
	if _, err := io.ReadFull(random, fresh); err != nil {
		return nil, fmt.Errorf("make the ledger's secret: %w", err)
	}
	const q = "INSERT INTO meta (key, value) VALUES ('secret', ?) ON CONFLICT DO NOTHING"
	var secret []byte
	err := l.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'secret'").Scan(&secret)
	if !errors.Is(err, sql.ErrNoRows) {
		return secret, err
	}
	if _, err := l.db.ExecContext(ctx, q, fresh); err != nil {
		return nil, err
	}
	err = l.db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'secret'").Scan(&secret)
	return secret, err
}
