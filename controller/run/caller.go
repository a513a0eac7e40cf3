package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

const (
	// maxTries bounds the sends of one call.
	maxTries = 4
	// deployPause is the wait between checks for a deployment.
	deployPause = 5 * time.Second
)

// pauses are the waits between two tries.
var pauses = clock.Doubling{First: 500 * time.Millisecond, Most: 30 * time.Second}

// A callConfig is the common configuration of a run's calls.
type callConfig struct {
	// Target returns a target by name, opened and with its configuration. The first is
	// nil for an unknown name.
	Target func(name string) (target.Target, config.Target)
	// Limits are the targets' limits, by name.
	Limits map[string]*limit.Limiter
	// Revision is the commit that a deployed agent must name; empty for a working tree.
	Revision string
	// Deployed decides about the revision in its place; see [Config.Deployed].
	Deployed func(ctx context.Context, t config.Target, revision string) error
	// AtBase are the versions that base's verdicts came from, see [Config.AtBase].
	AtBase map[string][]string
	// Began is the start of the run, from which agents have time to be deployed.
	Began time.Time
	// Apart bounds the time that a half of a pair waits for the other one.
	Apart time.Duration

	Clock clock.Clock
}

// A calledCase is the common state of one case's calls.
type calledCase struct {
	Costs *costs
	Claim *Claim
	// Half is nil if the case is judged alone.
	Half *Half
	// Context returns the context of a call that begins under ctx and ends after a
	// timeout. It may outlive ctx if another run wants the reply.
	Context func(ctx context.Context, timeout *timeout) (context.Context, context.CancelFunc)
	// Ended returns the reason why a call under ctx must not be sent any more, now that
	// its turn has come, or nil.
	Ended func(ctx context.Context) error
}

// A caller sends calls sequentially.
type caller struct {
	cfg *callConfig
	of  calledCase
	// left is the rest of the allowed timeout: for the whole sample with the target,
	// for each call with a judge. Once a call was sent (begun), waiting for the
	// provider counts, too; waiting for a permit or for budget does not.
	left, allowed time.Duration
	begun         bool
	spent         verdict.Usage
}

// newCaller returns a caller for a case. [caller.Allow] must precede its first call.
func newCaller(cfg *callConfig, of calledCase) caller { return caller{cfg: cfg, of: of} }

// Allow starts a timeout for the following calls.
func (c *caller) Allow(timeout time.Duration) { c.left, c.allowed, c.begun = timeout, timeout, false }

// Spent returns the cost of the sent calls.
func (c *caller) Spent() verdict.Usage { return c.spent }

// A sending is one try of a call.
type sending struct {
	permit   *limit.Permit
	reserved Reservation
	passed   *passedOn
	reply    target.Reply
	err      error
	// late means that the timeout ended it, retry that another try may succeed,
	// throttled that it came too early, held that the target's calls wait, and awaited
	// that the agent may still be deploying.
	late, retry, throttled, held, awaited bool
}

// Call sends a request to a target, and repeats it after transport errors within the
// rest of the timeout, and while an agent is being deployed. The error is a
// [lateError], a [*Shortage], a [*limit.Down], a [*evaluate.Fault] of the ledger,
// ctx's, or the target's complaint.
func (c *caller) Call(ctx context.Context, name string, req target.Request) (target.Reply, error) {
	t, _ := c.cfg.Target(name)
	if t == nil {
		return target.Reply{}, fmt.Errorf("there is no target %s", name)
	}
	if unopened, ok := t.(*target.OpenError); ok {
		// Nothing is sent, so that it takes no permit and no budget.
		_, err := unopened.Respond(ctx, req)
		c.of.Costs.Fail(Fault{At: c.cfg.Clock.Now(), Retry: mayPass(err)})
		return target.Reply{}, err
	}
	for past := (tries{name: name, whole: c.left}); ; {
		s := c.begin(ctx, name, req)
		if s.err == nil {
			call, end := c.of.Context(ctx, s.passed.timeout)
			start := c.cfg.Clock.Now()
			req.Pay = s.passed.pay
			s.reply, s.err = t.Respond(call, req)
			c.left -= c.cfg.Clock.Now().Sub(start) - s.passed.timeout.waited()
			c.finish(ctx, name, &s, call.Err() != nil)
			end()
		}
		if s.err == nil {
			c.spent = c.spent.Add(s.reply.Usage)
			return s.reply, nil
		}
		wait, err := c.retry(ctx, &past, s)
		if err == nil && wait > 0 {
			err = c.cfg.Clock.Sleep(ctx, wait)
		}
		if err != nil {
			c.of.Costs.Fail(Fault{At: c.cfg.Clock.Now(), Retry: mayPass(err)})
			return target.Reply{}, err
		}
	}
}

