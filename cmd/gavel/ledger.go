package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
)

// A Use is a command's work on a repository and its ledger.
type Use = func(context.Context, *workspace, *ledger.Ledger) error

// WithLedger opens the repository with its ledger, and creates the ledger if it is
// missing.
func (a *App) WithLedger(ctx context.Context, do Use) error {
	return a.WithWorkspace(func(w *workspace) error {
		path, err := a.LedgerPath(ctx, w)
		if err != nil {
			return err
		}
		return ledger.Use(ctx, ledger.Config{Path: path, Unconfined: a.Unconfined(ctx)}, a.Note, func(store *ledger.Ledger) error {
			if err := a.checkHome(ctx, w, store, true); err != nil {
				return err
			}
			return do(ctx, w, store)
		})
	})
}

// Anywhere calls open, but outside of a repository it opens the ledger named by
// --ledger or the environment, and do gets a nil workspace.
func (a *App) Anywhere(ctx context.Context, open func(context.Context, Use) error, do Use) error {
	err := open(ctx, do)
	path := cmp.Or(a.LedgerFile, a.Env(databaseVariable))
	if !errors.Is(err, gitrepo.ErrNoRepository) || path == "" {
		return err
	}
	if err := a.checkName(); err != nil {
		return err
	}
	return ledger.Use(ctx, ledger.Config{Path: path, Unconfined: a.Unconfined(ctx)}, a.Note, func(store *ledger.Ledger) error { return do(ctx, nil, store) })
}

// WithWorkspace opens the repository.
func (a *App) WithWorkspace(do func(*workspace) error) (err error) {
	w, err := a.Workspace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return do(w)
}

// WithRead is WithLedger for reading: a read-only ledger is fine, and a damaged one is
// not moved.
func (a *App) WithRead(ctx context.Context, do Use) error {
	return a.WithWorkspace(func(w *workspace) error {
		if _, err := a.LedgerPath(ctx, w); err != nil && !ledger.IsUnwritable(err) {
			return err
		}
		return ledger.UseReadOnly(ctx, ledger.Config{Path: a.LedgerAt(w), Unconfined: a.Unconfined(ctx)}, a.Note, func(store *ledger.Ledger) error {
			if err := a.checkHome(ctx, w, store, false); err != nil {
				return err
			}
			return do(ctx, w, store)
		})
	})
}

// WithPlan is WithRead for planning: without a readable ledger, nothing is known.
func (a *App) WithPlan(ctx context.Context, do Use) error {
	err := a.WithRead(ctx, do)
	if !ledger.IsBroken(err) {
		return err
	}
	return a.withNothing(ctx, fmt.Sprintf("%v; nothing is known until then", err), do)
}

// withNothing uses an empty temporary ledger, and prints the reason.
func (a *App) withNothing(ctx context.Context, why string, do Use) error {
	a.Note(why)
	return a.WithWorkspace(func(w *workspace) error {
		return ledger.UseEmpty(ctx, func(store *ledger.Ledger) error { return do(ctx, w, store) })
	})
}

// WithStored opens a ledger by open, if there is one. Otherwise it prints that, and
// uses an empty temporary one.
func (a *App) WithStored(ctx context.Context, open func(context.Context, Use) error, do Use) error {
	var file string
	err := a.WithWorkspace(func(w *workspace) error {
		file = a.LedgerAt(w)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); postgres.IsURL(file) || !errors.Is(err, fs.ErrNotExist) {
		return open(ctx, do)
	}
	if a.LedgerFile != "" {
		return usageError("ledger %s does not exist; --ledger names the file that gavel run wrote, by default %s", file, usualLedger)
	}
	return a.withNothing(ctx, "no ledger at "+usualLedger+": nothing was judged here yet", do)
}
