// Package store is a database with tables: a SQLite file with one writer and many
// readers, or another [Engine].
//
// [Open] opens a [Store] on a file. Changes go through [Store.Submit], which returns
// when they are on disk, and which lets simultaneous changes share a transaction.
// Readers use [Store.Each] and never wait for a writer.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// A Config says where the file is.
type Config struct {
	// Path is the file. It and its folder are made if they are missing, accessible to
	// their owner only.
	Path string
	// Wait bounds how long a write waits for other processes that write to the
	// same file.
	Wait time.Duration
	// NamedBy is what names another file, for errors. Defaults to --ledger.
	NamedBy string
	// Migrations are the numbered scripts that make the schema, and schema.sql, which
	// makes it in a new file at once; it may be missing.
	Migrations fs.FS
	// Prepare is called over the connection of the writer before the first write.
	Prepare func(*Tx) error
}

// A file is a SQLite file. It is safe for concurrent use, and several processes may
// have the same one open.
type file struct {
	path   string // as it was given
	named  string // Config.NamedBy
	full   string
	opened os.FileInfo
	db     *sql.DB
	lives  *runLocks
	refuse error // the error of every write, unless it is nil

	mu    sync.Mutex
	reads map[string]*sql.Stmt // by text; guarded by mu

	writes chan write
	stop   chan struct{}
	close  func() error
}

// Open opens the file and brings its schema up to date. The errors say what to do about
// a file that is not a ledger, is damaged, was written by a newer version, is locked,
// or cannot be written.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s, err := openFile(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return s.store(), nil
}

func openFile(ctx context.Context, cfg Config) (*file, error) {
	s := &file{path: cfg.Path, named: cfg.NamedBy, reads: map[string]*sql.Stmt{}, writes: make(chan write), stop: make(chan struct{})}
	path, err := prepareFile(cfg.Path)
	if err == nil {
		err = s.connect(path, writable, cfg.Wait)
	}
	if err != nil {
		return nil, s.fault("open", err)
	}
	conn, err := s.prepare(ctx, cfg)
	if err != nil {
		return nil, s.fault("open", errors.Join(err, s.db.Close()))
	}
	s.start(conn)
	return s, nil
}

// store is the public view of the file.
func (s *file) store() *Store {
	native := ofSQLite
	native.DB = s.db
	return &Store{engine: s, native: native, name: filepath.ToSlash(s.path), path: s.full, lives: s.lives, vanished: s.vanished}
}

// ofSQLite is the behavior that is SQLite's own.
var ofSQLite = Native{
	Sizes: "SELECT (page_count - freelist_count) * page_size, freelist_count * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
	Faults: []string{
		"SELECT 'file', integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
		`SELECT "table" || ' ' || coalesce(rowid, 0), 'it rests on one of ' || parent || ' that is not there' FROM pragma_foreign_key_check`,
	},
	Shrink: []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"},
}

// connect records which file it is. Connections to it are opened when they are needed.
func (s *file) connect(path, mode string, wait time.Duration) error {
	opened, err := os.Stat(path)
	if err == nil {
		err = whole(path)
	}
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "")
	if err != nil {
		return err
	}
	s.full, s.opened, s.lives = path, opened, newLocks(path+"-runs")
	s.db = sql.OpenDB(&connector{db.Driver(), dsn(path, mode, wait), s})
	// A connection is dear to open and cannot read faster than a core.
	conns := max(4, runtime.GOMAXPROCS(0)) + 1
	s.db.SetMaxOpenConns(conns)
	s.db.SetMaxIdleConns(conns)
	return db.Close()
}

// A connector opens connections to the file that was opened first, and never
// to another one that took its place.
type connector struct {
	driver driver.Driver
	dsn    string
	store  *file
}

// Driver is the driver of SQLite.
func (c *connector) Driver() driver.Driver { return c.driver }

// Connect opens a connection.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	if err := c.store.vanished(); err != nil {
		return nil, err
	}
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	if err := c.store.vanished(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (s *file) vanished() error {
	now, err := os.Stat(s.full)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.opened) {
		return ErrVanished
	}
	return nil
}

// start begins to write over a separate connection.
func (s *file) start(conn *sql.Conn) {
	ended := make(chan error)
	go func() { ended <- s.writer(conn) }()
	s.close = sync.OnceValue(func() error {
		close(s.stop)
		return s.fault("close", errors.Join(<-ended, s.db.Close(), s.lives.Close()))
	})
}

// prepare brings the schema up to date and lets the caller load the data that it needs.
func (s *file) prepare(ctx context.Context, cfg Config) (*sql.Conn, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := patiently(ctx, cfg.Wait, func() error { return migrate(ctx, conn, cfg.Migrations) }); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if err := withConn(conn, cfg.Prepare); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Close waits until the writes that were taken up are on disk and closes the file.
func (s *file) Close() error { return s.close() }

// Query reads. Statements are prepared once, since preparing takes most of the time of
// a small query.
func (s *file) Query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s.mu.Lock()
	stmt, ok := s.reads[text]
	s.mu.Unlock()
	if !ok {
		var err error
		if stmt, err = s.db.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.reads[text] = stmt
		s.mu.Unlock()
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *file) fault(op string, err error) error { return fault(s, filepath.ToSlash(s.path), op, err) }