// mayPass reports whether the call that ended with an error may succeed later: its
// transport or its provider failed, or the reply could not be used. Complaints about the
// request come again, except for those of a filter, which sees random replies.
func mayPass(err error) bool {
	if late, ok := errors.AsType[lateError](err); ok {
		return late != ""
	}
	fault, ok := errors.AsType[*target.Error](err)
	return ok && fault.Err == nil && (fault.Retry || fault.Status/100 == 2 || filtered.MatchString(fault.Message))
}

// filtered matches what providers say of a reply that their filters stopped.
var filtered = lazyregexp.New(`(?i)content.?(filter|policy|management)`)

// begin reserves the cost of the call and waits for a permit. A call that waits for budget
// has no permit, since the call that will free the budget may need it.
func (c *caller) begin(ctx context.Context, name string, req target.Request) sending {
	_, configured := c.cfg.Target(name)
	c.of.Half.meet(ctx, c.cfg.Clock, c.cfg.Apart)
	reserved, err := c.of.Claim.Reserve(ctx, configured, req)
	if err != nil {
		c.of.Costs.Refuse(err)
		return sending{err: budgetError(ctx, err)}
	}
	permit, err := c.cfg.Limits[name].Acquire(ctx, limit.Caller{Run: c.cfg, Begun: c.begun, Left: c.left})
	if err == nil {
		if err = c.of.Ended(ctx); err != nil {
			permit.Done(limit.Outcome{})
		}
	}
	if err != nil {
		c.of.Costs.Refuse(err)
		if fault := c.of.Claim.Settle(ctx, reserved, ledger.Amount{}); fault != nil {
			err = &evaluate.Fault{Err: fault}
		}
		return sending{err: err}
	}
	c.left -= permit.Held()
	c.of.Half.begin()
	return sending{permit: permit, reserved: reserved, passed: &passedOn{claim: c.of.Claim, costs: c.of.Costs, target: configured, timeout: newTimeout(c.left)}}
}

// finish accounts for a sent call, and determines its result. over means that its
// context has ended.
func (c *caller) finish(ctx context.Context, name string, s *sending, over bool) {
	_, t := c.cfg.Target(name)
	c.begun = true
	s.reply.Usage = priced(s.reply.Usage, t.Price)
	passed, fault := s.passed.total()
	s.reserved.Amount = s.reserved.Amount.Plus(passed)
	amount := mostOf(callCost(s.reserved.Amount, t, s.reply.Usage, s.err), passed)
	tokens := s.reply.Usage.Tokens()
	if s.err == nil {
		s.err = c.checkRevision(ctx, t, c.cfg.AtBase[name], s.reply)
	}
	if s.err != nil {
		c.spent = c.spent.Add(s.reply.Usage) // although it is useless
	}
	if s.err != nil && over {
		c.of.Costs.GiveUp()
	}
	s.late = over && ctx.Err() == nil
	s.awaited = s.err != nil && c.awaits(t, s.err)
	outcome := s.outcome(ctx)
	outcome.Tokens = tokens
	s.permit.Done(outcome)
	if err := errors.Join(fault, c.of.Claim.Settle(ctx, s.reserved, amount)); err != nil {
		*s = sending{err: &evaluate.Fault{Err: err}}
	}
}

