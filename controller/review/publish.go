package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/github"
)

// A posting is one thing that stands on the forge: a status, those of the groups,
// a check run, or the comment of a pull request. It is stored as the body of an item of the outbox, so that a
// later process can write what an earlier one could not.
type posting struct {
	Repository forge.Repo     `json:"repository"`
	Number     int            `json:"number,omitempty"`
	Head       string         `json:"head"`
	Status     *github.Status `json:"status,omitempty"`
	// Groups are the statuses of the groups of cases.
	Groups  []github.Status `json:"groups,omitempty"`
	Check   *github.Check   `json:"check,omitempty"`
	Comment string          `json:"comment,omitempty"`
	// Branch is what the comment is about, where it is no pull request's.
	Branch string `json:"branch,omitempty"`
	// Verdict is what the gate said. A comment that is made anew for every
	// verdict stays the same until it changes.
	Verdict string `json:"verdict,omitempty"`
	Fresh   bool   `json:"fresh,omitempty"`
}

// A receipt is what is kept of a comment that was written.
type receipt struct {
	Comment int64  `json:"comment"`
	Verdict string `json:"verdict"`
}

// destination names the place on the forge.
func (p posting) destination() string {
	switch {
	case p.Status != nil:
		return fmt.Sprintf("status %s %s %s", p.Repository, p.Head, p.Status.Context)
	case p.Groups != nil:
		return fmt.Sprintf("groups %s %s", p.Repository, p.Head)
	case p.Check != nil:
		return fmt.Sprintf("check %s#%d %s", p.Repository, p.Number, p.Head)
	}
	if p.Branch != "" {
		return fmt.Sprintf("comment %s#%d %s", p.Repository, p.Number, p.Branch)
	}
	return fmt.Sprintf("comment %s#%d", p.Repository, p.Number)
}

func (p posting) isComment() bool { return p.Status == nil && p.Groups == nil && p.Check == nil }

func (p posting) item() (ledger.OutboxItem, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return ledger.OutboxItem{}, err
	}
	sum := sha256.Sum256(body)
	return ledger.OutboxItem{Destination: p.destination(), Head: p.Head, ContentDigest: hex.EncodeToString(sum[:]), Body: body}, nil
}

// postings are what a report puts on the forge. The groups come last: with a
// second between two writes, what says all of it must not wait for them.
func (r *Review) postings(ctx context.Context, report *reporters.Report) []posting {
	if r.clock != nil {
		return r.drifted(report)
	}
	validate, verdict := github.StatusFor(report)
	validate.TargetURL, verdict.TargetURL = r.RunURL, r.RunURL
	all := []posting{
		{Repository: r.Repository, Head: r.head, Status: &validate},
		{Repository: r.Repository, Head: r.head, Status: &verdict},
	}
	if r.number != 0 && !r.queued {
		all = append(all, posting{
			Repository: r.Repository, Number: r.number, Head: r.head, Comment: r.Text(report)(comment.MaxBytes),
			Verdict: string(report.Gate.Result), Fresh: r.fresh,
		})
	}
	if r.Client.CanCheck(ctx, r.Repository) {
		check := r.checkRun(report)
		all = append(all, posting{Repository: r.Repository, Number: r.number, Head: r.head, Check: &check})
	}
	if groups := github.GroupStatuses(report); len(groups) > 0 {
		for i := range groups {
			groups[i].TargetURL = r.RunURL
		}
		all = append(all, posting{Repository: r.Repository, Head: r.head, Groups: groups})
	}
	return all
}

// outbox is stored with the report.
func (r *Review) outbox(ctx context.Context, report *reporters.Report) ([]ledger.OutboxItem, error) {
	if r.Client == nil {
		return nil, nil
	}
	var items []ledger.OutboxItem
	for _, p := range r.postings(ctx, report) {
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// publish writes what the report puts on the forge, without a comment where
// nobody waits for it any more, and what an earlier process left in the outbox.
// Its error is of the former: the latter is not what this job is about.
func (r *Review) publish(ctx context.Context, report *reporters.Report, wanted bool) error {
	if r.Client == nil {
		return nil
	}
	pending, err := r.Ledger.Pending(ctx)
	if err != nil {
		return err
	}
	waiting := map[string]ledger.OutboxItem{}
	for _, item := range pending {
		waiting[item.Destination] = item
	}
	var errs []error
	for _, p := range r.postings(ctx, report) {
		if p.isComment() && !wanted {
			continue
		}
		// What stands in the outbox no more was written before; somebody may
		// have deleted it since.
		errs = append(errs, r.post(ctx, p, waiting[p.destination()], r.Text(report)))
		delete(waiting, p.destination())
	}
	if !r.OwnOnly {
		r.deliver(ctx, slices.DeleteFunc(pending, func(i ledger.OutboxItem) bool { _, left := waiting[i.Destination]; return !left }))
	}
	return errors.Join(errs...)
}

// Deliver publishes what earlier reviews of the repository left in the outbox.
// It must not overlap with reviews that are under way.
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
		var p posting
		if err := json.Unmarshal(item.Body, &p); err != nil || p.Repository != r.Repository {
			continue // of another repository, or of another version
		}
		err := r.post(ctx, p, item, func(maxBytes int) string { return shortened(p, maxBytes) })
		if err != nil {
			r.Tell(fmt.Sprintf("what was left of %.12s could not be published: %v", p.Head, err))
		}
	}
}

