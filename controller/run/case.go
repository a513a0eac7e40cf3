package run

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A caseRun is the run of one job's case.
type caseRun struct {
	runner *runner
	job    Job
	// turn is that of the case among those that are judged side by side. A patient
	// case waits where another run is at work on it.
	turn    turn
	patient bool
	// completion is stored with the verdict; nil where nobody else stores anything.
	completion *Completion
	hold       *hold  // see acquireLease
	claim      *Claim // see admit
	costs      costs
	// attempts are those that were begun; all but the last have ended.
	attempts    []*attempt
	alternative *attempt // nil where nothing is compared
	comparison  *verdict.Comparison
	// stuck says why an attempt that was due could not begin.
	stuck string
	// proposal is what an editor proposes after the last attempt; unproposed says why
	// there is none although one was asked.
	proposal, unproposed string
}

func newCaseRun(r *runner, job Job) *caseRun { return &caseRun{runner: r, job: job} }

// judge has the case to itself, as far as the ledger knows, makes its attempts
// and stores what comes of them. Its error is the ledger's, or ErrLeased where
// another run is at work on the case; what was spent is in the outcome in any
// case.
func (c *caseRun) judge(ctx context.Context) (out Outcome, err error) {
	ctx, span := tracing.Start(ctx, "case")
	defer func() {
		span.Text("gavel.digest", c.job.Digests.D).Text("gavel.verdict", string(out.Result.Verdict)).End(err)
	}()
	ctx, done, ok := c.runner.cfg.Control.begin(ctx, c)
	if !ok {
		return c.unfinished(), nil
	}
	defer done()
	held, release, err := c.acquireLease(ctx)
	if err == nil {
		if err = c.admit(held); err == nil {
			c.observe(nil)
			if err = c.makeAttempts(held); err == nil {
				out, err = c.conclude(held)
			}
			c.claim.Done()
		} else if short, ok := errors.AsType[*Shortage](err); ok {
			out, err = c.keptOut(short), nil
		}
		taken := lost(held, err)
		if err = errors.Join(err, release()); taken {
			err = ledger.ErrLeased
		}
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil && !errors.Is(err, ledger.ErrLeased):
		// A case that was given up cannot be written; that is not a fault of the ledger.
		return c.unfinished(), nil
	}
	return c.unfinished(), err
}

