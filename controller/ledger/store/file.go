package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks a SQLite file as a ledger: "gavl".
const applicationID = 0x6761766c

// errForeign and errNewer are about files that must not be touched.
var (
	errForeign = errors.New("the file is a database of another program")
	errNewer   = errors.New("the file was written by a newer version of gavel")
)

// prepareFile makes the file and its folder where they are missing, for their
// owner only, and gives its full path.
func prepareFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// dsn asks for every connection for commits that outlive a power cut (FULL).
func dsn(path string, wait time.Duration) string {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "synchronous(FULL)", "foreign_keys(1)",
	}}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// repair says what to do about an error, or nothing.
func repair(err error) string {
	const elsewhere = "name another file with --ledger"
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		return "the file is no ledger: " + elsewhere
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged: move it away to start anew, or restore a copy"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another process is writing to it: wait for it to end"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "the file or its folder cannot be written: " + elsewhere
	case sqlite3.SQLITE_FULL:
		return "make room and run again: what was judged is kept"
	case sqlite3.SQLITE_IOERR:
		return "the disk cannot be read or written: once it can, run again; what was judged is kept"
	}
	switch {
	case errors.Is(err, errForeign):
		return elsewhere
	case errors.Is(err, errNewer):
		return "update gavel, or " + elsewhere
	case errors.Is(err, syscall.ENOSPC):
		return "make room and run again: what was judged is kept"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		return elsewhere
	}
	return ""
}

// patiently calls do again while another process holds the file. SQLite itself
// does not wait where two of them change its mode.
func patiently(ctx context.Context, wait time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		err := do()
		if code(err) != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait / 1000):
		}
	}
}

// code is the kind of an error of SQLite, or 0.
func code(err error) int {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return 0
	}
	return fault.Code() & 0xff // the rest is detail
}

// migrate runs the numbered scripts that the file has not seen. How many it
// has seen stands in its user_version: a handful of scripts needs no library.
func migrate(ctx context.Context, conn *sql.Conn, migrations fs.FS) error {
	scripts, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn, len(scripts))
	if err != nil {
		return err
	}
	// A writer that keeps a log does not hold up readers. It is asked for only
	// now that the file is known to be ours, for the mode is written into it.
	if _, err := conn.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil || version == len(scripts) {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := apply(ctx, conn, migrations, scripts); err != nil {
		_, undo := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// schemaVersion tells how many scripts the file has seen; 0 when it is empty.
func schemaVersion(ctx context.Context, conn *sql.Conn, known int) (int, error) {
	var id, version, tables int
	err := conn.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
		FROM pragma_application_id, pragma_user_version`).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case id != applicationID && (id != 0 || tables > 0):
		return 0, errForeign
	case version > known:
		return 0, fmt.Errorf("%w (schema %d, this one knows %d)", errNewer, version, known)
	}
	return version, nil
}

func apply(ctx context.Context, conn *sql.Conn, migrations fs.FS, scripts []string) error {
	// Another process may have been quicker; from here on nobody else writes.
	version, err := schemaVersion(ctx, conn, len(scripts))
	if err != nil {
		return err
	}
	for _, name := range scripts[version:] {
		script, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("migrations/%s: %w", name, err)
		}
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(scripts)))
	return err
}