// shortened is a stored comment that the forge finds too long: its marker and
// where to look instead.
func shortened(p posting, maxBytes int) string {
	if len(p.Comment) <= maxBytes {
		return p.Comment
	}
	marker, _, _ := strings.Cut(p.Comment, "\n")
	return fmt.Sprintf("%s\nThe report on %s is too long for this comment; it stands in the summary of its job.\n", marker, p.Head)
}

// post writes one posting and crosses it off the outbox, if it stands there.
func (r *Review) post(ctx context.Context, p posting, item ledger.OutboxItem, text github.Text) error {
	var note []byte
	switch {
	case p.Status != nil:
		if err := r.publisher(p.Number, 0).SetStatuses(ctx, p.Head, *p.Status); err != nil {
			return err
		}
	case p.Groups != nil:
		if err := r.publisher(p.Number, 0).SetStatuses(ctx, p.Head, p.Groups...); err != nil {
			return err
		}
	case p.Check != nil:
		if err := r.check(ctx, p); err != nil {
			return err
		}
	default:
		now, err := r.comment(ctx, p, text)
		if err != nil {
			return err
		}
		if note, err = json.Marshal(now); err != nil {
			return err
		}
	}
	if item.ID == 0 {
		return nil
	}
	return r.Ledger.MarkPublished(ctx, item, string(note))
}

// comment writes the comment of a pull request, found by the id that is known
// from the last time. A new verdict gets a comment of its own where that is
// asked for, since an edit notifies nobody.
func (r *Review) comment(ctx context.Context, p posting, text github.Text) (receipt, error) {
	stored, err := r.Ledger.Receipt(ctx, p.destination())
	if err != nil {
		return receipt{}, err
	}
	var last receipt
	if stored != "" {
		if err := json.Unmarshal([]byte(stored), &last); err != nil {
			return receipt{}, fmt.Errorf("read the receipt of %s: %w", p.destination(), err)
		}
	}
	publisher := r.publisher(p.Number, last.Comment)
	if p.Branch != "" {
		publisher = r.issue(p.Number, last.Comment)
	}
	if p.Fresh && last.Comment != 0 && last.Verdict != p.Verdict {
		marker, _, _ := strings.Cut(p.Comment, "\n")
		if err := publisher.Retire(ctx, marker, "The verdict before: "+last.Verdict); err != nil {
			return receipt{}, err
		}
	}
	comment, err := publisher.UpsertComment(ctx, text)
	if err != nil {
		return receipt{}, err
	}
	r.Tell(fmt.Sprintf("comment %s: %s", comment.Change, comment.URL))
	return receipt{comment.ID, p.Verdict}, nil
}

func (r *Review) publisher(number int, comment int64) *github.Publisher {
	return github.New(r.publishing(number, comment))
}

// issue publishes on one that is no pull request.
func (r *Review) issue(number int, comment int64) *github.Publisher {
	cfg := r.publishing(number, comment)
	cfg.Permission = "issues: write"
	return github.New(cfg)
}

func (r *Review) publishing(number int, comment int64) github.Config {
	return github.Config{
		REST: r.Client.REST(), Explain: forge.Explain, Owner: r.Repository.Owner, Name: r.Repository.Name,
		Number: number, CommentID: comment, Login: r.Login,
	}
}

func (r *Review) setStatuses(ctx context.Context, statuses ...github.Status) error {
	if r.Client == nil {
		return nil
	}
	for i := range statuses {
		statuses[i].TargetURL = r.RunURL
	}
	return r.publisher(0, 0).SetStatuses(ctx, r.head, statuses...)
}

// Text renders the report as the comment, at any size.
func (r *Review) Text(report *reporters.Report) github.Text {
	if r.clock != nil {
		return r.driftText(report)
	}
	opts := comment.Options{
		RepositoryURL: r.WebURL + "/" + r.Repository.String(),
		HeadSHA:       r.head, RunURL: r.RunURL, Refused: r.orders.Refused, Commands: r.commands(report), Hint: r.Hint,
	}
	return func(maxBytes int) string {
		opts.MaxBytes = maxBytes
		return comment.Markdown(report, opts)
	}
}

// Settle gives a commit that nobody waits for any more its last statuses: those
// of its report where there is one, else why there is none, on the groups that
// are known of it, too.
func (r *Reviewer) Settle(ctx context.Context, number int, head, why string, groups ...string) error {
	last := &Review{Config: r.cfg, head: head, number: number, groups: groups}
	if r.cfg.Recall != nil {
		stored, err := r.cfg.Recall(ctx, number, head)
		if err != nil {
			return err
		}
		if stored != nil {
			return last.publish(ctx, stored, false)
		}
	}
	return last.settle(ctx, why, last.groups...)
}
