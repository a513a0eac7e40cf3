package main

import (
	"context"
	"io/fs"
	"sync/atomic"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/filewatch"
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
	// read are the files that the pages have read.
	read *filewatch.Reads
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
// configuration has errors. Programs that make parts of definitions do not start. The parts that
// they have made are in the ledger and in no file, so that they may change at any time.
func (f uiPlanner) digests(ctx context.Context, files fs.FS) (map[string]string, error) {
	cfg, problems, _, err := f.app.ReadConfig(files)
	if err != nil || schema.HasErrors(problems) {
		return map[string]string{}, err
	}
	making, trust := f.app.Making(), ledger.Trust{Level: ledger.LevelOperator}
	var made makerCalls
	isRemembered := false
	making.Never = "a page starts no program"
	planned, err := controller.Prepare(ctx, controller.Request{
		Head:   controller.Checkout{Commit: controller.Worktree, FS: files, Config: cfg, Dir: f.w.Repo.Root()},
		Making: making, ConfigFile: f.app.ConfigFile, Ledger: f.store, LookupEnv: f.app.LookupEnv, Brief: true, HeadTrust: trust,
		Remembered: func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
			stored, err := f.app.snapshots(ctx, f.w)
			if err != nil {
				return nil, err
			}
			f.read.NoteFile(stored.Path)
			made.Maker = making.Maker(f.store, trust)
			known, err := stored.Worktree(ctx, f.w.Repo, snapshot.State{FS: files, Settings: cfg.Settings(), Maker: &made}, notes)
			if err != nil || known == nil || known.Unmade() {
				return nil, err
			}
			isRemembered = !made.any.Load()
			return known, nil
		},
	})
	if !isRemembered {
		f.read.Forget()
	}
	if err != nil {
		return nil, err
	}
	return digestsOf(planned), nil
}

// makerCalls reports whether a program was to make a part of a definition.
type makerCalls struct {
	schema.Maker
	any atomic.Bool
}

// Make implements [schema.Maker].
func (a *makerCalls) Make(ctx context.Context, of schema.Making) ([]byte, error) {
	a.any.Store(true)
	return a.Maker.Make(ctx, of)
}
