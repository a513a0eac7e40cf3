package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/gavel-evals/gavel/cmd/internal/recording"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// Execute carries a plan out with a progress line on stderr, and stores the
// report, which it gives even where that, or what was recorded, could not be
// written.
func (a *App) Execute(ctx context.Context, p *controller.Prepared, record string, e controller.RunOptions) (report *report.Report, unwritten error) {
	transport := target.Transport()
	defer transport.CloseIdleConnections()
	programs, err := a.Programs(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { unwritten = errors.Join(unwritten, programs.Close()) }()
	a.Secrets.Add(p.Secrets()...)
	e.ID, e.Scrub, e.Breakers = controller.NewID(), p.Scrub(), a.Breakers
	e.Programs, e.Withhold = programs.Judges, programs.Withhold(p, e.Withhold)
	e.Open = func(t config.Target, s controller.Checkout) (target.Target, error) {
		env := target.Env{Lookup: a.LookupEnv, Files: s.FS, Transport: transport}
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
		if a.Open != nil {
			return a.Open(t, env)
		}
		return target.New(t, env)
	}
	bar := terminal.NewBar(a.Stderr)
	if e.Observe == nil {
		e.Observe = func(p controller.Progress) {
			bar.Show(terminal.Step{Side: p.Side(), Done: p.Done, Total: p.Total, Verdict: p.Verdict()})
		}
	}
	if record != "" {
		done, err := recording.Of(&e, p, a.Path(record))
		if err != nil {
			return nil, UsageError("--record %s: %w", record, err)
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
		a.Note(recovery.Gone)
	}
	// What is known is stored and shown even when the run was interrupted.
	return report, p.Store(context.WithoutCancel(ctx), e, report, started)
}
