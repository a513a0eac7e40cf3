package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/controller/ownfolder"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// A workspace is the repository that the command was started in.
type workspace struct {
	repo  *gitrepo.Repository
	files *gitrepo.WorkTree // nil where only commits are looked at
}

func (a *app) workspace() (*workspace, error) {
	repo, err := gitrepo.Open(a.dir)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	files, err := repo.WorkFS()
	if err != nil {
		return nil, errors.Join(err, repo.Close())
	}
	return &workspace{repo: repo, files: files}, nil
}

func (w *workspace) close() error {
	var err error
	if w.files != nil {
		err = w.files.Close()
	}
	return errors.Join(err, w.repo.Close())
}

func (a *app) readConfig(fsys fs.FS) (cfg *config.Config, problems []schema.Problem, found bool, err error) {
	return controller.ReadConfig(fsys, a.configFile)
}

// ownConfig reads the configuration of the working tree. One that was asked for
// has to be there.
func (a *app) ownConfig(w *workspace) (*config.Config, []schema.Problem, error) {
	cfg, problems, found, err := a.readConfig(w.files)
	if err == nil && !found && a.configFile != defaultConfig {
		err = usageError("there is no %s; --config is relative to the repository root, such as ci/gavel.yaml", a.configFile)
	}
	return cfg, problems, err
}

// worktree is the working tree as a state. A gavel.yaml with errors is printed
// and ends the command.
func (a *app) worktree(w *workspace) (controller.State, error) {
	cfg, problems, err := a.ownConfig(w)
	if err != nil {
		return controller.State{}, err
	}
	if schema.HasErrors(problems) {
		if err := a.printProblems(w.files, problems); err != nil {
			return controller.State{}, err
		}
		return controller.State{}, usageError("%s is invalid", a.configFile)
	}
	return controller.State{Commit: controller.Worktree, FS: w.files, Config: cfg, Dir: w.repo.Root()}, nil
}

// snapshots keeps a snapshot of the definitions next to the ledger.
func (a *app) snapshots(ctx context.Context, w *workspace) (snapshot.Store, error) {
	out := snapshot.Store{Program: snapshot.ThisProgram(), Changed: w.repo.Changed}
	if a.ledgerFile != "" {
		out.Path = a.ledgerFile + ".definitions"
		return out, nil
	}
	out.Path = filepath.Join(w.repo.Root(), ownfolder.Name, "definitions")
	_, err := ownfolder.Make(ctx, w.repo)
	if recovery.IsUnwritable(err) {
		err = nil // what is not remembered costs only time
	}
	return out, err
}

// worktreeSnapshot is that of the working tree; nil where nothing is committed
// yet.
func (a *app) worktreeSnapshot(ctx context.Context, w *workspace, cfg *config.Config, notes snapshot.Notes) (*load.Snapshot, error) {
	stored, err := a.snapshots(ctx, w)
	if err != nil {
		return nil, err
	}
	return stored.Worktree(ctx, w.repo, snapshot.State{FS: w.files, Settings: cfg.Settings()}, notes)
}

func (a *app) snapshot(ctx context.Context, w *workspace, at controller.State) (*load.Snapshot, error) {
	stored, err := a.snapshots(ctx, w)
	if err != nil {
		return nil, err
	}
	return stored.At(ctx, snapshot.State{Commit: at.Commit, FS: at.FS, Settings: at.Config.Settings()}, snapshot.Notes{})
}

// at loads a commit as a state. If it has no usable configuration, the given
// one is used.
func (a *app) at(w *workspace, commit string, otherwise *config.Config) (controller.State, error) {
	files, err := w.repo.FS(commit)
	if err != nil {
		return controller.State{}, err
	}
	cfg, problems, found, err := a.readConfig(files)
	if err != nil {
		return controller.State{}, err
	}
	if !found || schema.HasErrors(problems) {
		cfg = otherwise
	}
	return controller.State{Commit: commit, FS: files, Config: cfg}, nil
}

// local plans the working tree against the merge base of ref and HEAD, or
// against nothing where ref is empty.
func (a *app) local(ctx context.Context, w *workspace, book *ledger.Ledger, ref string, s selection) (*controller.Prepared, error) {
	head, err := a.worktree(w)
	if err != nil {
		return nil, err
	}
	req := controller.Request{
		Head: head, ConfigFile: a.configFile, Ledger: book, LookupEnv: a.lookupEnv,
		HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, BaseTrust: ledger.Trust{Level: ledger.LevelOperator},
	}
	choice, err := s.Request(ctx, &req)
	if err != nil {
		return nil, err
	}
	req.Brief = s.brief
	if s.dueOnly {
		req.Remembered = func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
			return a.worktreeSnapshot(ctx, w, head.Config, notes)
		}
	}
	if ref != "" {
		base, err := a.mergeBase(ctx, w, ref)
		if err != nil {
			return nil, err
		}
		state, err := a.at(w, base, head.Config)
		if err != nil {
			return nil, err
		}
		req.Base = &state
		folders := append(load.Folders(head.Config.Settings()), a.configFile)
		req.Changed = func(ctx context.Context, outside []string) ([]string, error) {
			return w.repo.ChangedWork(ctx, base, slices.Concat(folders, outside))
		}
		if s.affectedOnly && !req.All && req.Select == nil && len(s.Statuses)+len(s.Targets) == 0 {
			if req.Snapshot, err = a.snapshot(ctx, w, state); err != nil {
				return nil, err
			}
		}
	}
	prepared, err := controller.Prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	prepared.Problems = schema.SortProblems(append(prepared.Problems, prepared.Requirements()...))
	a.strictly(prepared.Problems)
	for _, line := range choice.Unmatched() {
		if a.strict {
			return nil, usageError("%s", line)
		}
		fmt.Fprintln(a.stderr, "gavel:", line)
	}
	return prepared, nil
}

func (a *app) mergeBase(ctx context.Context, w *workspace, ref string) (string, error) {
	other, err := w.repo.Resolve(ctx, ref)
	if err != nil {
		return "", &exitError{exitUsage, err}
	}
	head, err := w.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return "", &exitError{exitUsage, err}
	}
	base, err := w.repo.MergeBase(ctx, other, head)
	if errors.Is(err, gitrepo.ErrShallow) {
		return "", &exitError{exitUsage, fmt.Errorf("--base %s: %w", ref, err)}
	}
	return base, err
}

// openLedger opens the ledger of the repository. A damaged one is put aside.
func (a *app) openLedger(ctx context.Context, w *workspace) (*ledger.Ledger, error) {
	path, err := a.ledgerPath(ctx, w)
	if err != nil {
		return nil, err
	}
	book, err := recovery.Open(ctx, ledger.Config{Path: path})
	if err == nil && book.Notice() != "" {
		a.note(book.Notice())
	}
	return book, err
}

// ledgerPath is where the ledger is: in the repository's own folder, unless
// another file was named.
func (a *app) ledgerPath(ctx context.Context, w *workspace) (string, error) {
	if a.ledgerFile == "" {
		if _, err := ownfolder.Make(ctx, w.repo); err != nil {
			return "", err
		}
	}
	return a.ledgerAt(w), nil
}

// usualLedger is where the ledger of a repository is, unless --ledger says
// otherwise.
const usualLedger = ownfolder.Name + "/ledger.db"

// ledgerAt is the path of the ledger, whether it is there or not.
func (a *app) ledgerAt(w *workspace) string {
	return cmp.Or(a.ledgerFile, filepath.Join(w.repo.Root(), filepath.FromSlash(usualLedger)))
}
