package review

import (
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Schedule asks for a base branch's commit to be judged again.
type Schedule struct {
	// Branch has the commit SHA.
	Branch, SHA string
	// Due is the time that it is due for: what was judged since serves, so that
	// one that was interrupted continues.
	Due time.Time
	// Issue gets a comment; 0 for none.
	Issue int
}

// Scheduled is a review by the clock: all that a commit of a base branch has is
// judged again and compared with what was known of it. Its result is a status of
// its own, and the comment of an issue.
func (r *Reviewer) Scheduled(c Schedule) *Review {
	return &Review{
		Config: r.cfg, head: c.SHA, refs: []string{"refs/heads/" + c.Branch}, level: ledger.LevelBase, merged: true,
		trust: forge.Trusted(forge.EventPush, nil, forge.PermissionUnknown), schedule: &c,
	}
}

// ignoreBefore says of every case since when what is stored serves.
func (c *Schedule) ignoreBefore(string) (time.Time, plan.Reason) {
	return c.Due, plan.Reason{Part: "schedule", Message: "scheduled run of all cases"}
}

// due is what divides the past that head is compared with from what is judged
// again; zero where it is compared with another commit.
func (r *Review) due() time.Time {
	if r.schedule == nil {
		return time.Time{}
	}
	return r.schedule.Due
}

// drifted is what a report by the clock puts on the forge.
func (r *Review) drifted(report *report.Report) []publication {
	all := []publication{r.status(comment.NewDriftStatus(report))}
	if r.schedule.Issue != 0 {
		all = append(all, publication{
			Repository: r.Known, Number: r.schedule.Issue, Head: r.head, Branch: r.schedule.Branch,
			Comment: r.driftText(report)(0),
		})
	}
	return all
}

// driftText renders the report as the comment of an issue, at any size.
func (r *Review) driftText(report *report.Report) comment.Renderer {
	opts := comment.DriftOptions{Branch: r.schedule.Branch, Due: r.schedule.Due, RepositoryURL: r.WebURL + "/" + r.Repository.String()}
	return func(maxBytes int) string {
		opts.MaxBytes = maxBytes
		return comment.DriftMarkdown(report, opts)
	}
}
