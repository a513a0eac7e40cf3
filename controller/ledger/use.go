package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Use opens a ledger with [OpenOrReplace], calls do with it and closes it. If the file turns
// out to be broken, Use calls do once more with the file that takes its place. It calls tell
// with a line about each replacement.
func Use(ctx context.Context, cfg Config, tell func(string), do func(*Ledger) error) error {
	l, err := OpenOrReplace(ctx, cfg)
	if err != nil {
		return err
	}
	if l.Notice() != cfg.Notice {
		tell(l.Notice())
	}
	err = do(l)
	if !IsBroken(err) {
		return errors.Join(err, l.Close())
	}
	if l, err = Reopen(ctx, cfg, l, err); err != nil {
		return err
	}
	tell(l.Notice())
	return errors.Join(do(l), l.Close())
}

// UseReadOnly is [Use] for callers that store nothing: it only reads a file that cannot be
// written, and leaves a damaged file in place. If there is no file and none can be made, do
// gets an empty ledger that is removed afterwards.
func UseReadOnly(ctx context.Context, cfg Config, tell func(string), do func(*Ledger) error) error {
	l, err := Open(ctx, cfg)
	if IsUnwritable(err) {
		if _, missing := os.Stat(cfg.Path); errors.Is(missing, fs.ErrNotExist) {
			tell("there is no ledger, and none can be made here: nothing is stored")
			return UseEmpty(ctx, do)
		}
		tell(fmt.Sprintf("the ledger %s cannot be written: it is only read, and nothing is stored", filepath.Base(cfg.Path)))
		l, err = Read(ctx, cfg)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}

// UseEmpty calls do with an empty ledger that is removed afterwards.
func UseEmpty(ctx context.Context, do func(*Ledger) error) (err error) {
	dir, err := os.MkdirTemp("", "gavel-ledger-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l, err := Open(ctx, Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}
