package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/recording"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/requirement"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters/artifact"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// runFlags are the flags of run other than the selection.
type runFlags struct {
	selection
	record, junit, markdown string
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [KEY-GLOB...]",
		Short: "Judge what is affected and not yet known, and report",
		Example: `  gavel run
  gavel run --base main 'support/**'
  gavel run --base main --junit report.xml --markdown comment.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Keys, f.dueOnly = args, f.record == "" // a recording has all of them
			return a.withLedger(cmd.Context(), func(ctx context.Context, w *workspace, book *ledger.Ledger) error {
				return a.run(ctx, w, book, f)
			})
		},
	}
	f.bind(cmd)
	a.sandbox.bind(cmd)
	cmd.Flags().StringVar(&f.record, "record", "", "record the replies of each target for replay, into the folder recordings or, as --record=replies, into another one")
	cmd.Flags().Lookup("record").NoOptDefVal = "recordings"
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write JUnit XML to this file, such as report.xml")
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "also write the comment that a pull request would get to this file, such as comment.md")
	return cmd
}

func (a *app) run(ctx context.Context, w *workspace, book *ledger.Ledger, f runFlags) error {
	prepared, err := a.local(ctx, w, book, f.base, f.selection)
	if err != nil {
		return err
	}
	if err := a.printProblems(w.files, prepared.Problems); err != nil {
		return err
	}
	if why := requirement.Prevents(prepared.Problems); len(why) > 0 {
		return usageError("nothing was judged: %s", why[0].Message)
	}
	files := artifact.Files(a.path, f.junit, f.markdown)
	if err := artifact.Check(files...); err != nil {
		return usageError("%w", err)
	}
	report, err := a.execute(ctx, prepared, f.record, controller.Execution{ConfigDiff: prepared.ConfigChange()})
	if report == nil {
		return err
	}
	// The verdict is paid for: it is printed even if the files fail.
	err = errors.Join(err, a.printReport(report), artifact.Write(report, files...))
	switch {
	case ctx.Err() != nil:
		if err != nil {
			a.note(err.Error())
		}
		return errInterrupted
	case err != nil:
		return &exitError{max(exitInternal, report.ExitCode()), err}
	}
	return exitOf(report.ExitCode())
}

// execute carries a plan out with a progress line on stderr, and stores the
// report, which it gives even where that, or what was recorded, could not be
// written.
func (a *app) execute(ctx context.Context, p *controller.Prepared, record string, e controller.Execution) (report *report.Report, unwritten error) {
	transport := target.Transport()
	defer transport.CloseIdleConnections()
	programs, err := a.programs(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { unwritten = errors.Join(unwritten, programs.Close()) }()
	a.secrets.Add(p.Secrets()...)
	e.ID, e.Scrub, e.Breakers = controller.NewID(), p.Scrub(), a.breakers
	e.Programs, e.Withhold = programs.Judges, programs.Withhold(p, e.Withhold)
	e.Open = func(t config.Target, s controller.State) (target.Target, error) {
		env := target.Env{Lookup: a.lookupEnv, Files: s.FS, Transport: transport}
		if t.Provider == config.Command {
			var err error
			if env.Programs, env.Dir, err = programs.In(ctx, s); err != nil {
				return nil, err
			}
		}
		if s.Commit != controller.Worktree {
			env.Commit = s.Commit
		}
		if e.PullRequest != 0 {
			env.PullRequest = strconv.Itoa(e.PullRequest)
		}
		if a.open != nil {
			return a.open(t, env)
		}
		return target.New(t, env)
	}
	bar := terminal.NewBar(a.stderr)
	if e.Observe == nil {
		e.Observe = func(p controller.Progress) {
			bar.Show(terminal.Step{Side: p.Side(), Done: p.Done, Total: p.Total, Verdict: p.Verdict()})
		}
	}
	if record != "" {
		done, err := recording.Of(&e, p, a.path(record))
		if err != nil {
			return nil, usageError("--record %s: %w", record, err)
		}
		defer func() { unwritten = errors.Join(unwritten, done()) }()
	}
	started := p.Now()
	report, err = p.Execute(ctx, e)
	bar.Clear()
	if err != nil {
		return nil, err
	}
	if p.Ledger.Vanished() != nil {
		a.note(recovery.Gone)
	}
	// What is known is stored and shown even when the run was interrupted.
	return report, p.Store(context.WithoutCancel(ctx), e, report, started)
}

func (a *app) printReport(report *report.Report) error {
	if a.json {
		return a.print(report)
	}
	return terminal.Report(a.stdout, report, terminal.For(a.stdout, a.lookupEnv))
}
