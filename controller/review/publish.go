package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// outbox returns the items stored with the report.
func (r *Review) outbox(ctx context.Context, came judgement) ([]ledger.OutboxItem, error) {
	if r.Client == nil {
		return nil, nil
	}
	var items []ledger.OutboxItem
	for _, p := range r.postings(ctx, came) {
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// publish writes the report's items to the forge, without a comment if nobody waits for
// it any more, and the items that an earlier process left in the outbox. Its error is
// about the former: the latter are not this job's. ctx ends the tries and late each of
// them.
func (r *Review) publish(ctx, late context.Context, came judgement, wanted bool) (err error) {
	if r.Client == nil {
		return nil
	}
	late, span := tracing.Start(late, "publish")
	span.Text("gavel.head", r.head).Text("gavel.gate", string(came.report.Gate.Result))
	defer func() { span.End(err) }()
	left := r.postings(late, came)
	pending, err := r.unpublished(late, left)
	if err != nil {
		return err
	}
	waiting := map[string]ledger.OutboxItem{}
	for _, item := range pending {
		waiting[item.Destination] = item
	}
	left = slices.DeleteFunc(left, func(p publication) bool { return (p.isComment() || p.Notice != nil) && !wanted })
	var refused []error
	// try posts the remaining items, once, and returns the errors of an unavailable
	// forge.
	try := func(statusesFirst func(publication) bool) error {
		var again []publication
		var errs []error
		for i, p := range left {
			// An item that left the outbox was written before; somebody may have
			// deleted it since.
			err := r.post(late, p, waiting[p.destination()], r.Text(came.report))
			switch {
			case forge.Transient(err):
				again, errs = append(again, p), append(errs, err)
				if statusesFirst(p) {
					left = append(again, left[i+1:]...)
					return errors.Join(errs...)
				}
				continue
			case err != nil:
				refused = append(refused, err)
			}
			delete(waiting, p.destination())
		}
		left = again
		return errors.Join(errs...)
	}
	err = r.Retry.Do(ctx, func() error { return try(func(p publication) bool { return p.Status != nil }) })
	if err != nil && ctx.Err() == nil {
		// The forge may refuse only the statuses.
		err = try(func(publication) bool { return false })
	}
	for _, p := range left {
		delete(waiting, p.destination())
	}
	if !r.OwnOnly {
		r.deliver(late, slices.DeleteFunc(pending, func(i ledger.OutboxItem) bool { _, left := waiting[i.Destination]; return !left }))
	}
	return errors.Join(append(refused, err)...)
}

// unpublished returns the items of some publications that are in the outbox, and other
// reviews' items if this one publishes them, too.
func (r *Review) unpublished(ctx context.Context, own []publication) ([]ledger.OutboxItem, error) {
	if !r.OwnOnly {
		return r.Ledger.Pending(ctx)
	}
	var destinations []string
	for _, p := range own {
		destinations = append(destinations, p.destination())
	}
	return r.Ledger.Waiting(ctx, destinations...)
}

// Deliver publishes the items that earlier reviews of the repository left in the
// outbox. It must not overlap with running reviews.
func (r *Reviewer) Deliver(ctx context.Context) error {
	pending, err := r.cfg.Ledger.Pending(ctx)
	if err != nil {
		return err
	}
	(&Review{Config: r.cfg}).deliver(ctx, pending)
	return nil
}

func (r *Review) deliver(ctx context.Context, pending []ledger.OutboxItem) {
	for _, item := range pending {
		var p publication
		if err := json.Unmarshal(item.Body, &p); err != nil || p.Repository != r.Known {
			continue // of another repository, or of another version
		}
		err := r.post(ctx, p, item, func(maxBytes int) string { return shortened(p, maxBytes) })
		if err != nil {
			r.Log(fmt.Sprintf("the rest of the report of %.12s could not be published: %v", p.Head, err))
		}
	}
}

// shortened renders a stored comment that the forge rejects as too long: its marker and
// the place of the full text.
func shortened(p publication, maxBytes int) string {
	if len(p.Comment) <= maxBytes {
		return p.Comment
	}
	marker, _, _ := strings.Cut(p.Comment, "\n")
	return fmt.Sprintf("%s\nThe report on %s is too long for this comment; the summary of its job has it.\n", marker, p.Head)
}

// post writes one publication and removes it from the outbox, if it is there.
func (r *Review) post(ctx context.Context, p publication, item ledger.OutboxItem, text comment.Renderer) error {
	var note []byte
	var err error
	switch {
	case p.Status != nil:
		err = r.publisher(p, 0).SetStatuses(r.worth(ctx, forge.WorthVerdict), p.Head, *p.Status)
	case p.Groups != nil:
		err = r.publisher(p, 0).SetStatuses(r.worth(ctx, forge.WorthCheckRun), p.Head, p.Groups...)
	case p.Notice != nil:
		if item.ID == 0 {
			return nil // it was sent
		}
		note, err = r.notify(ctx, p)
	case p.Check != nil:
		err = r.check(r.worth(ctx, forge.WorthCheckRun), p)
	default:
		note, err = r.comment(r.worth(ctx, forge.WorthComment), p, text)
	}
	switch {
	case err != nil || item.ID == 0 && note == nil:
		return err
	case item.ID == 0:
		return r.Ledger.ReplaceReceipt(ctx, p.destination(), string(note))
	}
	return r.Ledger.MarkPublished(ctx, item, string(note))
}

// comment writes the comment of a pull request, found by its last known id, and returns
// the receipt. If configured, a new verdict gets a new comment, since an edit notifies
// nobody.
func (r *Review) comment(ctx context.Context, p publication, text comment.Renderer) ([]byte, error) {
	last, err := r.receiptOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.OwnIssue {
		p.Number, err = r.publisher(p, 0).DriftIssue(ctx, last.Issue, !p.EditOnly)
		if err != nil || p.Number == 0 {
			return nil, err
		}
		last.Issue = p.Number
	}
	publisher := r.publisher(p, last.Comment)
	if p.Fresh && last.Comment != 0 && last.Verdict != p.Verdict {
		marker, _, _ := strings.Cut(p.Comment, "\n")
		if err := publisher.Retire(ctx, marker, "The verdict before: "+last.Verdict); err != nil {
			return nil, err
		}
	}
	written, err := publisher.UpsertComment(ctx, text)
	if err != nil || written.Outcome == comment.Omitted {
		return nil, err
	}
	r.Log(fmt.Sprintf("comment %s: %s", written.Outcome, written.URL))
	return json.Marshal(receipt{written.ID, p.Verdict, written.Digest, last.Issue})
}

// receiptOf returns the receipt of a posting's last comment, zero without one.
func (r *Review) receiptOf(ctx context.Context, p publication) (last receipt, err error) {
	stored, err := r.Ledger.Receipt(ctx, p.destination())
	if err != nil || stored == "" {
		return last, err
	}
	if err := json.Unmarshal([]byte(stored), &last); err != nil {
		return last, fmt.Errorf("read the receipt of %s: %w", p.destination(), err)
	}
	return last, nil
}

// HasComment reports whether the comment of a pull request is as it was written, if it ever
// was: people with write permission may edit and delete it.
func (r *Reviewer) HasComment(ctx context.Context, number int) (bool, error) {
	look := &Review{Config: r.cfg}
	p := publication{Repository: r.cfg.Known, Number: number}
	last, err := look.receiptOf(ctx, p)
	if err != nil || last.Comment == 0 {
		return true, err
	}
	return look.publisher(p, last.Comment).HasComment(ctx, last.Digest)
}

// Differs reports whether a comment is the one of its pull request, with another text than
// it was written with.
func (r *Reviewer) Differs(ctx context.Context, c forge.Comment) (bool, error) {
	last, err := (&Review{Config: r.cfg}).receiptOf(ctx, publication{Repository: r.cfg.Known, Number: c.Number})
	return err == nil && last.Comment == c.ID && last.Digest != "" && last.Digest != comment.Digest(c.Body), err
}

// publisher returns the publisher of a posting; commentID is its last comment, 0 for
// none.
func (r *Review) publisher(p publication, commentID int64) *comment.Publisher {
	cfg := comment.PublisherConfig{
		REST: r.Client.REST(), Explain: forge.Explain, Owner: r.Repository.Owner, Name: r.Repository.Name,
		Number: p.Number, Queued: p.Queued, CommentID: commentID, EditOnly: p.EditOnly, Login: r.Login,
	}
	if p.Branch == "" && r.schedule == nil {
		cfg.Sharers = r.Sharers
	}
	if p.Branch != "" { // it is not a pull request
		cfg.Permission = "issues: write"
	}
	return comment.NewPublisher(cfg)
}

func (r *Review) setStatuses(ctx context.Context, statuses ...comment.Status) error {
	if r.Client == nil {
		return nil
	}
	return r.statuses().SetStatuses(ctx, r.head, r.linked(statuses)...)
}

// statuses returns the publisher of the head's statuses.
func (r *Review) statuses() *comment.Publisher {
	return r.publisher(publication{Number: r.number, Queued: r.queued}, 0)
}

// Text renders the report as the comment, at any size.
func (r *Review) Text(report *report.Report) comment.Renderer {
	if r.schedule != nil {
		return r.driftText(report)
	}
	opts := comment.Options{
		RepositoryURL: r.WebURL + "/" + r.Repository.String(),
		HeadSHA:       r.head, RunURL: cmp.Or(r.ReportURL, r.RunURL), Refused: r.commands.Refused, Commands: r.suggested(report), Hint: r.Hint,
	}
	return func(maxBytes int) string {
		opts.MaxBytes = maxBytes
		return comment.Markdown(report, opts)
	}
}

// Settle sets the final statuses of a commit that nobody waits for any more: its
// report's if there is one, else the reason why not, also on its known groups.
func (r *Reviewer) Settle(ctx context.Context, p Predecessor, why string, groups ...string) error {
	last := r.past(p)
	if r.cfg.Recall != nil {
		stored, err := r.cfg.Recall(ctx, p.Number, p.Head)
		if err != nil {
			return err
		}
		if stored != nil {
			return last.publish(ctx, ctx, judgement{report: stored}, false)
		}
	}
	return last.settle(ctx, ctx, why, judgement{groups: groups})
}
