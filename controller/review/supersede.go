package review

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Predecessor is a head that nobody waits for any more: it was replaced, or its pull
// request was closed.
type Predecessor struct {
	// Number is the pull request, 0 for none; Queued means its merge group.
	Number int
	Queued bool
	Head   string
	// Pushed is the time of the head's push, if known.
	Pushed time.Time
	// Drift means that it was judged by schedule, see [Reviewer.Scheduled].
	Drift bool
}

// Supersede publishes a predecessor's final status, after all other writes: its verdict
// if it has one, else the reason why not. That is one terminal status; a second one is
// only written if it would stay pending. The other postings of its report are dropped.
func (r *Reviewer) Supersede(ctx context.Context, p Predecessor, why string) error {
	past := r.past(p)
	if past.Client == nil {
		return nil
	}
	ctx = past.worth(ctx, forge.WorthSuperseded)
	if p.Drift {
		last := comment.Status{Context: comment.ContextDrift, State: comment.StateError, Description: why}
		return past.publisher(publication{Branch: "drift"}, 0).EndStatuses(ctx, p.Head, last)
	}
	verdict := comment.Status{Context: comment.ContextVerdict, State: comment.StateError, Description: why}
	validate := comment.Status{Context: comment.ContextValidate, State: comment.StateError, Description: why}
	if r.cfg.Recall != nil {
		stored, err := r.cfg.Recall(ctx, p.Number, p.Head)
		if err != nil {
			return err
		}
		if stored != nil {
			validate, verdict = comment.NewStatuses(stored)
		}
	}
	all := past.linked([]comment.Status{verdict, validate})
	if err := past.statuses().EndStatuses(ctx, p.Head, all[0], all[1:]...); err != nil {
		return err
	}
	return past.drop(ctx)
}

// past returns the review of a predecessor.
func (r *Reviewer) past(p Predecessor) *Review {
	return &Review{Config: r.cfg, head: p.Head, number: p.Number, queued: p.Queued, pushed: p.Pushed}
}

// Leave sets a commit's statuses to the results of its other pull requests, after one
// is closed or has another head.
func (r *Reviewer) Leave(ctx context.Context, p Predecessor) error {
	past := r.past(p)
	if past.Client == nil {
		return nil
	}
	worth := past.worth(ctx, forge.WorthVerdict)
	shared := false
	err := r.cfg.Retry.Do(ctx, func() (err error) {
		shared, err = past.statuses().Leave(worth, p.Head)
		return err
	})
	if err != nil || !shared || !past.Client.CanCheck(ctx, past.Repository) {
		return err
	}
	return r.cfg.Retry.Do(ctx, func() error { return past.checked(past.statuses().LeaveCheck(worth, p.Head)) })
}

// EndPending publishes on a commit why nobody judges it, if its statuses are pending.
// It needs no ledger.
func (r *Reviewer) EndPending(ctx context.Context, head, why string) error {
	past := &Review{Config: r.cfg, head: head}
	past.Sharers = nil // a pending status ends, whatever its subject
	var all []comment.Status
	for _, context := range []string{comment.ContextVerdict, comment.ContextValidate, comment.ContextDrift} {
		all = append(all, comment.Status{Context: context, State: comment.StateError, Description: why})
	}
	return past.statuses().EndPending(past.worth(ctx, forge.WorthVerdict), head, all...)
}

// drop removes a head's items from the outbox. The next head's comment replaces a
// comment there.
func (r *Review) drop(ctx context.Context) error {
	pending, err := r.Ledger.Pending(ctx)
	if err != nil {
		return err
	}
	for _, item := range pending {
		var p publication
		if err := json.Unmarshal(item.Body, &p); err != nil || p.Repository != r.Known || p.Number != r.number || p.Head != r.head || p.isComment() {
			continue
		}
		if err := r.Ledger.MarkPublished(ctx, item, ""); err != nil {
			return err
		}
	}
	return nil
}
