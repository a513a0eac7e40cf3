package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/store"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// A caseRun is the run of one job's case.
type caseRun struct {
	runner *runner
	job    Job
	// turn is the case's turn among the cases that run side by side. A patient case
	// waits while another run works on it.
	turn    turn
	patient bool
	// completion is stored with the verdict; may be nil.
	completion *Completion
	hold       *hold  // see acquireLease
	claim      *Claim // see admit
	costs      costs
	// attempts are the begun attempts; all but the last have ended.
	attempts    []*attempt
	alternative *attempt // nil without a comparison
	comparison  *verdict.Comparison
	// stuck is the reason why a due attempt could not begin.
	stuck string
	// proposal is an editor's proposal after the last attempt; unproposed is the reason
	// why a requested one is missing.
	proposal, unproposed string
}

func newCaseRun(r *runner, job Job) *caseRun { return &caseRun{runner: r, job: job} }

// judge takes the lease on the case, makes its attempts and stores the results. Its
// error is the ledger's, or ErrLeased if another run works on the case; the outcome has
// the spending in any case.
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
		// A case that was given up cannot be written; that is not a fault of the
		// ledger.
		return c.unfinished(), nil
	}
	return c.unfinished(), err
}

// admit waits for the case's turn and admits it if the budget is sufficient; otherwise
// the error is a Shortage.
func (c *caseRun) admit(ctx context.Context) (err error) {
	defer c.turn.pass()
	b, half := c.runner.cfg.Budget, c.job.Half
	if b.Limited() {
		select {
		case <-c.turn.ahead:
		case <-half.isDecided(): // the other half had its turn
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.claim, err = half.admit(ctx, b, c.hold.lease, c.job.Need)
	return err
}

// keptOut returns the outcome of a case that was not admitted.
func (c *caseRun) keptOut(short *Shortage) Outcome {
	out := Outcome{
		Key: c.job.Case.Key, Spent: c.costs.Spent, Unrun: short.Summary(),
		Result: verdict.Result{Verdict: verdict.Error, Reason: short.Error()},
	}
	c.observe(&out)
	return out
}

// observe reports that the case begins or, with its outcome, that it ended.
func (c *caseRun) observe(out *Outcome) {
	if !c.job.answerOnly {
		c.runner.observe(Event{Key: c.job.Case.Key, Outcome: out})
	}
}

// unfinished returns the outcome of an unfinished case.
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
	if err := c.saveFailure(ctx, out); err != nil {
		return Outcome{}, err
	}
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

// saveFailure stores when a first measurement failed. Its outcome is not stored, and a run
// that continues this one would not know that the target was out of order.
func (c *caseRun) saveFailure(ctx context.Context, out Outcome) error {
	if out.Result.Verdict != verdict.Error || out.Stopped || out.Unrun != "" || out.Fault.At.IsZero() || c.job.Again > 0 || c.job.answerOnly || c.runner.recording {
		return nil
	}
	return c.runner.cfg.Ledger.SaveFailure(context.WithoutCancel(ctx), c.runner.cfg.Trust, ledger.Failure{
		E: c.job.Digests.E, Source: c.job.Target, Symptom: Symptom(out.Result.Reason), Retry: out.Fault.Retry, At: out.Fault.At,
	})
}

// Symptom returns the same for errors that may have one cause outside of the cases: their
// text, with other numbers. It is a digest, since the text may quote a reply.
func Symptom(reason string) string {
	sum := sha256.Sum256([]byte(digits.ReplaceAllString(reason, "#")))
	return hex.EncodeToString(sum[:])
}

var digits = lazyregexp.New(`[0-9]+`)

// A completing is the caller's completion of an outcome, in two forms.
type completing struct {
	store     func(*store.Tx) error
	statement *store.Statement // nil if unsupported
}

// completing returns the completion, or nil without one.
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

// makeAttempts makes the case's attempts, and the alternative next to the first one.
// The alternative is stored first: if the case has its samples, the comparison has
// them, too.
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

// makeBoth makes the first attempt and the alternative concurrently, and compares them.
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

// propose asks an editor for a prompt after a failed last attempt. No attempt uses it.
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

// due reports whether another attempt must follow. A case that could not be judged did
// not fail, and the next run resumes it.
func (c *caseRun) due() bool {
	return c.last().result.Verdict == verdict.Fail && len(c.attempts) < c.mostAttempts() && c.stuck == "" && !c.stopped()
}

// nextAttempt stores the last attempt, so that a crash repeats nothing of it, and
// begins the next, with an editor's prompt if the case asks for one. It returns nil if
// the editor is stuck.
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
	if before.asksShare() {
		next.before = before
	}
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
		for _, s := range a.samples {
			out.Saved = out.Saved.Add(s.saved)
		}
	}
	out.Effort = c.effort()
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
	if out.Result.Verdict == verdict.Error && len(c.attempts) == 1 {
		out.Fault = c.costs.Fault // a later attempt has failed before, and is not tried again
	}
	c.listAttempts(&out.Result)
	if out.Result.Verdict == verdict.Error {
		out.Unrun = c.costs.Unrun
	}
	return out
}

// effort sums up what the attempts took from the agent; nil if it was not asked.
func (c *caseRun) effort() *verdict.Effort {
	out := verdict.Effort{Samples: len(c.last().samples)}
	if c.last().asksShare() {
		out.Samples = len(c.last().latest())
	}
	own := len(c.job.Case.Drive.Messages)
	for _, a := range c.attempts {
		for _, s := range a.samples {
			t := &s.execution.Transcript
			out.Add(t, max(own, t.Written))
		}
	}
	if out.Calls == 0 {
		return nil
	}
	return &out
}

// listAttempts adds the attempts to the result if there were several. An attempt that
// could not be judged is only mentioned in the reason: there is nothing to report about
// its prompt.
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

// decision returns the stored part of an outcome, or nil while something must still be
// judged.
func (c *caseRun) decision(out Outcome) *ledger.Decision {
	if out.Stopped || out.Result.Verdict == verdict.Error || c.comparison != nil && c.comparison.Errors > 0 {
		return nil
	}
	samples := out.Result.Samples
	for _, a := range c.all() {
		if a.failed() > 0 && !a.asksShare() {
			return nil
		}
		if a.before != nil {
			samples = len(a.samples) - a.failed()
		}
	}
	return &ledger.Decision{Result: out.Result, Usage: out.Made, Effort: out.Effort, Duration: out.Duration, Samples: samples}
}
