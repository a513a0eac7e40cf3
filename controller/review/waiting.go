package review

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Waiting is a head that waits for its turn.
type Waiting struct {
	// Number is the pull request, 0 for a push.
	Number int
	Head   string
	// Refs are fetched, of which base has the Known ones. Base is empty, a commit or one of them, and head is
	// compared with the merge base.
	Known, Refs []string
	Base        string
	// Stranger means that nothing of head may be run.
	Stranger bool
	// Accepted means that the configuration of head decides for itself, HeadConfig
	// that it does where base has none.
	Accepted, HeadConfig bool
	// Asked is when somebody who may write asked last in a comment that the head is
	// judged again, the zero time for never. Again means that they do now, by its
	// check run.
	Asked time.Time
	Again bool
}

// Waiting is what a turn is asked for.
func (r *Review) Waiting() Waiting {
	w := Waiting{Number: r.number, Head: r.head, Known: slices.Clone(r.known), Refs: slices.Clone(r.refs), Base: r.base, Stranger: !r.trust.Run, Accepted: r.accepted(), HeadConfig: r.approved, Again: r.again}
	for _, o := range r.orders.Obeyed {
		if (o.Verb == reporters.OrderRun || o.Verb == reporters.OrderRerun) && o.At.After(w.Asked) {
			w.Asked = o.At
		}
	}
	return w
}

// A Declined is why a head does not get its turn. Statuses and comment say it, and
// [Review.Run] has no error.
type Declined struct{ Reason string }

// Error is the reason.
func (r *Declined) Error() string { return r.Reason }

// Decline says with statuses and comment why nothing of a head is looked at. The
// error is what the forge did not take.
func (r *Review) Decline(ctx context.Context, why string) error {
	late, end := lasting(ctx)
	defer end()
	err := r.settle(ctx, late, why)
	if err != nil || r.Client == nil || r.clock != nil || r.number == 0 || r.queued {
		return err
	}
	none := reporters.Report{
		Head: &r.head, NotRun: why, Orders: r.orders.Obeyed,
		Gate: reporters.Gate{Result: reporters.GateUndetermined, Reason: why},
	}
	text := r.Text(&none)
	p := posting{
		Repository: r.Known, Number: r.number, Head: r.head, Comment: text(comment.MaxBytes), Verdict: string(none.Gate.Result),
	}
	return r.Retry.Do(ctx, func() error { return r.post(late, p, ledger.OutboxItem{}, text) })
}
