package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// allow begins a timeout that the following calls share.
func (s *session) allow(timeout time.Duration) { s.left, s.allowed, s.begun = timeout, timeout, false }

// call sends one request, again after transport errors, within what is left
// of the timeout, and again while an agent is being deployed.
func (s *session) call(ctx context.Context, name string, req target.Request) (target.Reply, error) {
	t, whole := s.Targets[name], s.left
	if t.Target == nil {
		return target.Reply{}, fmt.Errorf("there is no target %s", name)
	}
	var last error // of the attempts before
	refusals := 0  // those that came too early, which end with the timeout
	for attempt := 1; ; attempt++ {
		try := s.once(ctx, name, req)
		var down *limit.Down
		var late *limit.Late
		switch err := try.err; {
		case err == nil:
			return try.reply, nil
		case ctx.Err() != nil:
			return target.Reply{}, ctx.Err()
		case errors.As(err, &down) && last != nil:
			return target.Reply{}, fmt.Errorf("%w%s", last, attempts(attempt-1))
		case errors.As(err, &late):
			return target.Reply{}, s.timeout(name, attempt-1, last)
		case try.awaited:
			attempt, refusals, last = 0, 0, nil
			s.left = whole
			if err := s.Sleep(ctx, deployPause); err != nil {
				return target.Reply{}, err
			}
			continue
		case try.late || try.retry && s.left <= 0:
			return target.Reply{}, s.timeout(name, attempt, err)
		case !try.retry:
			return target.Reply{}, err
		case try.throttled:
			refusals++
		case attempt-refusals == maxAttempts:
			return target.Reply{}, fmt.Errorf("%w%s", err, attempts(attempt))
		}
		last = try.err
		if wait := s.backoff(attempt-refusals, try); wait > 0 {
			s.left -= wait
			if s.left <= 0 {
				return target.Reply{}, s.timeout(name, attempt, last)
			}
			if err := s.Sleep(ctx, wait); err != nil {
				return target.Reply{}, err
			}
		}
	}
}

// timeout is the error of a call whose timeout is over, with what went wrong
// before.
func (s *session) timeout(name string, n int, last error) error {
	why := ""
	var fault *target.Error
	if errors.As(last, &fault) && fault.Err == nil {
		why = ": " + fault.Message
	}
	return fmt.Errorf("target %s timed out after %s%s%s", name, s.allowed, attempts(n), why)
}

func attempts(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(", %d attempts", n)
}

// backoff is how long to wait before the next attempt, exponentially with
// jitter. Where the provider asks for a wait, or says that it is asked too
// often, all calls to the target are held up, and this one as they are.
func (s *session) backoff(attempt int, try sending) time.Duration {
	if try.held {
		return 0
	}
	return pauses.Jittered(attempt-1, s.Jitter)
}

// A sending is what became of a request that was sent one time.
type sending struct {
	reply target.Reply
	err   error
	// late means that the timeout ended it, retry that another may succeed,
	// throttled that it came too early, held that the target's calls wait, and
	// awaited that the agent may still be on its way.
	late, retry, throttled, held, awaited bool
}

// once sends a request one time and takes what it took from the timeout.
func (s *session) once(ctx context.Context, name string, req target.Request) sending {
	place, err := s.limits[name].Acquire(ctx, limit.Caller{Begun: s.begun, Left: s.left})
	if err != nil {
		s.refused(err)
		return sending{err: err}
	}
	s.left -= place.Held()
	t := s.Targets[name]
	slip, err := s.claim.Reserve(ctx, t.Config, req)
	if err != nil {
		place.Done(limit.Outcome{})
		s.refused(err)
		return sending{err: paid(ctx, err)}
	}
	call, end := underway(ctx)
	defer end()
	callCtx, cancel := context.WithTimeout(call, s.left)
	defer cancel()
	start := s.Now()
	reply, err := t.Target.Respond(callCtx, req)
	s.left -= s.Now().Sub(start)
	s.begun = true
	reply.Usage = atPrice(reply.Usage, t.Config.Price)
	amount := took(slip.Amount, reply.Usage, err)
	tokens := reply.Usage.Tokens()
	if err == nil {
		if err = s.checkRevision(t.Config, reply); err != nil {
			s.spent = s.spent.Add(reply.Usage) // though it is of no use
		}
	}
	if err != nil && callCtx.Err() != nil {
		s.giveUp()
	}
	try := sending{reply: reply, err: err, late: callCtx.Err() != nil && ctx.Err() == nil}
	try.awaited = err != nil && s.awaits(t.Config, err)
	outcome := try.judge(ctx)
	outcome.Tokens = tokens
	place.Done(outcome)
	if fault := s.claim.Settle(ctx, slip, name, amount); fault != nil {
		return sending{err: &storeError{fault}}
	}
	return try
}

// giveUp counts a call that was sent and has no reply.
func (w *work) giveUp() {
	w.counting.Lock()
	defer w.counting.Unlock()
	w.givenUp++
}

// judge tells what a sending says of its target. What a provider has against
// one request says nothing of the others; what it has against the key, the
// model or the address does.
func (a *sending) judge(ctx context.Context) limit.Outcome {
	var other *revisionError
	var fault *target.Error
	switch {
	case a.err == nil || errors.As(a.err, &other):
		return limit.Outcome{Kind: limit.Answered}
	case ctx.Err() != nil || a.awaited:
		return limit.Outcome{}
	case !errors.As(a.err, &fault):
		if a.late {
			return limit.Outcome{Kind: limit.Failed, Message: "no reply in time"}
		}
		return limit.Outcome{}
	}
	a.retry = fault.Retry
	a.throttled = fault.Retry && fault.Status == http.StatusTooManyRequests
	a.held = a.throttled || fault.Retry && fault.After > 0
	out := limit.Outcome{After: fault.After, Message: fault.Message}
	switch {
	case a.late:
		out.Kind = limit.Failed
	case a.throttled:
		out.Kind = limit.Throttled
	case fault.Retry || refusesAll(fault.Status):
		out.Kind = limit.Failed
	}
	return out
}

// refusesAll reports whether a status is about the address, the key or the
// account, and so the same for every request.
func refusesAll(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusProxyAuthRequired, http.StatusGone, http.StatusTooManyRequests:
		return true
	}
	return false
}

// judges are the targets that measure the samples of a case.
func (r *runner) judges(c *schema.Case) []string {
	var names []string
	for _, ev := range c.Evaluators {
		if own, ok := ev.Spec.(interface{ Targets() []string }); ok {
			names = append(names, own.Targets()...)
		}
		for _, role := range ev.Spec.Roles() {
			if name, ok := evaluator.JudgedBy(role); ok {
				names = append(names, name)
			} else {
				names = append(names, r.Roles[role])
			}
		}
	}
	return names
}

// down says which of the targets that a sample still needs is not asked, so
// that none of the others is asked for nothing.
func (s *series) down(t *trial) error {
	names := s.judges(s.job.Case)
	if t.fresh {
		names = append(names, s.job.Target)
		if s.job.Case.Drive.Simulation != nil {
			names = append(names, s.Roles[schema.Simulator])
		}
	}
	for _, name := range names {
		if l := s.limits[name]; l != nil {
			if down := l.Down(); down != nil {
				return down
			}
		}
	}
	return nil
}
