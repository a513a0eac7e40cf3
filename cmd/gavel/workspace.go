package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/snapshot"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/skill"
)

// A workspace is the repository in which the command was started.
type workspace struct {
	Repo  *gitrepo.Repository
	Files *gitrepo.WorkTree // nil if only commits are read
}

// Workspace opens the repository that contains --dir.
func (a *App) Workspace() (*workspace, error) {
	repo, err := gitrepo.Open(a.Dir)
	if err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	files, err := repo.WorkFS()
	if err != nil {
		return nil, errors.Join(err, repo.Close())
	}
	return &workspace{Repo: repo, Files: files}, nil
}

// Close closes the repository and its working tree.
func (w *workspace) Close() error {
	var err error
	if w.Files != nil {
		err = w.Files.Close()
	}
	return errors.Join(err, w.Repo.Close())
}

// ReadConfig reads the configuration of a commit or the working tree, or returns the
// default one if found is false.
func (a *App) ReadConfig(fsys fs.FS) (cfg *config.Config, problems []schema.Problem, found bool, err error) {
	if !fs.ValidPath(a.ConfigFile) {
		return nil, nil, false, usageError("--config %s: name a file of the repository, relative to its root, such as ci/gavel.yaml", a.ConfigFile)
	}
	return configfile.Read(fsys, a.ConfigFile, a.LookupEnv)
}

// OwnConfig reads the configuration of the working tree. A file named by a flag must
// exist, and no definition may be left out by a sparse checkout: its cases would count as
// removed.
func (a *App) OwnConfig(w *workspace) (*config.Config, []schema.Problem, error) {
	cfg, problems, found, err := a.ReadConfig(w.Files)
	if err == nil && !found && a.ConfigFile != defaultConfig {
		err = usageError("there is no %s; --config is relative to the repository root, such as ci/gavel.yaml", a.ConfigFile)
	}
	if err != nil {
		return nil, nil, err
	}
	folders := load.Folders(cfg.Settings())
	left, err := w.Repo.LeftOut([]string{"."})
	left = slices.DeleteFunc(left, func(name string) bool {
		return !skill.IsFound(name) && !covered(append(slices.Clip(folders), a.ConfigFile), name)
	})
	for _, name := range left {
		if dir := path.Dir(path.Dir(name)); skill.IsFound(name) && !covered(folders, name) {
			folders = append(folders, dir)
		}
	}
	switch {
	case err != nil:
		err = usageError("%w", err)
	case len(left) > 0:
		err = usageError("the sparse checkout leaves out %s, such as %s: run git sparse-checkout add %s, or git sparse-checkout disable",
			textfmt.Count(len(left), "definition"), left[0], strings.Join(folders, " "))
	}
	return cfg, problems, err
}

// covered reports whether a file is in one of some folders, or is one of them.
func covered(folders []string, name string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool { return gitrepo.Covers(path.Clean(dir), name) })
}

// Worktree returns the working tree as a state. The errors of a gavel.yaml are printed
// and end the command.
func (a *App) Worktree(w *workspace) (controller.Checkout, error) {
	cfg, problems, err := a.OwnConfig(w)
	if err != nil {
		return controller.Checkout{}, err
	}
	if schema.HasErrors(problems) {
		if err := a.PrintProblems(w.Files, problems); err != nil {
			return controller.Checkout{}, err
		}
		return controller.Checkout{}, usageError("%s is invalid", a.ConfigFile)
	}
	return controller.Checkout{
		Commit: controller.Worktree, FS: w.Files, Config: cfg, Dir: w.Repo.Root(), Branch: w.Repo.Branch(), Subject: w.Repo.Subject(""),
		At: func(commit string) (fs.FS, error) { return w.Repo.FS(commit) },
	}, nil
}

// snapshots keeps a snapshot of the definitions next to the ledger.
func (a *App) snapshots(ctx context.Context, w *workspace) (snapshot.Store, error) {
	out := snapshot.Store{Program: snapshot.ThisProgram(), Changed: w.Repo.Changed}
	if a.LedgerFile != "" {
		out.Path = a.LedgerFile + ".definitions"
		return out, nil
	}
	out.Path = filepath.Join(w.Repo.Root(), gitrepo.OwnFolder, "definitions")
	_, err := gitrepo.MakeOwnFolder(ctx, w.Repo)
	if ledger.IsUnwritable(err) {
		err = nil // without remembered definitions it only takes longer
	}
	return out, err
}

