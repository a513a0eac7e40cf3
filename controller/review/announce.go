package review

import (
	"context"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge/priority"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/drift"
	"github.com/gavel-evals/gavel/reporters/github"
)

// announceAfter is how long a head is judged before its statuses say so: most
// verdicts come sooner, and each status that says nothing delays one that does.
const announceAfter = 5 * time.Second

// An announcement says on a head that its verdict will come. Its zero value says
// nothing.
type announcement struct {
	working func() // see [announcement.work]
	stop    func()
}

// work says that a case is judged, so that what the head says already may not
// hold any more. Until then a terminal state stays: a green head that is judged
// again does not turn yellow where nothing changed.
func (a announcement) work() {
	if a.working != nil {
		a.working()
	}
}

// end takes an announcement back that was not written, and waits for one that
// was sent: a verdict comes after it.
func (a announcement) end() {
	if a.stop != nil {
		a.stop()
	}
}

// announce begins one, which ends with ctx. sent bounds what was sent.
func (r *Review) announce(ctx, sent context.Context) announcement {
	if r.Client == nil {
		return announcement{}
	}
	wanted, drop := context.WithCancel(priority.Finishing(ctx, sent))
	working, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		// Whether the forge takes it shows at the end, where it matters.
		_ = r.pending(wanted, working)
	}()
	return announcement{
		working: sync.OnceFunc(func() { close(working) }),
		stop:    func() { drop(); <-done },
	}
}

// pending says after a while that the head is judged: at once where it has no
// terminal state, and else when working is closed.
func (r *Review) pending(ctx context.Context, working <-chan struct{}) error {
	select {
	case <-r.After(announceAfter):
	case <-ctx.Done():
		return nil
	}
	ctx = r.worth(ctx, priority.Pending)
	all := r.linked(r.announced())
	held, err := r.publisher(publication{}, 0).BeginStatuses(ctx, r.head, all...)
	if err != nil || !held {
		return err
	}
	select {
	case <-working:
	case <-ctx.Done():
		return nil
	}
	return r.setStatuses(ctx, all...)
}

// announced are the statuses that say that something is in progress.
func (r *Review) announced() []github.Status {
	if r.schedule != nil {
		return []github.Status{{Context: drift.Context, State: github.Pending, Description: "judging everything again"}}
	}
	return []github.Status{
		{Context: github.ContextVerdict, State: github.Pending, Description: "working out what is affected"},
		{Context: github.ContextValidate, State: github.Pending, Description: "checking the definitions"},
	}
}

// works reports whether carrying out a plan makes a call.
func works(p *controller.Prepared, e controller.RunOptions) bool {
	if e.NotRun != "" {
		return false
	}
	for _, row := range p.Plan.Rows {
		if row.Action == plan.Run || row.Action == plan.Rejudge {
			return true
		}
	}
	return false
}

// worth returns a context for writes about the head.
func (r *Review) worth(ctx context.Context, w priority.Worth) context.Context {
	return priority.WithWrite(ctx, priority.Write{Worth: w, Pushed: r.pushed})
}
