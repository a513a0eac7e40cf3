package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A uiRunner runs cases of the working tree as gavel run does, one run at a time. It
// implements [editor.Runner].
type uiRunner struct {
	ctx   context.Context // of the command
	app   App
	board *dashboard.Board
	runs  sync.WaitGroup

	mu sync.Mutex
	// The fields below are guarded by mu.
	state  editor.RunState
	cancel context.CancelFunc
}

// newUIRunner returns the runner of a command. The caller waits for its runs.
func newUIRunner(ctx context.Context, a *App, w *workspace) *uiRunner {
	own := *a
	own.Dir = w.Repo.Root() // files are named from here
	return &uiRunner{ctx: ctx, app: own, board: new(dashboard.Board)}
}

// State implements [editor.Runner].
func (u *uiRunner) State() editor.RunState {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state
}

// Cancel implements [editor.Runner].
func (u *uiRunner) Cancel() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cancel != nil {
		u.cancel()
	}
}

// Start implements [editor.Runner].
func (u *uiRunner) Start(names []string, fresh bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.state.Running || u.ctx.Err() != nil {
		return false
	}
	ctx, cancel := context.WithCancel(u.ctx)
	step, end := u.board.Track(controller.Worktree)
	u.state, u.cancel = editor.RunState{Running: true, Fresh: fresh, Names: names}, cancel
	u.runs.Go(func() {
		defer cancel()
		id, err := u.run(ctx, names, fresh, func(p controller.Progress) {
			u.mu.Lock()
			u.state.Done, u.state.Total = p.Done, p.Total
			u.mu.Unlock()
			step(p.Done, p.Total, p.Again)
		})
		u.finish(ctx, id, err, end)
	})
	return true
}

// run executes a run and returns its id, empty for none.
func (u *uiRunner) run(ctx context.Context, names []string, fresh bool, observe func(controller.Progress)) (id string, err error) {
	err = u.app.WithLedger(ctx, func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
		prepared, err := u.prepare(ctx, w, store, names, fresh)
		if err != nil {
			return &refusedRun{err}
		}
		made, err := u.app.Execute(ctx, prepared, controller.RunOptions{ConfigDiff: prepared.ConfigChange(), Power: true, Observe: observe})
		if made != nil {
			id = made.Run
		}
		return err
	})
	return id, err
}

// A refusedRun is the reason why nothing was judged.
type refusedRun struct{ error }

// prepare plans a run. It refuses one that would judge nothing because of mistakes.
func (u *uiRunner) prepare(ctx context.Context, w *workspace, store *ledger.Ledger, names []string, fresh bool) (*controller.Prepared, error) {
	if err := u.check(w); err != nil {
		return nil, err
	}
	s := selection{DueOnly: true}
	s.Keys, s.Fresh = names, fresh
	prepared, err := u.app.Local(ctx, w, store, s)
	if err != nil {
		return nil, err
	}
	if why := prepared.PreventingProblems(prepared.Problems); len(why) > 0 {
		return nil, usageError("nothing was judged: %w", firstOf(why))
	}
	return prepared, nil
}

// Estimate implements [editor.Runner].
func (u *uiRunner) Estimate(ctx context.Context, names []string) (estimate string, err error) {
	err = u.app.WithRead(ctx, func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
		prepared, err := u.prepare(ctx, w, store, names, true)
		if err != nil {
			return err
		}
		rows := slices.DeleteFunc(slices.Clone(prepared.Plan.Rows), func(row plan.Row) bool { return row.Action != plan.Run })
		estimate = textfmt.Count(len(rows), "case") + ": " + prepared.Estimate().String()
		return nil
	})
	if err != nil {
		err = errors.New(u.said(err))
	}
	return estimate, err
}

// said returns an error for the page.
func (u *uiRunner) said(err error) string {
	if errors.Unwrap(err) == nil && err.Error() == "" {
		return "the run ended without a report; the terminal of gavel ui says why"
	}
	return u.app.Secrets.Text(err.Error())
}

// check returns the first error of the configuration. The page shows it, because nobody
// looks at the terminal of gavel ui.
func (u *uiRunner) check(w *workspace) error {
	_, problems, err := u.app.OwnConfig(w)
	if err == nil && schema.HasErrors(problems) {
		err = firstOf(slices.DeleteFunc(problems, func(p schema.Problem) bool { return p.Severity != schema.Error }))
	}
	return err
}

// firstOf returns the first problem with its place and its repair as an error.
func firstOf(problems []schema.Problem) error { return errors.New(problems[0].String()) }

// finish notes the end of a run. A page that sees end asks for the state, and the next run
// begins later.
func (u *uiRunner) finish(ctx context.Context, id string, err error, end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	defer end()
	u.state = editor.RunState{Run: id, Fresh: u.state.Fresh, Names: u.state.Names}
	if refused, ok := errors.AsType[*refusedRun](err); ok {
		u.state.Refused, err = true, refused.error
	}
	switch {
	case ctx.Err() != nil:
		u.state.Canceled = true
	case err != nil:
		u.state.Problem = u.said(err)
	}
}
