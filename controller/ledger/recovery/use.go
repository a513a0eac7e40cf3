package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// Use opens a ledger as [Open] does, calls do with it and closes it. Where the
// file turns out to be broken, do is called once more with the one that takes
// its place. tell is given a line about each of these.
func Use(ctx context.Context, cfg ledger.Config, tell func(string), do func(*ledger.Ledger) error) error {
	l, err := Open(ctx, cfg)
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
	if l, err = Renew(ctx, cfg, l, err); err != nil {
		return err
	}
	tell(l.Notice())
	return errors.Join(do(l), l.Close())
}

// UseReadOnly is [Use] for what stores nothing: a file that cannot be written is only
// read, and a damaged one stays where it is. Where there is none and none can
// be made, do is given an empty one that does not stay.
func UseReadOnly(ctx context.Context, cfg ledger.Config, tell func(string), do func(*ledger.Ledger) error) error {
	l, err := ledger.Open(ctx, cfg)
	if IsUnwritable(err) {
		if _, missing := os.Stat(cfg.Path); errors.Is(missing, fs.ErrNotExist) {
			tell("there is no ledger, and none can be made here: nothing is stored")
			return UseEmpty(ctx, do)
		}
		tell(fmt.Sprintf("the ledger %s cannot be written: it is only read, and nothing is stored", filepath.Base(cfg.Path)))
		l, err = ledger.Read(ctx, cfg)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}

// UseEmpty calls do with an empty ledger that is removed afterwards.
func UseEmpty(ctx context.Context, do func(*ledger.Ledger) error) (err error) {
	dir, err := os.MkdirTemp("", "gavel-ledger-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l, err := ledger.Open(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		return err
	}
	return errors.Join(do(l), l.Close())
}
