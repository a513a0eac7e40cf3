package review

import (
	"context"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// announceAfter is the time after which the statuses announce that a head is being
// judged: most verdicts come sooner, and each such status delays a real one.
const announceAfter = 5 * time.Second

// An announcement publishes on a head that its verdict will come, and the current
// knowledge about it. A nil one does nothing.
type announcement struct {
	stop func()
	// changed signals a change.
	changed chan struct{}

	mu    sync.Mutex
	known known // guarded by mu
}

// known is the current knowledge about a head.
type known struct {
	// validate is the result of validation, nil before.
	validate *comment.Status
	// cases is the number of judged cases, 0 until it is known. Until then a terminal
	// state stays: a green head that is judged again does not turn yellow if nothing
	// changed.
	cases int
	// waiting counts the cases that wait for workers.
	waiting controller.WaitingCases
	// queued means that the head waits for its turn behind others.
	queued bool
}

// learn updates the knowledge.
func (a *announcement) learn(change func(*known)) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.known)
	select {
	case a.changed <- struct{}{}:
	default: // the previous update has not been read yet
	}
}

// planned records that validation is done, and the number of judged cases.
func (a *announcement) planned(validate comment.Status, cases int) {
	a.learn(func(k *known) { k.validate, k.cases = &validate, cases })
}

// waits records the number of cases that wait for workers.
func (a *announcement) waits(w controller.WaitingCases) { a.learn(func(k *known) { k.waiting = w }) }

// queued records that the head waits for its turn, and begins that its turn has come.
func (a *announcement) queued() { a.learn(func(k *known) { k.queued = true }) }

func (a *announcement) begins() {
	if a == nil {
		return
	}
	a.mu.Lock()
	waited := a.known.queued
	a.mu.Unlock()
	if waited {
		a.learn(func(k *known) { k.queued = false })
	}
}

// end withdraws an announcement that was not written, and waits for one that was sent,
// since a verdict must come after it.
func (a *announcement) end() {
	if a != nil {
		a.stop()
	}
}

// announce begins an announcement, which ends with ctx. sent bounds a sent one.
func (r *Review) announce(ctx, sent context.Context) *announcement {
	if r.Client == nil {
		return nil
	}
	wanted, drop := context.WithCancel(forge.Finishing(ctx, sent))
	done := make(chan struct{})
	a := &announcement{changed: make(chan struct{}, 1), stop: func() { drop(); <-done }}
	go func() {
		defer close(done)
		// The end shows whether the forge accepts it, which is what matters.
		_ = r.pending(wanted, a)
	}()
	return a
}

// pending publishes after a while that the head is being judged, with the current
// knowledge whenever that changes.
func (r *Review) pending(ctx context.Context, a *announcement) error {
	select {
	case <-r.Clock.After(announceAfter):
	case <-ctx.Done():
		return nil
	}
	ctx = r.worth(ctx, forge.WorthPending)
	for {
		a.mu.Lock()
		now := a.known
		a.mu.Unlock()
		var err error
		if now.cases > 0 {
			err = r.setStatuses(ctx, r.announced(now)...)
		} else {
			_, err = r.statuses().BeginStatuses(ctx, r.head, r.linked(r.announced(now))...)
		}
		if err != nil {
			return err
		}
		select {
		case <-a.changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// announced returns the statuses of a head in progress.
func (r *Review) announced(now known) []comment.Status {
	if r.schedule != nil {
		words := "judging everything again"
		switch {
		case now.queued:
			words = controller.QueuedReason
		case now.waiting.Cases > 0:
			words = now.waiting.String()
		}
		return []comment.Status{{Context: comment.ContextDrift, State: comment.StatePending, Description: words}}
	}
	words, checking := "working out what is affected", "checking the definitions"
	switch {
	case now.queued:
		words, checking = controller.QueuedReason, controller.QueuedReason
	case now.waiting.Cases > 0:
		words = now.waiting.String()
	case now.cases > 0:
		words = "judging " + textfmt.Count(now.cases, "case")
	}
	validate := comment.Status{Context: comment.ContextValidate, State: comment.StatePending, Description: checking}
	if now.validate != nil {
		validate = *now.validate
	}
	return []comment.Status{{Context: comment.ContextVerdict, State: comment.StatePending, Description: words}, validate}
}

// judges counts the cases of a plan that its execution judges.
func judges(p *controller.Prepared, e controller.RunOptions) (cases int) {
	if e.NotRun != "" {
		return 0
	}
	for _, row := range p.Plan.Rows {
		if row.ControlOf == "" && (row.Action == plan.Run || row.Action == plan.Rejudge) {
			cases++
		}
	}
	return cases
}

// worth returns a context for writes about the head.
func (r *Review) worth(ctx context.Context, w forge.WriteWorth) context.Context {
	return forge.WithWrite(ctx, forge.PendingWrite{Worth: w, Pushed: r.pushed})
}
