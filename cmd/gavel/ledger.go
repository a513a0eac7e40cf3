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
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
)

// A Use is what a command does with a repository and its ledger.
type Use = func(context.Context, *workspace, *ledger.Ledger) error

// WithLedger opens the repository with its ledger, which is made where it is
// missing.
func (a *App) WithLedger(ctx context.Context, do Use) error {
	return a.WithWorkspace(func(w *workspace) error {
		path, err := a.LedgerPath(ctx, w)
		if err != nil {
			return err
		}
		return recovery.Use(ctx, ledger.Config{Path: path, Unconfined: a.Unconfined(ctx)}, a.Note, func(store *ledger.Ledger) error { return do(ctx, w, store) })
	})
}

// Anywhere is open, but outside of a repository it opens the ledger that is named by
// --ledger or the environment, and do gets a nil Workspace.
func (a *App) Anywhere(ctx context.Context, open func(context.Context, Use) error, do Use) error {
	err := open(ctx, do)
	path := cmp.Or(a.LedgerFile, a.Env(databaseVariable))
	if !errors.Is(err, gitrepo.ErrNoRepository) || path == "" {
		return err
	}
	if err := a.checkName(); err != nil {
		return err
	}
	return recovery.Use(ctx, ledger.Config{Path: path, Unconfined: a.Unconfined(ctx)}, a.Note, func(store *ledger.Ledger) error { return do(ctx, nil, store) })
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

// WithRead is withLedger for what stores nothing: a ledger that cannot be
// written is only read, and a damaged one stays where it is.
func (a *App) WithRead(ctx context.Context, do Use) error {
	return a.WithWorkspace(func(w *workspace) error {
		if _, err := a.LedgerPath(ctx, w); err != nil && !recovery.IsUnwritable(err) {
			return err
		}
		return recovery.UseReadOnly(ctx, ledger.Config{Path: a.LedgerAt(w), Unconfined: a.Unconfined(ctx)}, a.Note, func(store *ledger.Ledger) error { return do(ctx, w, store) })
	})
}

// WithPlan is withRead for what is planned: without a ledger that can be read,
// nothing is known.
func (a *App) WithPlan(ctx context.Context, do Use) error {
	err := a.WithRead(ctx, do)
	if !recovery.IsBroken(err) {
		return err
	}
	return a.withNothing(ctx, fmt.Sprintf("%v; nothing is known until then", err), do)
}

// withNothing uses an empty ledger that does not stay, and says why.
func (a *App) withNothing(ctx context.Context, why string, do Use) error {
	a.Note(why)
	return a.WithWorkspace(func(w *workspace) error {
		return recovery.UseEmpty(ctx, func(store *ledger.Ledger) error { return do(ctx, w, store) })
	})
}

// WithStored opens a ledger in a way where there is one. Else it says so, and
// looks at an empty one that does not stay.
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
