package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// work is the state of one job.
type work struct {
	*runner
	job   Job
	place place
	lease *ledger.Lease // see hold
	claim *budget.Claim // see admit
	// attempts are those that were begun; all but the last have ended.
	attempts []*series
	rival    *series // nil where nothing is compared
	contest  *verdict.Contest
	// stuck says why an attempt that was due could not begin.
	stuck string
	// untold is set where a reply that was to be recorded is not stored.
	untold atomic.Bool

	counting sync.Mutex
	// spent and made are what calls cost that belong to no sample, unrun says
	// which budget or which target that is down refused a call; all are guarded by counting.
	spent, made verdict.Usage
	unrun       string
	// givenUp counts calls without a reply; guarded by counting, too.
	givenUp int
}

// judgeAll takes the samples of the case that are missing and decides, again
// where the case fails and may be tried again. The result is that of the last
// attempt.
func (w *work) judgeAll(ctx context.Context) (Outcome, error) {
	if err := w.admit(ctx); err != nil {
		return w.keptOut(err)
	}
	defer w.claim.Done()
	w.observe(Event{Key: w.job.Case.Key})
	if err := w.attemptAll(ctx); err != nil {
		return Outcome{}, err
	}
	if lost(ctx, nil) {
		return Outcome{}, ledger.ErrLeaseLost
	}
	out := w.outcome()
	if err := w.last().save(ctx, w.decision(out)); err != nil {
		return Outcome{}, err
	}
	w.observe(Event{Key: w.job.Case.Key, Outcome: &out})
	if w.Keep != nil && !w.Keep(w.job, out.Result) {
		out.Transcripts = nil
	}
	return out, nil
}

// attemptAll makes the attempts that the case needs.
func (w *work) attemptAll(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	for w.due() {
		if err := w.again(ctx); err != nil {
			return err
		}
	}
	return nil
}

