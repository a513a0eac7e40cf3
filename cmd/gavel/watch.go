package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/live"
	"github.com/gavel-evals/gavel/controller/ownfolder"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/reporters/watchstate"
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
	// unpriced says that a cost was named, so that one that is not known is
	// asked about.
	unpriced bool
}

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch [DIR]",
		Short: "Rerun what a saved file can have affected, and show what changed",
		Example: `  gavel watch                          compare with the last commit
  gavel watch --base main              compare with where the branch left main
  gavel watch --max-cost 0.50          ask before a change costs more than that
  gavel watch --json | jq 'select(.event == "result") | .report.gate'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("watch takes one folder, but got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.unpriced = cmd.Flags().Changed("max-cost")
			return a.watch(cmd.Context(), f, args)
		},
	}
	a.sandbox.bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "HEAD", "compare with the merge base of this ref and HEAD, such as main")
	flags.BoolVar(&f.plain, "plain", false, "print lines even on a terminal")
	flags.BoolVar(&f.yes, "yes", false, "never ask before a run, regardless of its cost")
	flags.IntVar(&f.maxCases, "max-cases", 50, "ask for confirmation before judging more cases than this, such as 200")
	flags.Float64Var(&f.maxCost, "max-cost", 1, "ask for confirmation before spending more than this many US dollars by estimate, such as 0.50; if given, also ask when a price is unknown")
	return cmd
}

func (a *app) watch(ctx context.Context, f watchFlags, args []string) error {
	_, isTerminal := terminal.Screen(a.stdout)
	if ci, _ := a.lookupEnv("CI"); ci != "" && ci != "false" && !isTerminal {
		return usageError("watch waits for files to be saved, which nobody does here (CI is set): write `gavel run --base main`")
	}
	if f.maxCases < 0 || f.maxCost < 0 {
		return usageError("--max-cases and --max-cost are the most that is run without asking; write 0 to be asked every time")
	}
	b := *a
	if len(args) == 1 {
		b.dir = a.path(args[0])
	}
	if err := b.checkBase(ctx, f.base); err != nil {
		return err
	}
	// The first interrupt stops a run, so it must not end everything at once.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	tree, err := live.Open(ctx, b.followed(f.base))
	if err != nil {
		return err
	}
	defer tree.Close()
	if isTerminal && !f.plain && !b.json {
		return b.watchScreen(ctx, tree, f)
	}
	return b.watchLines(ctx, tree, f)
}

// checkBase refuses a ref that does not exist. Later it is waited for, since
// branches come and go.
func (a *app) checkBase(ctx context.Context, ref string) error {
	w, err := a.workspace()
	if err != nil {
		return err
	}
	defer w.close()
	_, err = a.baseOf(ctx, w, ref)
	return err
}

// baseOf is the commit to compare with: none before the first one.
func (a *app) baseOf(ctx context.Context, w *workspace, ref string) (string, error) {
	if ref == "HEAD" && w.repo.Unborn() {
		return "", nil
	}
	return a.mergeBase(ctx, w, ref)
}

// followed says what is followed and how the commands read it.
func (a *app) followed(ref string) live.Config {
	in := func(p live.Place) *workspace { return &workspace{repo: p.Repo} }
	return live.Config{
		Open: a.openPlace,
		Base: func(ctx context.Context, p live.Place) (string, error) {
			return a.baseOf(ctx, in(p), ref)
		},
		At: func(p live.Place, commit string, otherwise *config.Config) (controller.State, error) {
			return a.at(in(p), commit, otherwise)
		},
		Snapshot: func(ctx context.Context, p live.Place, at controller.State) (*load.Snapshot, error) {
			return a.snapshot(ctx, in(p), at)
		},
		ReadConfig: func(_ live.Place, files *gitrepo.WorkTree) (*config.Config, []schema.Problem, error) {
			cfg, problems, _, err := a.readConfig(files)
			return cfg, problems, err
		},
		ConfigFile: a.configFile, LookupEnv: a.lookupEnv,
	}
}

// openPlace opens the repository with its ledger.
func (a *app) openPlace(ctx context.Context) (live.Place, error) {
	w, err := a.workspace()
	if err != nil {
		return live.Place{}, err
	}
	book, err := a.openLedger(ctx, w)
	if err != nil {
		return live.Place{}, errors.Join(err, w.close())
	}
	file, own := a.ledgerAt(w), []string{ownfolder.Name + "/"}
	if a.ledgerFile != "" {
		if full, err := filepath.Abs(file); err == nil {
			if rel, err := filepath.Rel(w.repo.Root(), full); err == nil {
				own = append(own, filepath.ToSlash(rel))
			}
		}
	}
	return live.Place{
		Repo: w.repo, Ledger: book, Files: []string{w.repo.Root(), file}, Own: own,
		Close: func() error { return errors.Join(book.Close(), w.close()) },
	}, nil
}

// session runs the cases that the tree's changes affect. Until ignore is called
// it handles signals: an interrupt stops the current run, or ends the watch if
// there is none, as SIGTERM does at any time.
func (a *app) session(tree *live.Tree, f watchFlags, tell func(watchstate.Update), end context.CancelCauseFunc) (session *live.Session, ignore func()) {
	var running atomic.Bool
	session = live.New(tree, live.Options{
		Execute: func(ctx context.Context, p *controller.Prepared, e controller.Execution) (*report.Report, error) {
			return a.execute(ctx, p, "", e)
		},
		Tell: func(u watchstate.Update) {
			running.Store(u.Board.State == watchstate.Running)
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
				session.Do(watchstate.Command{Do: watchstate.Stop})
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

// watchLines prints what happens until it is interrupted.
func (a *app) watchLines(ctx context.Context, tree *live.Tree, f watchFlags) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines := &terminal.Lines{W: a.stdout, LookupEnv: a.lookupEnv, Open: a.openFiles}
	write := lines.Text
	if a.json {
		write = lines.JSON
	}
	session, ignore := a.session(tree, f, func(u watchstate.Update) {
		if err := write(u); err != nil {
			end(fmt.Errorf("print what happened: %w", err)) // nobody reads any more
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
func (a *app) openFiles() (fs.FS, func() error, error) {
	w, err := a.workspace()
	if err != nil {
		return nil, nil, err
	}
	return w.files, w.close, nil
}
