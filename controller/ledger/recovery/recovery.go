// Package recovery opens ledgers whose file is damaged, vanished, or may only
// be read.
//
// Most callers want [Open], which puts a damaged file aside, and [Renew], which
// does so when the damage shows later.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
)

// Gone says that a ledger vanished.
const Gone = "the ledger was removed or replaced while it was in use: results until then are lost"

// IsBroken reports whether an error of a ledger says that its file is damaged,
// or is not there any more. Nothing that is asked of it succeeds then.
func IsBroken(err error) bool { return store.IsDamaged(err) || errors.Is(err, store.ErrVanished) }

// IsUnwritable reports whether an error says that a file or its folder may not
// be written.
func IsUnwritable(err error) bool { return store.IsUnwritable(err) }

// Open is [ledger.Open], but a damaged file is renamed and a new one takes its
// place, which has a notice that says so. A file that a newer version wrote, or
// another program, is refused.
func Open(ctx context.Context, cfg ledger.Config) (*ledger.Ledger, error) {
	found, missing := os.Stat(cfg.Path)
	l, err := ledger.Open(ctx, cfg)
	if missing != nil || !store.IsDamaged(err) {
		return l, err
	}
	if cfg.Notice, err = aside(cfg, found, err); err != nil {
		return nil, err
	}
	return ledger.Open(ctx, cfg)
}

// Heal puts a damaged file aside and makes none. It returns what readers of
// reports have to know, empty where the file is sound or missing.
func Heal(ctx context.Context, cfg ledger.Config) (notice string, err error) {
	found, err := os.Stat(cfg.Path)
	if err != nil {
		return "", nil
	}
	l, err := ledger.Open(ctx, cfg)
	switch {
	case store.IsDamaged(err):
		return aside(cfg, found, err)
	case err != nil:
		return "", err
	}
	return "", l.Close()
}

// Renew closes a ledger that turned out to be broken and opens the file that
// takes its place. cause is the error that showed it.
func Renew(ctx context.Context, cfg ledger.Config, l *ledger.Ledger, cause error) (*ledger.Ledger, error) {
	vanished := l.Vanished()
	_ = l.Close() // what is wrong with it is known
	if vanished != nil {
		cfg.Notice = Gone
		return Open(ctx, cfg)
	}
	found, err := os.Stat(cfg.Path)
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	if cfg.Notice, err = aside(cfg, found, cause); err != nil {
		return nil, err
	}
	return ledger.Open(ctx, cfg)
}

// aside renames a damaged file and returns the notice of the one that takes its
// place.
func aside(cfg ledger.Config, found os.FileInfo, cause error) (notice string, err error) {
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