// admit waits for the case's turn and lets it in if the budget is enough for it;
// the error is a Shortage if not.
func (c *caseRun) admit(ctx context.Context) (err error) {
	defer c.turn.pass()
	if c.runner.cfg.Budget.Limited() {
		select {
		case <-c.turn.ahead:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.claim, err = c.runner.cfg.Budget.Admit(ctx, c.hold.lease, c.job.Need)
	return err
}

// keptOut is the outcome of a case that was not let in.
func (c *caseRun) keptOut(short *Shortage) Outcome {
	out := Outcome{
		Key: c.job.Case.Key, Spent: c.costs.Spent, Unrun: short.Summary(),
		Result: verdict.Result{Verdict: verdict.Error, Reason: short.Error()},
	}
	c.observe(&out)
	return out
}

// observe tells that the case begins or, with its outcome, that it ended.
func (c *caseRun) observe(out *Outcome) {
	if !c.job.answerOnly {
		c.runner.observe(Event{Key: c.job.Case.Key, Outcome: out})
	}
}

// unfinished is the outcome of a case that has none of its own.
func (c *caseRun) unfinished() Outcome {
	out := stopped(c.job)
	out.Spent, out.GivenUp = c.costs.Spent, c.costs.GivenUp
	for _, a := range c.all() {
		for _, s := range a.samples {
			out.Spent = out.Spent.Add(s.spent)
		}
	}
	return out
}

// conclude stores the outcome of attempts that ended without an error.
func (c *caseRun) conclude(ctx context.Context) (Outcome, error) {
	if lost(ctx, nil) {
		return Outcome{}, ledger.ErrLeaseLost
	}
	out := c.outcome()
	done, err := c.completing(out)
	if err == nil {
		err = c.last().save(ctx, c.decision(out), done)
	}
	if err != nil {
		return Outcome{}, err
	}
	c.observe(&out)
	if keep := c.runner.cfg.Keep; keep != nil && !keep(c.job, out.Result) {
		out.Transcripts = nil
	}
	return out, nil
}

// A completing stores what others keep of an outcome, in two ways.
type completing struct {
	store     func(*store.Tx) error
	statement *store.Statement // nil where that is not possible
}

// completing is nil where others keep nothing.
func (c *caseRun) completing(out Outcome) (*completing, error) {
	if c.completion == nil || out.Stopped {
		return nil, nil
	}
	done := &completing{store: func(t *store.Tx) error { return c.completion.Store(t, out) }}
	if c.completion.Statement == nil {
		return done, nil
	}
	statement, err := c.completion.Statement(out)
	done.statement = &statement
	return done, err
}

func (c *caseRun) last() *attempt { return c.attempts[len(c.attempts)-1] }

// makeAttempts makes the attempts that the case needs, the alternative next to the
// first one. The alternative is stored before it: where the case has its samples, the
// comparison has its own.
func (c *caseRun) makeAttempts(ctx context.Context) error {
	c.attempts = []*attempt{c.newAttempt(0, 0, c.job.Digests, c.job.Case.System)}
	begin := c.last().run
	if c.job.Case.Alternative != nil {
		begin = c.makeBoth
	}
	if err := begin(ctx); err != nil {
		return err
	}
	for c.due() {
		next, err := c.nextAttempt(ctx)
		if err != nil || next == nil {
			return err
		}
		if err := next.run(ctx); err != nil {
			return err
		}
	}
	return c.propose(ctx)
}

// makeBoth makes the first attempt and the alternative at the same time, and compares them.
func (c *caseRun) makeBoth(ctx context.Context) error {
	first := c.last()
	c.alternative = c.newAttempt(0, c.mostAttempts(), c.job.Digests.Alternative(), c.job.Case.Alternative.System)
	var group errgroup.Group
	group.Go(func() error { return guarded(ctx, c.alternative.run) })
	if err := errors.Join(guarded(ctx, first.run), group.Wait()); err != nil {
		return err
	}
	if err := c.compare(ctx, first); err != nil {
		return err
	}
	return c.alternative.save(ctx, nil, nil)
}

// propose has an editor propose a prompt after a last attempt that failed, which no
// attempt is run with.
func (c *caseRun) propose(ctx context.Context) (err error) {
	retry := c.job.Case.Policy.Retry
	if retry == nil || retry.Edit == nil || c.last().result.Verdict != verdict.Fail || c.stopped() {
		return nil
	}
	c.proposal, err = c.rewrite(ctx, c.last())
	c.unproposed, c.stuck = c.stuck, ""
	return err
}

func (c *caseRun) mostAttempts() int {
	if retry := c.job.Case.Policy.Retry; retry != nil {
		return 1 + retry.Most
	}
	return 1
}

// due reports whether another attempt has to follow. A case that could not be
// judged did not fail, and is taken up again by the next run.
func (c *caseRun) due() bool {
	return c.last().result.Verdict == verdict.Fail && len(c.attempts) < c.mostAttempts() && c.stuck == "" && !c.stopped()
}

// nextAttempt stores the last attempt, so that a crash repeats nothing of it, and
// begins the next, with the prompt of an editor where the case asks for one. It
// is nil where the editor is stuck.
func (c *caseRun) nextAttempt(ctx context.Context) (*attempt, error) {
	before := c.last()
	if err := before.save(ctx, nil, nil); err != nil {
		return nil, err
	}
	system := before.system
	if c.job.Case.Policy.Retry.Edit != nil {
		var err error
		if system, err = c.rewrite(ctx, before); err != nil || c.stuck != "" {
			return nil, err
		}
	}
	n := before.number + 1
	next := c.newAttempt(n, n, c.job.Digests.Attempt(n, system), system)
	c.attempts = append(c.attempts, next)
	return next, nil
}

func (c *caseRun) stopped() bool {
	for _, a := range c.all() {
		if a.stopped() {
			return true
		}
	}
	return false
}

func (c *caseRun) all() []*attempt {
	if c.alternative == nil {
		return c.attempts
	}
	return append(c.attempts[:len(c.attempts):len(c.attempts)], c.alternative)
}

// outcome sums up the attempts.
func (c *caseRun) outcome() Outcome {
	last := c.last()
	out := Outcome{
		Key: c.job.Case.Key, Result: last.result, Spent: c.costs.Spent, Made: c.costs.Made, GivenUp: c.costs.GivenUp,
		Stopped: c.stopped(), Unrecorded: c.costs.Unrecorded,
	}
	for _, a := range c.all() {
		spent, made, took := a.usage()
		out.Spent, out.Made, out.Duration = out.Spent.Add(spent), out.Made.Add(made), out.Duration+took
	}
	for _, s := range last.samples {
		if len(s.execution.Transcript.Messages) > 0 {
			out.Transcripts = append(out.Transcripts, s.execution.Transcript)
		}
	}
	if out.Stopped {
		out.Result = stopped(c.job).Result
		return out
	}
	if c.job.answerOnly {
		if out.Result = last.answered(); out.Result.Verdict == verdict.Error {
			out.Unrun = c.costs.Unrun
		}
		return out
	}
	out.Result.Comparison = c.comparison
	if n := last.failed(); out.Result.Verdict != verdict.Error && n > 0 {
		out.Result.Reason = fmt.Sprintf("%s (%d of %d samples ended in an error)", out.Result.Reason, n, len(last.samples))
	}
	c.listAttempts(&out.Result)
	if out.Result.Verdict == verdict.Error {
		out.Unrun = c.costs.Unrun
	}
	return out
}

// listAttempts adds the attempts to the result where there was more than one. The
// reason alone mentions an attempt that could not be judged: it has nothing to
// report about its prompt.
func (c *caseRun) listAttempts(r *verdict.Result) {
	n := len(c.attempts)
	if c.unproposed != "" {
		r.Reason += "; no prompt is proposed: " + c.unproposed
	}
	if n == 1 && c.stuck == "" && c.proposal == "" {
		return
	}
	for _, a := range c.attempts {
		if a.result.Verdict != verdict.Error {
			r.Attempts = append(r.Attempts, verdict.Attempt{
				Verdict: a.result.Verdict, Score: a.result.Score, Reason: a.result.Reason, System: a.system,
			})
		}
	}
	if c.proposal != "" {
		r.Attempts[len(r.Attempts)-1].Proposal = c.proposal
	}
	switch {
	case n == 1 && c.stuck == "":
	case c.stuck != "":
		*r = verdict.Result{Verdict: verdict.Error, Attempts: r.Attempts, Comparison: r.Comparison,
			Reason: fmt.Sprintf("attempt %d could not begin: %s", n+1, c.stuck)}
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
func (c *caseRun) decision(out Outcome) *ledger.Decision {
	if out.Stopped || out.Result.Verdict == verdict.Error || c.comparison != nil && c.comparison.Errors > 0 {
		return nil
	}
	for _, a := range c.all() {
		if a.failed() > 0 {
			return nil
		}
	}
	return &ledger.Decision{Result: out.Result, Usage: out.Made, Duration: out.Duration, Samples: out.Result.Samples}
}
