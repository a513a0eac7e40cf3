package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// applicationID marks a SQLite file as a ledger: "gavl".
const applicationID = 0x6761766c

// Errors about files that must not be touched.
var (
	errForeign = errors.New("the file is a database of another program")
	// ErrNewer means that a newer version of gavel wrote the file.
	ErrNewer = errors.New("the file was written by a newer version of gavel")
)

var (
	// errCut is found before the file is opened: SQLite itself reads the pages
	// that are there, and finds later that some are not.
	errCut = errors.New("the file is damaged: its end is missing")
	// ErrVanished means that the file at the path is not the opened one: somebody
	// removed or replaced it.
	ErrVanished = errors.New("the file was removed or replaced while it was in use")
	// ErrReadOnly refuses a write to a file that was opened to be read.
	ErrReadOnly = errors.New("it was opened to be read, and nothing is stored")
)

// IsDamaged reports whether an error means that the file cannot be read as a ledger,
// regardless of who opens it.
func IsDamaged(err error) bool {
	kind := code(err)
	return kind == sqlite3.SQLITE_NOTADB || kind == sqlite3.SQLITE_CORRUPT || errors.Is(err, errCut)
}

// IsUnwritable reports whether an error means that the file or its folder may not be
// written.
func IsUnwritable(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return true
	}
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// prepareFile makes the file and its folder if they are missing, for their owner only,
// and returns its full path.
func prepareFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := safefile.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	// SQLite and the locks make files of these names.
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-runs", "-server"} {
		if err := safefile.Check(path + suffix); err != nil {
			return "", err
		}
	}
	f, err := safefile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// whole reports with errCut a file that is shorter than its header says. SQLite takes
// care of a log. Another process that closes the file writes the header before the
// pages that the header counts, so only a second look with the same result decides.
func whole(path string) error {
	for first := (extent{}); ; {
		found, err := extentOf(path)
		if err != nil || found.log || found.counted <= found.bytes {
			return err
		}
		if found == first {
			return errCut
		}
		first = found
	}
}

// extent is the size of a file and the size in its header.
type extent struct {
	bytes, counted int64   // counted is 0 if the header has no valid size
	changes        [4]byte // counts the transactions of the file
	log            bool    // it has a log
}

func extentOf(path string) (extent, error) {
	const headerBytes = 100
	f, err := os.Open(path)
	if err != nil {
		return extent{}, err
	}
	defer f.Close()
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(f, header); err != nil {
		return extent{}, nil // it is empty, or SQLite reports what it is
	}
	info, err := f.Stat()
	if err != nil {
		return extent{}, err
	}
	found := extent{bytes: info.Size(), changes: [4]byte(header[24:28])}
	// The count of pages belongs to this version of the file if the next two agree.
	if bytes.HasPrefix(header, []byte("SQLite format 3\x00")) && bytes.Equal(header[24:28], header[92:96]) {
		size := int64(binary.BigEndian.Uint16(header[16:]))
		if size == 1 { // the encoding of 65,536
			size = 1 << 16
		}
		found.counted = int64(binary.BigEndian.Uint32(header[28:])) * size
	}
	// The log comes last: it exists for as long as its pages are copied.
	log, err := os.Stat(path + "-wal")
	found.log = err == nil && log.Size() > 0
	return found, nil
}

// dsn asks for every connection for commits that outlive a power cut (FULL).
// mode is ro or rw: a file that vanished is never made again.
func dsn(path, mode string, wait time.Duration) string {
	q := url.Values{"mode": {mode}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "synchronous(FULL)", "foreign_keys(1)",
	}}
	if mode == unchanging {
		q.Set("mode", readable)
		q.Set("immutable", "1")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// The modes in which a file is opened. An unchanging one has no log, and its folder may
// be read-only, too.
const (
	writable   = "rw"
	readable   = "ro"
	unchanging = "immutable"
)

// Hint says what to do about an error, or nothing.
func (s *file) Hint(err error) string {
	var (
		elsewhere = "name another file with " + cmp.Or(s.named, "--ledger")
		damaged   = "the file is damaged, or is not a ledger: gavel run puts it aside and starts with a new one; to keep it, " + elsewhere
	)
	switch code(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return damaged
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another process is writing to it: wait for it to end"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "the file or its folder cannot be written: " + elsewhere
	case sqlite3.SQLITE_FULL:
		return "make room and run again: finished results are kept"
	case sqlite3.SQLITE_IOERR:
		return "the disk cannot be read or written: once it can, run again; finished results are kept"
	}
	switch {
	case errors.Is(err, errForeign):
		return elsewhere
	case errors.Is(err, errCut):
		return damaged
	case errors.Is(err, ErrNewer):
		return "update gavel, or " + elsewhere
	case errors.Is(err, syscall.ENOSPC):
		return "make room and run again: finished results are kept"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		return elsewhere
	}
	return ""
}

// patiently calls do again while another process holds the file. SQLite itself does not
// wait if two processes change its mode.
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

// code returns the kind of SQLite's error, or 0.
func code(err error) int {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return 0
	}
	return fault.Code() & 0xff // the rest is detail
}

// migrate runs the numbered scripts that the file lacks. Its user_version is the number
// of scripts that it has run: a handful of scripts needs no library.
func migrate(ctx context.Context, conn *sql.Conn, migrations fs.FS) error {
	scripts, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn, len(scripts))
	if err != nil {
		return err
	}
	// A writer with a log does not delay readers. The mode is set only now that the
	// file is known to be ours, since it is written into the file.
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

// schemaVersion returns how many scripts the file has run; 0 if it is empty.
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
		return 0, fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewer, version, known)
	}
	return version, nil
}

func apply(ctx context.Context, conn *sql.Conn, migrations fs.FS, scripts []string) error {
	// Another process may have been quicker; from here on no other process writes.
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
