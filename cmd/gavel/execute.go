package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/source"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// Execute executes a plan with a progress line on stderr. It is the
// [controller.Executor] of every command.
func (a *App) Execute(ctx context.Context, p *controller.Prepared, opts controller.RunOptions) (*report.Report, error) {
	return a.ExecuteRecording(ctx, p, "", opts)
}

// ExecuteRecording is [App.Execute] that also records each target's replies into a
// folder; an empty one records nothing. It returns the report even if the recording
// could not be written.
func (a *App) ExecuteRecording(ctx context.Context, p *controller.Prepared, folder string, opts controller.RunOptions) (report *report.Report, unwritten error) {
	ctx, span := a.step(ctx, "judge")
	defer func() { span.End(unwritten) }()
	span.Text("gavel.head", p.Head().Commit).Text("gavel.repository", opts.Repository).Int("gavel.pull_request", int64(opts.PullRequest))
	transport := target.Transport()
	defer transport.CloseIdleConnections()
	programs, err := a.Programs(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { unwritten = errors.Join(unwritten, programs.Close()) }()
	host := a.Host(ctx, p, Opener{Programs: programs, Transport: transport, PullRequest: opts.PullRequest})
	opts.Breakers = a.Breakers
	if a.Remote != nil && opts.Subject != nil {
		host = a.remotely(p, &opts)
	} else {
		opts.Withhold = programs.Withhold(p, opts.Withhold)
	}
	programs.Warn(p)
	bar := terminal.NewBar(a.Stderr)
	if opts.Observe == nil {
		opts.Observe = func(p controller.Progress) { bar.Show(barStep(p)) }
	}
	if folder != "" {
		recording, err := startRecording(p, a.Path(folder))
		if err != nil {
			return nil, usageError("--record %s: %w", folder, err)
		}
		opts.Recorder = recording
		defer func() { unwritten = errors.Join(unwritten, recording.close()) }()
	}
	report, err = p.Execute(ctx, host, opts)
	bar.Clear()
	if report != nil && p.Ledger().Vanished() != nil {
		a.Note(ledger.NoticeGone)
	}
	return report, err
}

// barStep converts a step of the progress for the bar.
func barStep(p controller.Progress) terminal.Step {
	step := terminal.Step{Side: p.Side(), Done: p.Done, Total: p.Total, Again: p.Again, Verdict: p.Verdict(), Held: p.Held}
	if p.Outcome != nil {
		step.Spent = p.Outcome.Spent
	}
	return step
}

// step begins a step of ctx's trace, or a new trace. A CI system that traces its jobs
// passes its trace in TRACEPARENT.
func (a *App) step(ctx context.Context, name string) (context.Context, *tracing.Span) {
	if tracing.Parent(ctx) != "" {
		return tracing.Start(ctx, name)
	}
	return a.Tracer.Root(ctx, name, a.Env("TRACEPARENT"))
}

// Host returns what opens targets and runs programs for a plan in this process.
func (a *App) Host(ctx context.Context, p *controller.Prepared, o Opener) controller.Host {
	a.Secrets.Add(p.Secrets()...)
	return localHost{ctx, a, o}
}

// A localHost is this process.
type localHost struct {
	ctx    context.Context // of the run
	app    *App
	opener Opener
}

// Open implements [controller.Host].
func (h localHost) Open(t config.Target, c controller.Checkout) (target.Target, error) {
	return h.opener.open(h.ctx, h.app, t, c)
}

// Programs implements [controller.Host].
func (h localHost) Programs(c controller.Checkout) evaluate.Programs {
	return h.opener.Programs.Judges(c)
}

// remotely has other processes judge. This one opens no target and starts no program.
func (a *App) remotely(p *controller.Prepared, opts *controller.RunOptions) controller.Host {
	opts.ID = cmp.Or(opts.ID, rand.Text())
	opts.Judge = remoteJudge{a.Remote, p, *opts}
	return controller.Opener(func(config.Target, controller.Checkout) (target.Target, error) { return nil, nil })
}

// A remoteJudge has other processes judge a plan.
type remoteJudge struct {
	remote Remote
	p      *controller.Prepared
	opts   controller.RunOptions
}

// Judge implements [controller.Judge].
func (j remoteJudge) Judge(ctx context.Context, sides []run.Side) ([][]run.Outcome, error) {
	return j.remote(ctx, j.p, j.opts, sides)
}

// An Opener opens targets for a checkout.
type Opener struct {
	// Programs runs the command provider's programs, and Transport carries HTTP.
	Programs  *controller.ProgramRunner
	Transport http.RoundTripper
	// Commit and PullRequest fill a url_template. Commit defaults to the checkout's,
	// and PullRequest is 0 without one.
	Commit      string
	PullRequest int
}

// OpenTarget opens a target of a checkout's configuration.
func (a *App) OpenTarget(ctx context.Context, o Opener, t config.Target, c controller.Checkout) (target.Target, error) {
	return o.open(ctx, a, t, c)
}

// shown returns the files that a program sees.
func (a *App) shown(ctx context.Context, t config.Target, c controller.Checkout) ([]string, error) {
	if c.Programs != nil {
		c = *c.Programs
	}
	made, err := source.Read(ctx, source.State{FS: c.FS, Config: c.Config, ConfigFile: a.ConfigFile}, t)
	return append([]string{}, made.Paths()...), err
}

func (o Opener) open(ctx context.Context, a *App, t config.Target, c controller.Checkout) (target.Target, error) {
	env := target.Env{Lookup: a.LookupEnv, Files: c.FS, Transport: tracedApp(t, o.Transport), Commit: o.Commit}
	if t.RunsProgram() {
		var err error
		if env.Programs, env.Dir, err = o.Programs.Box(ctx, c); err != nil {
			return nil, err
		}
		if env.Shown, err = a.shown(ctx, t, c); err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
	}
	if t.Started() {
		var err error
		if env.Process, err = target.Start(ctx, t, env); err != nil {
			return nil, target.NewOpenError(t, env, err)
		}
		o.Programs.Keep(env.Process)
		env.Transport = tracedApp(t, env.Process.Transport())
	}
	if c.Commit != controller.Worktree {
		env.Commit = c.Commit
	}
	if o.PullRequest != 0 {
		env.PullRequest = strconv.Itoa(o.PullRequest)
	}
	open := a.Open
	if open == nil {
		open = target.New
	}
	opened, err := open(t, env)
	if err != nil || a.Tracer == nil {
		return opened, err
	}
	return tracedTarget{opened, t}, nil
}
