package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// A Rerequest is a check run of ours that somebody requested again.
type Rerequest struct {
	// Number is the pull request that it is about, 0 for none.
	Number int
	// Branch is what its commit was pushed to, empty where that is not known.
	Branch string
}

// Rerequests lists the check runs of a commit that somebody requested again, one
// for each pull request.
func (r *Reviewer) Rerequests(ctx context.Context, head string) ([]Rerequest, error) {
	asked, err := r.cfg.Client.Rerequests(ctx, r.cfg.Repository, head, comment.CheckName)
	var found []Rerequest
	for _, a := range asked {
		number, ours := comment.CheckRunPullRequest(a.ExternalID)
		if one := (Rerequest{number, a.Branch}); ours && !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found, err
}

// Answer makes the check run of a commit again for which nobody waits any more:
// with its report where there is one, else with why there is none. Nothing is
// judged, and nothing else is written.
func (r *Reviewer) Answer(ctx context.Context, rerun Rerequest, head, why string) error {
	group, queued := forge.Queued(rerun.Branch)
	queued = queued && group.Number == rerun.Number
	last := &Review{Config: r.cfg, head: head, number: rerun.Number, queued: queued, again: true}
	check := comment.Check{Conclusion: comment.ConclusionCancelled, Title: why, Summary: why, Again: true}
	if r.cfg.Recall != nil {
		stored, err := r.cfg.Recall(ctx, rerun.Number, head)
		if err != nil {
			return err
		}
		if stored != nil {
			check = last.checkRun(stored)
		}
	}
	return last.check(ctx, publication{Repository: r.cfg.Known, Number: rerun.Number, Queued: queued, Head: head, Check: &check})
}

// checkRun is the report in a check run.
func (r *Review) checkRun(report *report.Report) comment.Check {
	c := comment.NewCheck(report)
	c.DetailsURL, c.Again = r.RunURL, r.again
	return c
}

// check writes a check run. Statuses and comment say all that it says, so that
// a credential that may not write one is not a failure: it is asked for nothing
// that it cannot do, for a while.
func (r *Review) check(ctx context.Context, p publication) error {
	return r.checked(r.publisher(p, 0).SetCheck(ctx, p.Head, *p.Check))
}

// checked is what remains of an error of writing a check run.
func (r *Review) checked(err error) error {
	denied, ok := errors.AsType[*forge.DeniedError](err)
	if !ok || denied.Status == http.StatusUnauthorized {
		return err
	}
	r.Client.RefusedChecks(r.Repository)
	r.Log(fmt.Sprintf("no check run, statuses and comment say the same: %v", denied))
	return nil
}
