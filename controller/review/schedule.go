package review

import (
	"cmp"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Schedule requests judging a base branch's commit again.
type Schedule struct {
	// Branch has the commit SHA.
	Branch, SHA string
	// Due is the scheduled time: later results are reused, so an interrupted one
	// continues.
	Due time.Time
	// Issue gets a comment.
	Issue config.DriftIssue
}

// Scheduled returns a scheduled review: all cases at a commit of a base branch are
// judged again and compared with their earlier results. Its result is a separate
// status, and the comment of an issue.
func (r *Reviewer) Scheduled(c Schedule) *Review {
	return &Review{
		Config: r.cfg, branch: c.Branch, head: c.SHA, refs: []string{"refs/heads/" + c.Branch}, level: ledger.LevelBase, merged: true,
		trust: forge.Trusted(forge.EventPush, nil, forge.PermissionUnknown), schedule: &c,
	}
}

// ignoreBefore returns the time since which stored results count.
func (c *Schedule) ignoreBefore(string) (time.Time, plan.Reason) {
	return c.Due, plan.Reason{Part: "schedule", Message: "scheduled run of all cases"}
}

// due returns the time that separates the earlier results from the new ones; zero if
// head is compared with another commit.
func (r *Review) due() time.Time {
	if r.schedule == nil {
		return time.Time{}
	}
	return r.schedule.Due
}

// drifted returns a scheduled report's items for the forge.
func (r *Review) drifted(report *report.Report) []publication {
	all := []publication{r.status(comment.NewDriftStatus(report))}
	told := publication{
		Repository: r.Known, Number: r.schedule.Issue.Number, Head: r.head, Branch: r.schedule.Branch,
		Comment: r.driftText(report)(0),
	}
	switch worse, better := comment.Changed(report); {
	case told.Number != 0:
		all = append(all, told)
	case r.schedule.Issue.New && worse+better > 0:
		// A night without a change leaves the last one where people read it.
		told.OwnIssue, told.EditOnly = true, worse == 0
		all = append(all, told)
	}
	return all
}

// Gate returns the gate of a report; of a scheduled one, what its status says of drift.
func (r *Review) Gate(rep *report.Report) report.Gate {
	if r.schedule == nil {
		return rep.Gate
	}
	status := comment.NewDriftStatus(rep)
	results := map[comment.State]string{comment.StateSuccess: report.GatePass, comment.StateFailure: report.GateFail}
	return report.Gate{Result: cmp.Or(results[status.State], report.GateUndetermined), Reason: status.Description}
}

// driftText renders the report as the comment of an issue, at any size.
func (r *Review) driftText(report *report.Report) comment.Renderer {
	opts := comment.DriftOptions{Branch: r.schedule.Branch, Due: r.schedule.Due, RepositoryURL: r.WebURL + "/" + r.Repository.String()}
	return func(maxBytes int) string {
		opts.MaxBytes = maxBytes
		return comment.DriftMarkdown(report, opts)
	}
}