// admit waits for the case's turn and lets it in as far as the budget goes.
func (w *work) admit(ctx context.Context) (err error) {
	defer w.place.pass()
	if w.Budget.Limited() {
		select {
		case <-w.place.ahead:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.claim, err = w.Budget.Admit(ctx, w.lease, w.job.Need)
	return err
}

// keptOut is the outcome of a case that was not let in.
func (w *work) keptOut(err error) (Outcome, error) {
	var short *budget.Shortage
	if !errors.As(err, &short) {
		return Outcome{}, err
	}
	out := Outcome{
		Key: w.job.Case.Key, Spent: w.spent, Unrun: short.Summary(),
		Result: verdict.Result{Verdict: verdict.Error, Reason: short.Error()},
	}
	w.observe(Event{Key: out.Key, Outcome: &out})
	return out, nil
}

func (w *work) last() *series { return w.attempts[len(w.attempts)-1] }

// begin runs the first attempt, and the rival beside it. The rival is stored
// first: where the case has its samples, the comparison has its own.
func (w *work) begin(ctx context.Context) error {
	first := w.newSeries(0, 0, w.job.Digests, w.job.Case.System)
	w.attempts = []*series{first}
	var group errgroup.Group
	group.Go(guarded(func() error { return first.run(ctx) }))
	if r := w.job.Case.Rival; r != nil {
		w.rival = w.newSeries(0, w.mostAttempts(), w.job.Digests.Rival(), r.System)
		group.Go(guarded(func() error { return w.rival.run(ctx) }))
	}
	if err := group.Wait(); err != nil || w.rival == nil {
		return err
	}
	if err := w.compare(ctx, first); err != nil {
		return err
	}
	return w.rival.save(ctx, nil)
}

func (w *work) mostAttempts() int {
	if retry := w.job.Case.Policy.Retry; retry != nil {
		return 1 + retry.Most
	}
	return 1
}

// due reports whether another attempt has to follow. What could not be judged
// did not fail, and is taken up again by the next run.
func (w *work) due() bool {
	return w.last().result.Verdict == verdict.Fail && len(w.attempts) < w.mostAttempts() && w.stuck == "" && !w.stopped()
}

// again runs the next attempt, with the prompt of an editor where the case asks
// for one. What came before is stored, so that a crash repeats nothing of it.
func (w *work) again(ctx context.Context) error {
	before := w.last()
	if err := before.save(ctx, nil); err != nil {
		return err
	}
	system := before.system
	if w.job.Case.Policy.Retry.Edit != nil {
		var err error
		if system, err = w.rewrite(ctx, before); err != nil || w.stuck != "" {
			return err
		}
	}
	n := before.attempt + 1
	next := w.newSeries(n, n, w.job.Digests.Attempt(n, system), system)
	w.attempts = append(w.attempts, next)
	return next.run(ctx)
}

func (w *work) stopped() bool {
	for _, s := range w.all() {
		if s.stopped() {
			return true
		}
	}
	return false
}

func (w *work) all() []*series {
	if w.rival == nil {
		return w.attempts
	}
	return append(w.attempts[:len(w.attempts):len(w.attempts)], w.rival)
}

// soFar is what the job spent, wherever it stands.
func (w *work) soFar() verdict.Usage {
	spent := w.spent
	for _, s := range w.all() {
		for _, t := range s.trials {
			spent = spent.Add(t.spent)
		}
	}
	return spent
}

// outcome sums up the attempts.
func (w *work) outcome() Outcome {
	last := w.last()
	out := Outcome{
		Key: w.job.Case.Key, Result: last.result, Spent: w.spent, Made: w.made, GivenUp: w.givenUp,
		Stopped: w.stopped(), Untold: w.untold.Load(),
	}
	for _, s := range w.all() {
		spent, made, took := s.usage()
		out.Spent, out.Made, out.Duration = out.Spent.Add(spent), out.Made.Add(made), out.Duration+took
	}
	for _, t := range last.trials {
		if len(t.execution.Transcript.Messages) > 0 {
			out.Transcripts = append(out.Transcripts, t.execution.Transcript)
		}
	}
	if out.Stopped {
		out.Result = stopped(w.job).Result
		return out
	}
	out.Result.Contest = w.contest
	if n := last.failed(); out.Result.Verdict != verdict.Error && n > 0 {
		out.Result.Reason = fmt.Sprintf("%s (%d of %d samples ended in an error)", out.Result.Reason, n, len(last.trials))
	}
	w.tell(&out.Result)
	if out.Result.Verdict == verdict.Error {
		out.Unrun = w.unrun
	}
	return out
}

// tell puts the attempts into the result where there was more than one. One
// that could not be judged is told by the reason alone: its prompt was tried on
// nothing that can be reported.
func (w *work) tell(r *verdict.Result) {
	n := len(w.attempts)
	if n == 1 && w.stuck == "" {
		return
	}
	for _, s := range w.attempts {
		if s.result.Verdict != verdict.Error {
			r.Attempts = append(r.Attempts, verdict.Attempt{
				Verdict: s.result.Verdict, Score: s.result.Score, Reason: s.result.Reason, System: s.system,
			})
		}
	}
	switch {
	case w.stuck != "":
		*r = verdict.Result{Verdict: verdict.Error, Attempts: r.Attempts, Contest: r.Contest,
			Reason: fmt.Sprintf("attempt %d could not begin: %s", n+1, w.stuck)}
	case r.Verdict == verdict.Error:
		r.Reason = fmt.Sprintf("attempt %d: %s", n, r.Reason)
	case r.Verdict == verdict.Pass:
		r.Reason = fmt.Sprintf("passed on attempt %d: %s", n, r.Reason)
	default:
		r.Reason = fmt.Sprintf("failed in %d attempts; the last: %s", n, r.Reason)
	}
}

// decision is what is remembered of an outcome: nothing where something of it
// has still to be judged.
func (w *work) decision(out Outcome) *ledger.Decision {
	if out.Stopped || out.Result.Verdict == verdict.Error || w.contest != nil && w.contest.Errors > 0 {
		return nil
	}
	for _, s := range w.all() {
		if s.failed() > 0 {
			return nil
		}
	}
	return &ledger.Decision{Result: out.Result, Usage: out.Made, Duration: out.Duration, Samples: out.Result.Samples}
}
