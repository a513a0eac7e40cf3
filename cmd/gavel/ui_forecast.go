package main

import (
	"context"
	"io/fs"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
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

// digests returns the decision digests of the cases of files by name. There are none if the
// configuration has errors. Programs that make parts of definitions do not start.
func (f uiPlanner) digests(ctx context.Context, files fs.FS) (map[string]string, error) {
	cfg, problems, _, err := f.app.ReadConfig(files)
	if err != nil || schema.HasErrors(problems) {
		return map[string]string{}, err
	}
	making, trust := f.app.Making(), ledger.Trust{Level: ledger.LevelOperator}
	making.Never = "a page starts no program"
	planned, err := controller.Prepare(ctx, controller.Request{
		Head:   controller.Checkout{Commit: controller.Worktree, FS: files, Config: cfg, Dir: f.w.Repo.Root()},
		Making: making, ConfigFile: f.app.ConfigFile, Ledger: f.store, LookupEnv: f.app.LookupEnv, Brief: true, HeadTrust: trust,
		Remembered: func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
			stored, err := f.app.snapshots(ctx, f.w)
			if err != nil {
				return nil, err
			}
			known, err := stored.Worktree(ctx, f.w.Repo, snapshot.State{FS: files, Settings: cfg.Settings(), Maker: making.Maker(f.store, trust)}, notes)
			if err != nil || known == nil || known.Unmade() {
				return nil, err
			}
			return known, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return digestsOf(planned), nil
}
