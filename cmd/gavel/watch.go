package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/watchmode"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	base     string
	plain    bool
	yes      bool
	maxCases int
	maxCost  float64
	// unpriced means that a cost limit was set, so that an unknown cost needs
	// confirmation.
	unpriced bool
}

// A watchApp is the command watch with the common state of all commands.
type watchApp struct{ *App }

// watchCommand returns the command watch.
func watchCommand(app *App) *cobra.Command {
	c := watchApp{app}
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch [PATH...]",
		Short: "Rerun the cases that a saved file affects, and show what changed",
		Example: `  gavel watch                          compare with the last commit
  gavel watch test_definitions/refund.yaml
  gavel watch --base main              compare with where the branch left main
  gavel watch --max-cost 0.50          ask before a change costs more than that
  gavel watch --json | jq 'select(.event == "result") | .report.gate'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.unpriced = cmd.Flags().Changed("max-cost")
			return c.watch(cmd.Context(), f, args)
		},
	}
	c.Sandbox.Bind(cmd)
	flags := cmd.Flags()
	f.base = "HEAD"
	flags.Var((*refValue)(&f.base), "base", "compare with the merge base of this ref and HEAD, such as main")
	flags.BoolVar(&f.plain, "plain", false, "print lines even on a terminal")
	flags.BoolVar(&f.yes, "yes", false, "never ask before a run, regardless of its cost")
	flags.IntVar(&f.maxCases, "max-cases", 50, "ask for confirmation before judging more cases than this, such as 200")
	flags.Float64Var(&f.maxCost, "max-cost", 1, "ask for confirmation before spending more than this many US dollars by estimate, such as 0.50; if given, also ask when a price is unknown")
	return cmd
}

func (c watchApp) watch(ctx context.Context, f watchFlags, args []string) error {
	_, isTerminal := terminal.Screen(c.Stdout)
	if ci, _ := c.LookupEnv("CI"); ci != "" && ci != "false" && !isTerminal {
		return usageError("watch waits for files to be saved, which nobody does here (CI is set): write `gavel run --base main`")
	}
	if f.maxCases < 0 || f.maxCost < 0 {
		return usageError("--max-cases and --max-cost are the most that is run without asking; write 0 to be asked every time")
	}
	own := *c.App
	b := watchApp{&own}
	if len(args) == 1 && c.elsewhere(args[0]) {
		b.Dir, args = c.Path(args[0]), nil
	}
	err := b.checkBase(ctx, f.base)
	if err != nil {
		return err
	}
	// The first interrupt stops a run, so it must not end everything at once.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	follow := watchmode.Config{Source: watchSource{b, f.base}, Making: b.Making(), ConfigFile: b.ConfigFile, LookupEnv: b.LookupEnv}
	if len(args) > 0 {
		if follow.Select, err = b.named(ctx, args); err != nil {
			return err
		}
	}
	tree, err := watchmode.Open(ctx, follow)
	if err != nil {
		return err
	}
	defer tree.Close()
	if isTerminal && !f.plain && !b.JSON {
		return b.watchScreen(ctx, tree, f)
	}
	return b.watchLines(ctx, tree, f)
}

// elsewhere reports whether an argument is a folder with its own repository, or the
// root of this one: then all of it is watched.
func (c watchApp) elsewhere(arg string) bool {
	info, err := os.Stat(c.Path(arg))
	if err != nil || !info.IsDir() {
		return false
	}
	there, err := gitrepo.Open(c.Path(arg))
	if err != nil {
		return true // the error is about the folder
	}
	defer there.Close()
	here, err := gitrepo.Open(c.Dir)
	if err != nil {
		return true
	}
	defer here.Close()
	return here.Root() != there.Root() || filepath.Clean(c.Path(arg)) == here.Root()
}

// named returns a function that selects the arguments' cases: globs of keys, files or
// folders. An argument without cases is a usage error, unless it is a path.
func (c watchApp) named(ctx context.Context, args []string) (func(*schema.CaseInfo) bool, error) {
	w, err := c.Workspace()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	globs, folder := c.Named(w, args)
	cfg, _, err := c.OwnConfig(w)
	if err != nil {
		return nil, err
	}
	found, err := load.Load(ctx, w.Files, load.Options{Settings: cfg.Settings(), Maker: c.Maker()})
	if err != nil {
		return nil, err
	}
	absent := slices.DeleteFunc(slices.Clone(globs), func(glob string) bool {
		_, err := os.Stat(c.Path(filepath.FromSlash(glob)))
		return err == nil
	})
	chosen := controller.CaseFilter{Keys: absent, Folder: folder}.Choose()
	if admits := chosen.Func(); admits != nil {
		for _, tc := range found.Cases {
			admits(&tc.CaseInfo)
		}
	}
	wrong, _ := chosen.Unmatched(func(string) bool { return false })
	for _, line := range wrong {
		return nil, usageError("%s", line)
	}
	return controller.MatchNames(globs, folder), nil
}

// checkBase refuses a ref that does not exist. Later the watch waits for it, since
// branches come and go.
func (c watchApp) checkBase(ctx context.Context, ref string) error {
	w, err := c.Workspace()
	if err != nil {
		return err
	}
	defer w.Close()
	_, err = c.baseOf(ctx, w, ref)
	return err
}

// baseOf returns the commit to compare with: none before the first commit.
func (c watchApp) baseOf(ctx context.Context, w *workspace, ref string) (string, error) {
	if ref == "HEAD" && w.Repo.Unborn() {
		return "", nil
	}
	return c.MergeBase(ctx, w, ref)
}

// A watchSource is the repository of the working folder against a ref. It implements
// [watchmode.Source].
type watchSource struct {
	watchApp
	ref string
}

// Base returns the commit to compare with.
func (s watchSource) Base(ctx context.Context, w watchmode.Workspace) (string, error) {
	return s.baseOf(ctx, opened(w), s.ref)
}

// At returns a commit as a state.
func (s watchSource) At(w watchmode.Workspace, commit string, otherwise *config.Config) (controller.Checkout, error) {
	return s.Checkout(opened(w), commit, otherwise)
}

// Snapshot returns a commit's definitions.
func (s watchSource) Snapshot(ctx context.Context, w watchmode.Workspace, at controller.Checkout) (*load.Snapshot, error) {
	return s.watchApp.Snapshot(ctx, opened(w), at)
}

// ReadConfig reads the configuration of the working tree.
func (s watchSource) ReadConfig(files *gitrepo.WorkTree) (*config.Config, []schema.Problem, error) {
	cfg, problems, _, err := s.watchApp.ReadConfig(files)
	return cfg, problems, err
}

// opened is a followed workspace as commands have it.
func opened(w watchmode.Workspace) *workspace { return &workspace{Repo: w.Repo} }

// Open opens the repository with its ledger.
func (s watchSource) Open(ctx context.Context) (watchmode.Workspace, error) {
	w, err := s.Workspace()
	if err != nil {
		return watchmode.Workspace{}, err
	}
	store, err := s.OpenLedger(ctx, w)
	if err != nil {
		return watchmode.Workspace{}, errors.Join(err, w.Close())
	}
	file, own := s.LedgerAt(w), []string{gitrepo.OwnFolder + "/"}
	if s.LedgerFile != "" {
		if full, err := filepath.Abs(file); err == nil {
			if rel, err := filepath.Rel(w.Repo.Root(), full); err == nil {
				own = append(own, filepath.ToSlash(rel))
			}
		}
	}
	return watchmode.Workspace{
		Repo: w.Repo, Ledger: store, Files: []string{w.Repo.Root(), file}, Own: own,
		Close: func() error { return errors.Join(store.Close(), w.Close()) },
	}, nil
}

// session runs the cases affected by the tree's changes. Until ignore is called it
// handles signals: an interrupt stops the current run, or ends the watch if there is
// none; SIGTERM always ends it.
func (c watchApp) session(tree *watchmode.Tree, f watchFlags, tell func(reporters.WatchUpdate), end context.CancelCauseFunc) (session *watchmode.Session, ignore func()) {
	var running atomic.Bool
	session = watchmode.New(tree, watchmode.Options{
		Execute: c.Execute,
		Notify: func(u reporters.WatchUpdate) {
			running.Store(u.Snapshot.State == reporters.WatchRunning)
			tell(u)
		},
		Ref: f.base, MaxCases: f.maxCases, MaxUSD: f.maxCost, AskUnpriced: f.unpriced, Yes: f.yes,
	})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var handling sync.WaitGroup
	handling.Go(func() {
		for got := range signals {
			if got == os.Interrupt && running.Load() {
				session.Do(reporters.WatchCommand{Do: reporters.WatchStop})
				continue
			}
			end(errInterrupted)
		}
	})
	return session, func() {
		signal.Stop(signals)
		close(signals)
		handling.Wait()
	}
}

// watchLines prints events until it is interrupted.
func (c watchApp) watchLines(ctx context.Context, tree *watchmode.Tree, f watchFlags) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines := &terminal.Lines{W: c.Stdout, LookupEnv: c.LookupEnv, Open: c.openFiles}
	write := lines.Text
	if c.JSON {
		write = lines.JSON
	}
	session, ignore := c.session(tree, f, func(u reporters.WatchUpdate) {
		if err := write(u); err != nil {
			end(fmt.Errorf("print what happened: %w", err)) // nobody reads the output any more
		}
	}, end)
	defer ignore()
	if err := session.Run(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, syscall.EPIPE) {
		return cause
	}
	return nil
}

// openFiles opens the working tree, which may have been recreated.
func (c watchApp) openFiles() (fs.FS, func() error, error) {
	w, err := c.Workspace()
	if err != nil {
		return nil, nil, err
	}
	return w.Files, w.Close, nil
}
