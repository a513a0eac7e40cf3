package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// NoticeGone is the notice of a ledger whose file vanished.
const NoticeGone = "the ledger was removed or replaced while it was in use: results until then are lost"

// IsBroken reports whether an error means that the file of a ledger is damaged or gone.
// No operation on it succeeds then.
func IsBroken(err error) bool { return store.IsDamaged(err) || errors.Is(err, store.ErrVanished) }

// IsUnwritable reports whether an error means that a file or its folder may not be
// written.
func IsUnwritable(err error) bool { return store.IsUnwritable(err) }

// OpenOrReplace is [Open], but it renames a damaged file and makes a new one, whose notice
// says so. A file that a newer version or another program wrote is refused.
func OpenOrReplace(ctx context.Context, cfg Config) (*Ledger, error) {
	found, missing := os.Stat(cfg.Path)
	l, err := Open(ctx, cfg)
	if missing != nil || !store.IsDamaged(err) {
		return l, err
	}
	if cfg.Notice, err = setAside(cfg, found, err); err != nil {
		return nil, err
	}
	return Open(ctx, cfg)
}

// SetDamagedAside renames a damaged file and makes no new one. It returns the notice for
// readers of reports, or "" if the file is sound or missing.
func SetDamagedAside(ctx context.Context, cfg Config) (notice string, err error) {
	found, err := os.Stat(cfg.Path)
	if err != nil {
		return "", nil
	}
	l, err := Open(ctx, cfg)
	switch {
	case store.IsDamaged(err):
		return setAside(cfg, found, err)
	case err != nil:
		return "", err
	}
	return "", l.Close()
}

// Reopen closes a ledger that turned out to be broken and opens the file that takes its
// place. cause is the error that showed the damage.
func Reopen(ctx context.Context, cfg Config, l *Ledger, cause error) (*Ledger, error) {
	vanished := l.Vanished()
	_ = l.Close() // its fault is known
	if vanished != nil {
		cfg.Notice = NoticeGone
		return OpenOrReplace(ctx, cfg)
	}
	found, err := os.Stat(cfg.Path)
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	if cfg.Notice, err = setAside(cfg, found, cause); err != nil {
		return nil, err
	}
	return Open(ctx, cfg)
}

// setAside renames a damaged file and returns the notice of the file that takes its place.
func setAside(cfg Config, found os.FileInfo, cause error) (notice string, err error) {
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	name, err := store.SetAside(cfg.Path, found, now())
	switch {
	case errors.Is(err, store.ErrVanished):
		return "", nil // another process was quicker
	case err != nil:
		return "", fmt.Errorf("%w; and it cannot be put aside: %w", cause, err)
	}
	return fmt.Sprintf("the ledger was damaged and is kept as %s; it begins empty", filepath.Base(name)), nil
}
