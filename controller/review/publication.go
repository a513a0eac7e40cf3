package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A publication is one item on the forge: a status, the groups' statuses, a check run,
// or the comment of a pull request. It is stored as the body of an outbox item, so that
// a later process can write it if this one cannot.
type publication struct {
	// Repository is the ledger's name for it, see [Config.Known]: open items stay with
	// a renamed repository, and do not go to another one that takes its name.
	Repository string `json:"repository"`
	Number     int    `json:"number,omitempty"`
	// Queued means the merge group of the pull request.
	Queued bool            `json:"queued,omitempty"`
	Head   string          `json:"head"`
	Status *comment.Status `json:"status,omitempty"`
	// Groups are the statuses of the groups of cases.
	Groups  []comment.Status `json:"groups,omitempty"`
	Check   *comment.Check   `json:"check,omitempty"`
	Comment string           `json:"comment,omitempty"`
	// Notice does not go to the forge.
	Notice *notice `json:"notice,omitempty"`
	// Branch is the subject of the comment, if it is not a pull request's.
	Branch string `json:"branch,omitempty"`
	// OwnIssue means that the comment is in the issue that Gavel opens for drift, unless
	// EditOnly is set.
	OwnIssue bool `json:"own_issue,omitempty"`
	// Verdict is the gate's. A comment that is created again for every verdict stays
	// the same until it changes.
	Verdict string `json:"verdict,omitempty"`
	Fresh   bool   `json:"fresh,omitempty"`
	// EditOnly means that a pull request without a comment gets none.
	EditOnly bool `json:"edit_only,omitempty"`
}

// A receipt is the stored record of a written comment.
type receipt struct {
	Comment int64  `json:"comment"`
	Verdict string `json:"verdict"`
	// Digest is the text's; receipts of earlier versions have none.
	Digest string `json:"digest,omitempty"`
	// Issue is the issue that Gavel opened for the comment, 0 for other comments.
	Issue int `json:"issue,omitempty"`
}

// destination identifies the place on the forge.
func (p publication) destination() string {
	switch {
	case p.Status != nil:
		return fmt.Sprintf("status %s#%d %s %s", p.Repository, p.Number, p.Head, p.Status.Context)
	case p.Groups != nil:
		return fmt.Sprintf("groups %s#%d %s", p.Repository, p.Number, p.Head)
	case p.Check != nil:
		return fmt.Sprintf("check %s#%d %s", p.Repository, p.Number, p.Head)
	}
	if p.Notice != nil {
		return fmt.Sprintf("notice %s#%d %s %s%s %s", p.Repository, p.Number, p.Head, p.Notice.Content.Event, p.Notice.Due, p.Notice.Variable)
	}
	if p.Branch != "" {
		return fmt.Sprintf("comment %s#%d %s", p.Repository, p.Number, p.Branch)
	}
	return fmt.Sprintf("comment %s#%d", p.Repository, p.Number)
}

func (p publication) isComment() bool {
	return p.Status == nil && p.Groups == nil && p.Check == nil && p.Notice == nil
}

func (p publication) item() (ledger.OutboxItem, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return ledger.OutboxItem{}, err
	}
	sum := sha256.Sum256(body)
	return ledger.OutboxItem{Destination: p.destination(), Head: p.Head, ContentDigest: hex.EncodeToString(sum[:]), Body: body}, nil
}

// postings returns a report's items for the forge. The groups come last: with a second
// between two writes, the overall result must not wait for them.
func (r *Review) postings(ctx context.Context, came judgement) []publication {
	report := came.report
	if r.schedule != nil {
		return append(r.drifted(report), r.notices(came)...)
	}
	validate, verdict := comment.NewStatuses(report)
	r.hold(&verdict)
	all := []publication{r.status(verdict), r.status(validate)}
	if r.number != 0 && !r.queued {
		all = append(all, publication{
			Repository: r.Known, Number: r.number, Head: r.head, Comment: r.Text(report)(comment.MaxBytes),
			Verdict: string(report.Gate.Result), Fresh: came.fresh, EditOnly: came.quiet && r.isSilent(report),
		})
	}
	if r.Client.CanCheck(ctx, r.Repository) {
		check := r.checkRun(report)
		all = append(all, publication{Repository: r.Known, Number: r.number, Queued: r.queued, Head: r.head, Check: &check})
	}
	if groups := comment.GroupStatuses(report); len(groups) > 0 {
		for i := range groups {
			r.hold(&groups[i])
		}
		all = append(all, publication{Repository: r.Known, Number: r.number, Queued: r.queued, Head: r.head, Groups: r.linked(groups)})
	}
	return append(all, r.notices(came)...)
}

// isSilent reports whether a report says that nothing is affected, and nothing else.
func (r *Review) isSilent(rep *report.Report) bool {
	return report.NothingAffected(rep) && rep.Gate.Result == report.GatePass && rep.NotRunReason == "" && rep.Summary.Removed == 0 &&
		report.InvalidFiles(rep.Problems) == 0 && len(rep.Commands)+len(r.commands.Followed)+len(r.commands.Refused) == 0 && rep.TargetChanges.Line() == ""
}

func (r *Review) status(s comment.Status) publication {
	s.TargetURL = r.page()
	return publication{Repository: r.Known, Number: r.number, Queued: r.queued, Head: r.head, Status: &s}
}

// hold marks a status that waits for an approval but cannot get one.
func (r *Review) hold(s *comment.Status) {
	if s.Hold == comment.Approvable && r.Unapprovable() != "" {
		s.Hold = comment.Unapprovable
	}
}

// linked adds the address of this run's page to statuses.
func (r *Review) linked(statuses []comment.Status) []comment.Status {
	for i := range statuses {
		statuses[i].TargetURL = r.page()
	}
	return statuses
}

// page returns the target of statuses: the page of this run, else their subject, since
// a status's address also records its owner.
func (r *Review) page() string {
	switch {
	case r.RunURL != "" || r.WebURL == "" || r.schedule != nil:
		return r.RunURL
	case r.number == 0 || r.queued:
		return r.commitPage()
	}
	return r.Client.PullPage(r.WebURL, r.Repository, r.number)
}

// commitPage returns the page of the head.
func (r *Review) commitPage() string {
	return r.WebURL + "/" + r.Repository.String() + "/commit/" + r.head
}