// mostOf returns the larger of two amounts, unit by unit: what an agent says that it took, and
// what was counted as it was passed on.
func mostOf(a, b ledger.Amount) ledger.Amount {
	return ledger.Amount{Calls: max(a.Calls, b.Calls), Tokens: max(a.Tokens, b.Tokens), USD: max(a.USD, b.USD)}
}

// tries are the tries of one call so far.
type tries struct {
	name  string        // the target's
	whole time.Duration // rest of the timeout before the first
	n     int
	// refusals counts the tries that came too early; only the timeout ends them.
	refusals int
	last     error // of the previous try; nil before the second
}

// retry returns the wait before the next try after a failed one, or the error with
// which the call ends.
func (c *caller) retry(ctx context.Context, past *tries, s sending) (time.Duration, error) {
	past.n++
	var down *limit.Down
	var late *limit.Late
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(s.err, &down) && past.last != nil:
		return 0, after(past.last, past.n-1)
	case errors.As(s.err, &late):
		return 0, c.timeout(past.name, past.n-1, past.last)
	case s.awaited:
		*past = tries{name: past.name, whole: past.whole}
		c.left = past.whole
		return deployPause, nil
	case s.late || s.retry && c.left <= 0:
		return 0, c.timeout(past.name, past.n, s.err)
	case !s.retry:
		return 0, s.err
	case s.throttled:
		past.refusals++
	case past.n-past.refusals == maxTries:
		return 0, after(s.err, past.n)
	}
	past.last = s.err
	if s.held {
		return 0, nil // all calls to the target wait, including this one
	}
	wait := pauses.Jittered(past.n-past.refusals-1, c.cfg.Clock.Random)
	if c.left -= wait; c.left <= 0 {
		return 0, c.timeout(past.name, past.n, past.last)
	}
	return wait, nil
}

// timeout returns the error of a call beyond its timeout, with the previous failure.
func (c *caller) timeout(name string, n int, last error) error {
	var fault *target.Error
	if errors.As(last, &fault) && fault.Err == nil {
		// The time may not be over yet: a further try would begin too late.
		return lateError(fmt.Sprintf("target %s: no answer within %s%s: %s", name, c.allowed, attempts(n), fault.Said()))
	}
	return lateError(fmt.Sprintf("target %s timed out after %s%s", name, c.allowed, attempts(n)))
}

// A lateError reports an exceeded timeout.
type lateError string

// Error names the target and the previous failure.
func (e lateError) Error() string { return string(e) }

// after returns the error of the last of n tries.
func after(err error, n int) error {
	fault, ok := err.(*target.Error)
	if !ok {
		return fmt.Errorf("%w%s", err, attempts(n))
	}
	last := *fault
	last.Message += attempts(n)
	return &last
}

func attempts(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(", %d attempts", n)
}

// awaits reports whether a call failed because the agent may still be deploying, within
// its time to do so.
func (c *caller) awaits(t config.Target, err error) bool {
	return t.WaitFor > 0 && c.cfg.Clock.Now().Before(c.cfg.Began.Add(t.WaitFor)) && isDeploying(t, err)
}

// outcome classifies a sending for the limiter. A complaint about one request does not
// concern other requests; one about the key, the model or the address does.
func (s *sending) outcome(ctx context.Context) limit.Outcome {
	var other *revisionError
	var fault *target.Error
	switch {
	case s.err == nil || errors.As(s.err, &other):
		return limit.Outcome{Kind: limit.Answered}
	case ctx.Err() != nil || s.awaited:
		return limit.Outcome{}
	case !errors.As(s.err, &fault):
		if s.late {
			return limit.Outcome{Kind: limit.Failed, Message: "no reply in time"}
		}
		return limit.Outcome{}
	}
	s.retry = fault.Retry
	s.throttled = fault.Retry && fault.Status == http.StatusTooManyRequests
	s.held = s.throttled || fault.Retry && fault.After > 0
	out := limit.Outcome{After: fault.After, Message: fault.Said()}
	switch {
	case s.late:
		out.Kind = limit.Failed
	case s.throttled:
		out.Kind = limit.Throttled
	case fault.Retry || limit.RefusesAll(fault.Status):
		out.Kind = limit.Failed
	}
	return out
}
