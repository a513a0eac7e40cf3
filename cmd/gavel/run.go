package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/junit"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// runFlags are the flags of run beside the selection.
type runFlags struct {
	selection
	record   string
	junit    string
	markdown string
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
			f.keys = args
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
	report, err := a.execute(ctx, prepared, f.record, controller.Execution{ConfigDiff: prepared.ConfigChange()})
	if err != nil {
		return err
	}
	if err := a.writeReport(report, f); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return exitOf(report.ExitCode())
}

// execute carries a plan out with a progress line on stderr, and stores the
// report.
func (a *app) execute(ctx context.Context, p *controller.Prepared, record string, e controller.Execution) (report *reporters.Report, err error) {
	transport := target.Transport()
	defer transport.CloseIdleConnections()
	programs, err := a.programs(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, programs.Close()) }()
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
		return target.New(t, env)
	}
	bar := terminal.NewBar(a.stderr)
	if e.Observe == nil {
		e.Observe = func(p controller.Progress) {
			bar.Show(terminal.Step{Side: p.Side(), Done: p.Done, Total: p.Total, Verdict: p.Verdict()})
		}
	}
	if record != "" {
		recorders := target.NewRecorders(a.path(record), e.Scrub)
		e.Record = recorders.Record
		defer func() { err = errors.Join(err, recorders.Close()) }()
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

func (a *app) writeReport(report *reporters.Report, f runFlags) error {
	if f.junit != "" {
		out, err := os.Create(a.path(f.junit))
		if err != nil {
			return fmt.Errorf("write the JUnit report: %w", err)
		}
		if err := errors.Join(junit.Write(out, report), out.Close()); err != nil {
			return fmt.Errorf("write %s: %w", f.junit, err)
		}
	}
	if f.markdown != "" {
		text := comment.Markdown(report, comment.Options{})
		if err := os.WriteFile(a.path(f.markdown), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the comment: %w", err)
		}
	}
	if a.json {
		return a.print(report)
	}
	return terminal.Report(a.stdout, report, terminal.For(a.stdout, a.lookupEnv))
}
