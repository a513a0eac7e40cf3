package main

import (
	"context"
	"io/fs"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
)

// A uiPlanner plans unsaved files.
type uiPlanner struct {
	app   *App
	w     *workspace
	store *ledger.Ledger
}

// plan returns nil if the configuration has errors.
func (f uiPlanner) plan(ctx context.Context, files fs.FS, selected func(*schema.CaseInfo) bool) (*controller.Prepared, error) {
	cfg, problems, _, err := f.app.ReadConfig(files)
	if err != nil || schema.HasErrors(problems) {
		return nil, err
	}
	return controller.Prepare(ctx, controller.Request{
		Head:   controller.Checkout{Commit: controller.Worktree, FS: files, Config: cfg, Dir: f.w.Repo.Root()},
		Making: f.app.Making(), ConfigFile: f.app.ConfigFile, Ledger: f.store, LookupEnv: f.app.LookupEnv, Select: selected,
		HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, BaseTrust: ledger.Trust{Level: ledger.LevelOperator},
	})
}
