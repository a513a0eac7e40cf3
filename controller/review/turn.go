package review

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
)

// A QueuedHead is a head that waits for its turn.
type QueuedHead struct {
	// Number is the pull request, 0 for a push.
	Number int
	Head   string
	// Stranger means that nothing of head may be run.
	Stranger bool
	// Asked is the time of the last command by somebody with write permission to judge
	// the head again, the zero time for none. Again means that its check run was just
	// re-requested.
	Asked time.Time
	Again bool
	// Subject describes the head for another process.
	Subject func(context.Context) Subject
	// Waits is called if the head does not get its turn at once.
	Waits func()
}

// A Turn is the permission to examine a head.
type Turn struct {
	// End is called when the head has been judged.
	End func()
	// Run is the report of the head if another process has judged it, see [Rehearse].
	// Nothing is judged then.
	Run string
}

// QueuedHead returns the head for requesting a turn, without Subject and Waits.
func (r *Review) QueuedHead() QueuedHead {
	w := QueuedHead{Number: r.number, Head: r.head, Stranger: !r.trust.Run, Again: r.again}
	for _, o := range r.commands.Followed {
		if (o.Verb == report.CommandRun || o.Verb == report.CommandRerun) && o.TakenAt.After(w.Asked) {
			w.Asked = o.TakenAt
		}
	}
	return w
}

// A DeclinedError is the reason why a head does not get its turn. Statuses and comment
// show it, and [Review.Run] has no error.
type DeclinedError struct{ Reason string }

// Error returns the reason.
func (r *DeclinedError) Error() string { return r.Reason }

// Decline publishes with statuses and comment why a head is not examined. The error is
// the part that the forge refused.
func (r *Review) Decline(ctx context.Context, why string) error {
	late, end := lasting(ctx)
	defer end()
	if err := r.settle(ctx, late, why, judgement{}); err != nil {
		return err
	}
	return r.tell(ctx, late, why, true)
}
