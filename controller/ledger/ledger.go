// Package ledger remembers what was judged before, so that no verdict is paid for
// twice.
//
// [Open] gives a [Ledger] on a SQLite file or a PostgreSQL database. It is the source
// of truth and append-only: samples, judgements and decisions by their digests, the
// journal of every call, and the runs with their reports. A write that returns without
// an error is on disk. Entries of an untrusted head serve only the same pull request,
// see [Scope].
//
// Most callers ask with [Ledger.Stored] what there is, and write what is new of a case
// with [Ledger.Save].
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
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// A Config says where the ledger is.
type Config struct {
	// Path is the file, or the address of a PostgreSQL database: postgres://… The file
	// and its folder are made if they are missing, accessible to their owner only.
	Path string
	// Wait bounds how long a write waits for other processes that write to
	// the same ledger. Defaults to a minute. A lost connection to PostgreSQL is
	// waited for twice as long.
	Wait time.Duration
	// NamedBy is what names another file, for errors. Defaults to --ledger.
	NamedBy string
	// Now is the clock that entries are dated by. Defaults to time.Now.
	Now func() time.Time
	// Rand is the source of the ledger's secret. Defaults to crypto/rand.
	Rand io.Reader
	// Notice is a message about the file for readers of reports, for example that the
	// one before it was damaged.
	Notice string
	// Unconfined says that the programs of this process see more files than the counted
	// ones, as they do without a sandbox. The answers of such programs are stored
	// separately.
	Unconfined bool
}

//go:embed migrations/*.sql
var migrations embed.FS

// A Ledger is safe for concurrent use, and several processes may have the same one
// open.
type Ledger struct {
	store  *store.Store
	now    func() time.Time
	secret []byte
	epochs leaseEpochs
	alone  keptLeases
	parts  knownParts
	notice string
	opened time.Time

	unconfined bool
}

// Open opens the ledger and brings its schema up to date. The errors say what to do
// about a file that is not a ledger, is damaged, was written by a newer version, is
// locked, or cannot be written.
func Open(ctx context.Context, cfg Config) (*Ledger, error) { return open(ctx, cfg, store.Open) }

// Read opens a ledger that cannot be written, for reading. Every write is refused.
func Read(ctx context.Context, cfg Config) (*Ledger, error) { return open(ctx, cfg, store.Read) }

func open(ctx context.Context, cfg Config, file func(context.Context, store.Config) (*store.Store, error)) (*Ledger, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Wait == 0 {
		cfg.Wait = time.Minute
	}
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	l := &Ledger{now: cfg.Now, notice: cfg.Notice, opened: cfg.Now(), unconfined: cfg.Unconfined}
	prepare := func(t *store.Tx) (err error) {
		l.secret, err = l.loadSecret(t, cfg.Rand)
		return err
	}
	if postgres.IsURL(cfg.Path) {
		l.store, err = postgres.Open(ctx, postgres.Config{URL: cfg.Path, Wait: 2 * cfg.Wait, Prepare: prepare})
	} else {
		l.store, err = file(ctx, store.Config{Path: cfg.Path, Wait: cfg.Wait, NamedBy: cfg.NamedBy, Migrations: scripts, Prepare: prepare})
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// noticed is how long reports show the notice of a ledger. The reports of a server that
// runs for weeks need not repeat it.
const noticed = time.Hour

// Notice returns a message about the file for readers of reports, mostly empty.
func (l *Ledger) Notice() string {
	if l.now().Sub(l.opened) > noticed {
		return ""
	}
	return l.notice
}

// Vanished returns an error if the file was removed or replaced since it was opened,
// nil for every other ledger. Everything written to it is lost.
func (l *Ledger) Vanished() error { return l.store.Vanished() }

// Close waits until the writes that were taken up are on disk and closes the
// file. Writes after it are refused.
func (l *Ledger) Close() error { return l.store.Close() }

// Store returns the file with its tables, for the packages below this one.
func (l *Ledger) Store() *store.Store { return l.store }

// Path returns the full path of the file.
func (l *Ledger) Path() string { return l.store.Path() }

// Unconfined reports whether the answers of programs are stored separately, since
// programs see more files than the counted ones.
func (l *Ledger) Unconfined() bool { return l.unconfined }

// Secret returns 32 random bytes that were made with the ledger.
func (l *Ledger) Secret() []byte { return l.secret }

// loadSecret makes the secret if there is none. If two processes do so at once, the
// first wins, and both get its secret.
func (l *Ledger) loadSecret(t *store.Tx, random io.Reader) ([]byte, error) {
	var secret []byte
	load := func() error {
		return t.Row("SELECT value FROM meta WHERE key = 'secret'").Scan(&secret)
	}
	err := load()
	if !errors.Is(err, sql.ErrNoRows) {
		return secret, err
	}
	fresh := make([]byte, 32)
	if _, err := io.ReadFull(random, fresh); err != nil {
		return nil, fmt.Errorf("make the secret: %w", err)
	}
	err = t.Exec("INSERT INTO meta (key, value) VALUES ('secret', ?), ('created', ?) ON CONFLICT DO NOTHING",
		fresh, []byte(l.now().UTC().Format(time.RFC3339)))
	if err != nil {
		return nil, err
	}
	return secret, load()
}
