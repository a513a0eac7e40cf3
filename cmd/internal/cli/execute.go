package cli

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/gavel-evals/gavel/cmd/internal/recording"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/ledger/recovery"
	"github.com/gavel-evals/gavel/controller/programs"
	"github.com/gavel-evals/gavel/controller/progress"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// Execute carries a plan out with a progress line on stderr. It is the
// [controller.Executor] of every command.
func (a *App) Execute(ctx context.Context, p *controller.Prepared, opts controller.RunOptions) (*report.Report, error) {
	return a.ExecuteRecording(ctx, p, "", opts)
}

// ExecuteRecording is [App.Execute] that also records the replies of each target
// into a folder; empty records nothing. It returns the report even where what was
// recorded could not be written.
func (a *App) ExecuteRecording(ctx context.Context, p *controller.Prepared, folder string, opts controller.RunOptions) (report *report.Report, unwritten error) {
	transport := target.Transport()
	defer transport.CloseIdleConnections()
	programs, err := a.Programs(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { unwritten = errors.Join(unwritten, programs.Close()) }()
	a.Secrets.Add(p.Secrets()...)
	opts.Withhold = programs.Withhold(p, opts.Withhold)
	host := controller.Host{Programs: programs.Judges, Breakers: a.Breakers}
	opener := Opener{Programs: programs, Transport: transport, PullRequest: opts.PullRequest}
	host.Open = func(t config.Target, c controller.Checkout) (target.Target, error) { return opener.open(ctx, a, t, c) }
	bar := terminal.NewBar(a.Stderr)
	if opts.Observe == nil {
		opts.Observe = func(p progress.Step) {
			step := terminal.Step{Side: p.Side(), Done: p.Done, Total: p.Total, Again: p.Again, Verdict: p.Verdict()}
			if p.Outcome != nil {
				step.Spent = p.Outcome.Spent
			}
			bar.Show(step)
		}
	}
	if folder != "" {
		done, err := recording.Start(&host, p, a.Path(folder))
		if err != nil {
			return nil, UsageError("--record %s: %w", folder, err)
		}
		defer func() { unwritten = errors.Join(unwritten, done()) }()
	}
	report, err = p.Execute(ctx, host, opts)
	bar.Clear()
	if report != nil && p.Ledger().Vanished() != nil {
		a.Note(recovery.Gone)
	}
	return report, err
}

// An Opener opens targets for a checkout.
type Opener struct {
	// Programs runs those of the provider command, and Transport carries HTTP.
	Programs  *programs.Runner
	Transport http.RoundTripper
	// Commit and PullRequest fill a url_template. Commit defaults to that of the
	// checkout, and PullRequest is 0 where there is none.
	Commit      string
	PullRequest int
}

// OpenTarget opens a target of the configuration of a checkout.
func (a *App) OpenTarget(ctx context.Context, o Opener, t config.Target, c controller.Checkout) (target.Target, error) {
	return o.open(ctx, a, t, c)
}

func (o Opener) open(ctx context.Context, a *App, t config.Target, c controller.Checkout) (target.Target, error) {
	env := target.Env{Lookup: a.LookupEnv, Files: c.FS, Transport: o.Transport, Commit: o.Commit}
	if t.Provider == config.Command {
		var err error
		if env.Programs, env.Dir, err = o.Programs.In(ctx, c); err != nil {
			return nil, err
		}
	}
	if c.Commit != controller.Worktree {
		env.Commit = c.Commit
	}
	if o.PullRequest != 0 {
		env.PullRequest = strconv.Itoa(o.PullRequest)
	}
	if a.Open != nil {
		return a.Open(t, env)
	}
	return target.New(t, env)
}
