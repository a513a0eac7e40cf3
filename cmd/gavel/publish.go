package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/github"
)

// A posting is one thing that stands on the forge: a status, or the comment of
// a pull request. It is stored as the body of an item of the outbox, so that a
// later process can write what an earlier one could not.
type posting struct {
	Repository forge.Repo     `json:"repository"`
	Number     int            `json:"number,omitempty"`
	Head       string         `json:"head"`
	Status     *github.Status `json:"status,omitempty"`
	Comment    string         `json:"comment,omitempty"`
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
	if p.Status != nil {
		return fmt.Sprintf("status %s %s %s", p.Repository, p.Head, p.Status.Context)
	}
	return fmt.Sprintf("comment %s#%d", p.Repository, p.Number)
}

func (p posting) item() (ledger.OutboxItem, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return ledger.OutboxItem{}, err
	}
	sum := sha256.Sum256(body)
	return ledger.OutboxItem{Destination: p.destination(), Head: p.Head, ContentDigest: hex.EncodeToString(sum[:]), Body: body}, nil
}

// postings are what a report puts on the forge.
func (r *review) postings(report *reporters.Report) []posting {
	validate, verdict := github.StatusFor(report)
	validate.TargetURL, verdict.TargetURL = r.jobURL(), r.jobURL()
	all := []posting{
		{Repository: r.repo, Head: r.head, Status: &validate},
		{Repository: r.repo, Head: r.head, Status: &verdict},
	}
	if r.number != 0 {
		all = append(all, posting{
			Repository: r.repo, Number: r.number, Head: r.head, Comment: r.text(report)(reporters.MaxCommentBytes),
			Verdict: string(report.Gate.Result), Fresh: r.fresh,
		})
	}
	return all
}

// outbox is stored with the report.
func (r *review) outbox(report *reporters.Report) ([]ledger.OutboxItem, error) {
	var items []ledger.OutboxItem
	for _, p := range r.postings(report) {
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// publish writes what the report puts on the forge, and what an earlier process
// left in the outbox. Its error is of the former: the latter is not what this
// job is about.
func (r *review) publish(ctx context.Context, book *ledger.Ledger, report *reporters.Report) error {
	pending, err := book.Pending(ctx)
	if err != nil {
		return err
	}
	waiting := map[string]ledger.OutboxItem{}
	for _, item := range pending {
		waiting[item.Destination] = item
	}
	var errs []error
	for _, p := range r.postings(report) {
		// What stands in the outbox no more was written before; somebody may
		// have deleted it since.
		errs = append(errs, r.post(ctx, book, p, waiting[p.destination()], r.text(report)))
		delete(waiting, p.destination())
	}
	for _, item := range pending {
		if _, left := waiting[item.Destination]; !left {
			continue
		}
		var p posting
		if err := json.Unmarshal(item.Body, &p); err != nil || p.Repository != r.repo {
			continue // of another repository, or of another version
		}
		err := r.post(ctx, book, p, item, func(maxBytes int) string { return shortened(p, maxBytes) })
		if err != nil {
			fmt.Fprintf(r.stderr, "gavel: what was left of %.12s could not be published: %v\n", p.Head, err)
		}
	}
	return errors.Join(errs...)
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
func (r *review) post(ctx context.Context, book *ledger.Ledger, p posting, item ledger.OutboxItem, text github.Text) error {
	var note []byte
	if p.Status != nil {
		if err := r.publisher(p.Number, 0).SetStatus(ctx, p.Head, *p.Status); err != nil {
			return err
		}
	} else {
		now, err := r.comment(ctx, book, p, text)
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
	return book.MarkPublished(ctx, item, string(note))
}

// comment writes the comment of a pull request, found by the id that is known
// from the last time. A new verdict gets a comment of its own where that is
// asked for, since an edit notifies nobody.
func (r *review) comment(ctx context.Context, book *ledger.Ledger, p posting, text github.Text) (receipt, error) {
	stored, err := book.Receipt(ctx, p.destination())
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
	fmt.Fprintf(r.stderr, "gavel: comment %s: %s\n", comment.Change, comment.URL)
	return receipt{comment.ID, p.Verdict}, nil
}

func (r *review) publisher(number int, comment int64) *github.Publisher {
	return github.New(github.Config{
		REST: r.client.REST(), Explain: forge.Explain, Owner: r.repo.Owner, Name: r.repo.Name,
		Number: number, CommentID: comment, Login: r.login(),
	})
}

func (r *review) setStatuses(ctx context.Context, statuses ...github.Status) error {
	publisher := r.publisher(0, 0)
	var errs []error
	for _, s := range statuses {
		s.TargetURL = r.jobURL()
		errs = append(errs, publisher.SetStatus(ctx, r.head, s))
	}
	return errors.Join(errs...)
}

// jobURL is the page of the job, empty outside of one.
func (r *review) jobURL() string {
	server, run := r.env("GITHUB_SERVER_URL"), r.env("GITHUB_RUN_ID")
	if server == "" || run == "" {
		return ""
	}
	return server + "/" + r.repo.String() + "/actions/runs/" + run
}

// text renders the report as the comment, at any size.
func (r *review) text(report *reporters.Report) github.Text {
	opts := reporters.Options{
		RepositoryURL: cmp.Or(r.env("GITHUB_SERVER_URL"), "https://github.com") + "/" + r.repo.String(),
		HeadSHA:       r.head, RunURL: r.jobURL(),
	}
	return func(maxBytes int) string {
		opts.MaxBytes = maxBytes
		return reporters.Markdown(report, opts)
	}
}

// tell says the same where the job is looked at. What the forge did not take
// stands there and in the exit code; it changes no verdict.
func (r *review) tell(report *reporters.Report, unpublished error) error {
	if unpublished != nil {
		fmt.Fprintf(r.stderr, "gavel: the report could not be published: %v\n", unpublished)
	}
	text := r.text(report)
	if path := r.env("GITHUB_STEP_SUMMARY"); path != "" {
		if err := github.JobSummary(path, text); err != nil {
			return err
		}
	} else if unpublished != nil {
		fmt.Fprintln(r.stdout, text(reporters.MaxCommentBytes))
	}
	fmt.Fprintf(r.stdout, "gate %s: %s\n", report.Gate.Result, report.Gate.Reason)
	return nil
}
