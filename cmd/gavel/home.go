package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
)

// checkHome refuses a database with the local runs of another repository, whose
// verdicts and history would be mixed with the ones of this repository. With note, a
// database without local runs becomes the one of this repository.
func (a *App) checkHome(ctx context.Context, w *workspace, store *ledger.Ledger, note bool) error {
	if a.anyHome || !postgres.IsURL(store.Path()) {
		return nil
	}
	home, err := store.Home(ctx)
	own := ledger.Home{Name: strings.ToLower(w.Repo.Name())}
	if err != nil || home.Name != "" && home.Name == own.Name {
		return err
	}
	own.Root = w.Repo.FirstCommit(ctx)
	switch {
	case home == (ledger.Home{}):
		if note && own != home {
			return store.SetHome(ctx, own)
		}
		return nil
	case home.Root == own.Root || home.Root == "" || own.Root == "":
		return nil // a clone under another name, or one without the first commit
	}
	return usageError("the database %s has the local runs of another repository, %s; set %s to a database of this repository, or unset it to use %s",
		store.Path(), cmp.Or(home.Name, fmt.Sprintf("whose first commit is %.12s", home.Root)), databaseVariable, usualLedger)
}

// WithLedger is [App.WithLedger] with any repository's database: these commands tend the
// whole of it.
func (c ledgerApp) WithLedger(ctx context.Context, do Use) error {
	app := *c.App
	app.anyHome = true
	return app.WithLedger(ctx, do)
}

// WithRead is [App.WithRead] with any repository's database.
func (c ledgerApp) WithRead(ctx context.Context, do Use) error {
	app := *c.App
	app.anyHome = true
	return app.WithRead(ctx, do)
}