// WorktreeSnapshot returns the working tree's snapshot, or nil before the first commit.
func (a *App) WorktreeSnapshot(ctx context.Context, w *workspace, cfg *config.Config, notes snapshot.Notes) (*load.Snapshot, error) {
	stored, err := a.snapshots(ctx, w)
	if err != nil {
		return nil, err
	}
	return stored.Worktree(ctx, w.Repo, snapshot.State{FS: w.Files, Settings: cfg.Settings(), Maker: a.Maker()}, notes)
}

// Snapshot returns the snapshot of a state's definitions; nil if a part of them was not made.
func (a *App) Snapshot(ctx context.Context, w *workspace, at controller.Checkout) (*load.Snapshot, error) {
	stored, err := a.snapshots(ctx, w)
	if err != nil {
		return nil, err
	}
	known, err := stored.Commit(ctx, snapshot.State{Commit: at.Commit, FS: at.FS, Settings: at.Config.Settings(), Maker: at.Maker}, snapshot.Notes{})
	if err != nil || known.Unmade() {
		return nil, err
	}
	return known, nil
}

// Checkout loads a commit as a state. If it has no usable configuration, the given one
// is used.
func (a *App) Checkout(w *workspace, commit string, otherwise *config.Config) (controller.Checkout, error) {
	files, err := w.Repo.FS(commit)
	if err != nil {
		return controller.Checkout{}, err
	}
	cfg, problems, found, err := a.ReadConfig(files)
	if err != nil {
		return controller.Checkout{}, err
	}
	if !found || schema.HasErrors(problems) {
		cfg = otherwise
	}
	return controller.Checkout{Commit: commit, FS: files, Config: cfg}, nil
}

// Local plans the working tree against the merge base of the selection's base and HEAD,
// or against nothing if there is none.
func (a *App) Local(ctx context.Context, w *workspace, store *ledger.Ledger, s selection) (*controller.Prepared, error) {
	head, err := a.Worktree(w)
	if err != nil {
		return nil, err
	}
	s.Keys, s.Folder = a.Named(w, s.Keys)
	req := controller.Request{
		Head: head, Making: a.Making(), ConfigFile: a.ConfigFile, Ledger: store, LookupEnv: a.LookupEnv,
		HeadTrust: ledger.Trust{Level: ledger.LevelOperator}, BaseTrust: ledger.Trust{Level: ledger.LevelOperator},
	}
	if s.Since != "" && s.Base != "" {
		return nil, usageError("--since only selects cases, and --base also compares with it: give one of them")
	}
	chosen, err := s.Request(ctx, &req)
	if err != nil {
		return nil, err
	}
	var notices []report.Notice // about the change that selects cases
	if s.Since != "" {
		affected, found, err := a.affectedSince(ctx, w, store, s)
		if err != nil {
			return nil, err
		}
		notices = found
		if named := req.Select; affected == nil {
			s.Base, s.Unasked = s.Since, "nothing is selected" // reports that nothing is affected
		} else {
			req.Select = func(c *schema.CaseInfo) bool { return (named == nil || named(c)) && affected(c) }
		}
	}
	req.Brief, req.Unasked = s.Brief, s.Unasked
	if s.DueOnly {
		req.Remembered = func(ctx context.Context, notes snapshot.Notes) (*load.Snapshot, error) {
			return a.WorktreeSnapshot(ctx, w, head.Config, notes)
		}
	}
	if s.Base != "" {
		base, err := a.MergeBase(ctx, w, s.Base)
		if err != nil {
			return nil, err
		}
		state, err := a.Checkout(w, base, head.Config)
		if err != nil {
			return nil, err
		}
		state.Maker = req.Making.Maker(store, req.BaseTrust)
		req.Base = &state
		skills, err := load.SkillFolders(ctx, w.Files, head.Config.Settings())
		if err != nil {
			return nil, err
		}
		folders := slices.Concat(load.Folders(head.Config.Settings()), skills, []string{a.ConfigFile})
		req.Changed = func(ctx context.Context, outside []string) ([]string, error) {
			return w.Repo.ChangedWork(ctx, base, slices.Concat(folders, outside))
		}
		if s.AffectedOnly && !req.All && req.Select == nil && len(s.Statuses)+len(s.Targets) == 0 {
			if req.Snapshot, err = a.Snapshot(ctx, w, state); err != nil {
				return nil, err
			}
		}
	}
	prepared, err := controller.Prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	prepared.Note(notices...)
	prepared.Problems = schema.SortProblems(append(prepared.Problems, prepared.Requirements()...))
	a.Strictly(prepared.Problems)
	if err := a.matches(w, chosen, prepared.Problems); err != nil {
		return nil, err
	}
	return prepared, nil
}

