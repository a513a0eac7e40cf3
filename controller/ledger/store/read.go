package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Read opens a file to be read, which need not be writable, and neither its
// folder. Every write to it is refused with [ErrReadOnly]. A file that an
// earlier version wrote, or whose log was not folded in, is copied to a
// temporary folder until it is closed.
func Read(ctx context.Context, cfg Config) (*Store, error) {
	s := &file{path: cfg.Path, named: cfg.NamedBy, reads: map[string]*sql.Stmt{}, stop: make(chan struct{})}
	close(s.stop) // writes are no longer taken
	s.refuse = ErrReadOnly
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, s.fault("open", err)
	}
	for _, mode := range []string{readable, unchanging} {
		if mode == unchanging && hasLog(path) {
			continue // changes in the log would be missed
		}
		current, err := s.reading(ctx, path, mode, cfg)
		if current {
			s.close = sync.OnceValue(func() error { return s.fault("close", s.db.Close()) })
			return s.store(), nil
		}
		if IsDamaged(err) || errors.Is(err, ErrNewer) || errors.Is(err, errForeign) {
			return nil, s.fault("open", err)
		}
	}
	return s.copied(ctx, path, cfg)
}

func hasLog(path string) bool {
	log, err := os.Stat(path + "-wal")
	return err == nil && log.Size() > 0
}

// reading reports whether a file can be read as it is.
func (s *file) reading(ctx context.Context, path, mode string, cfg Config) (current bool, err error) {
	if err := s.connect(path, mode, cfg.Wait); err != nil {
		return false, err
	}
	scripts, err := fs.Glob(cfg.Migrations, "*.sql")
	if err != nil {
		return false, errors.Join(err, s.db.Close())
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return false, errors.Join(err, s.db.Close())
	}
	version, err := schemaVersion(ctx, conn, len(scripts))
	if err == nil && version == len(scripts) {
		if err = withConn(conn, cfg.Prepare); err == nil {
			return true, conn.Close()
		}
	}
	return false, errors.Join(err, conn.Close(), s.db.Close())
}

// copied opens a copy of the file with its log, which is removed at the end.
func (s *file) copied(ctx context.Context, path string, cfg Config) (*Store, error) {
	dir, err := os.MkdirTemp("", "gavel-ledger-")
	if err != nil {
		return nil, s.fault("open", err)
	}
	at := filepath.Join(dir, "ledger.db")
	err = copyFile(at, path)
	if err == nil && hasLog(path) {
		err = copyFile(at+"-wal", path+"-wal")
	}
	if err != nil {
		return nil, s.fault("copy", errors.Join(err, os.RemoveAll(dir)))
	}
	cfg.Path = at
	out, err := openFile(ctx, cfg)
	if err != nil {
		return nil, s.fault("open", errors.Join(err, os.RemoveAll(dir)))
	}
	out.path, out.refuse = s.path, ErrReadOnly
	inner := out.close
	out.close = sync.OnceValue(func() error { return errors.Join(inner(), os.RemoveAll(dir)) })
	return out.store(), nil
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// SetAside renames a damaged file with its log, so that a new one can be made in its
// place, and returns the new name. The file stays in its place if it is not the one
// that was found damaged.
func SetAside(path string, found os.FileInfo, now time.Time) (string, error) {
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405.000Z")
	if at, err := os.Stat(path); err != nil || !os.SameFile(at, found) {
		return "", fmt.Errorf("ledger %s: %w", filepath.ToSlash(path), ErrVanished)
	}
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}