// matches refuses names without a case. A mistake in a definition may be the reason, so
// problems are printed before. A path without cases next to one with cases is only
// noted, unless --strict is set.
func (a *App) matches(w *workspace, chosen *controller.Choice, problems []schema.Problem) error {
	wrong, empty := chosen.Unmatched(a.isPath)
	if a.Strict {
		wrong, empty = append(wrong, empty...), nil
	}
	if len(wrong) > 0 {
		if err := a.PrintProblems(w.Files, problems); err != nil {
			return err
		}
		for _, line := range wrong[1:] {
			a.Note(line)
		}
		return usageError("%s", wrong[0])
	}
	for _, line := range append(empty, chosen.Lacking()...) {
		a.Note(line)
	}
	return nil
}

// MergeBase returns the commit at which the branch left ref.
func (a *App) MergeBase(ctx context.Context, w *workspace, ref string) (string, error) {
	other, err := w.Repo.Resolve(ctx, ref)
	if err != nil {
		return "", unresolved(err)
	}
	head, err := w.Repo.Resolve(ctx, "HEAD")
	if err != nil {
		return "", unresolved(err)
	}
	base, err := w.Repo.MergeBase(ctx, other, head)
	if errors.Is(err, gitrepo.ErrShallow) {
		return "", &exitError{ExitUsage, fmt.Errorf("--base %s: %w", ref, err)}
	}
	return base, err
}

// unresolved returns the error of an unknown name. It is a usage error unless the
// commit exists and is unreadable.
func unresolved(err error) error {
	if _, lost := errors.AsType[*gitrepo.LostError](err); lost {
		return err
	}
	return &exitError{ExitUsage, err}
}

// OpenLedger opens the ledger of the repository. A damaged one is moved away.
func (a *App) OpenLedger(ctx context.Context, w *workspace) (*ledger.Ledger, error) {
	path, err := a.LedgerPath(ctx, w)
	if err != nil {
		return nil, err
	}
	store, err := ledger.OpenOrReplace(ctx, ledger.Config{Path: path, Unconfined: a.Unconfined(ctx)})
	if err != nil {
		return nil, err
	}
	if store.Notice() != "" {
		a.Note(store.Notice())
	}
	if err := a.checkHome(ctx, w, store, true); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// LedgerPath returns the path of the ledger: in the folder of the main working tree, which
// linked ones share, unless another file or a database is named. The error is a mistake in the name.
func (a *App) LedgerPath(ctx context.Context, w *workspace) (string, error) {
	if err := a.checkName(); err != nil {
		return "", err
	}
	if a.LedgerFile == "" && a.Env(databaseVariable) == "" {
		if err := gitrepo.MakeMainFolder(ctx, w.Repo); err != nil {
			return "", err
		}
	}
	return a.LedgerAt(w), nil
}

// checkName reports a mistake in the ledger's name.
func (a *App) checkName() error {
	if postgres.IsURL(a.LedgerFile) {
		return usageError("--ledger names a file; the address of a database has a password, so set %s to it instead", databaseVariable)
	}
	if a.LedgerFile != "" {
		return nil
	}
	_, err := a.databaseURL("")
	return err
}

// usualLedger is the default path of a repository's ledger in its main working tree.
const usualLedger = gitrepo.OwnFolder + "/ledger.db"

// LedgerAt returns the path of the ledger, which may not exist, or the address of its
// database.
func (a *App) LedgerAt(w *workspace) string {
	return cmp.Or(a.LedgerFile, a.Env(databaseVariable), filepath.Join(w.Repo.MainRoot(), filepath.FromSlash(usualLedger)))
}
