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

// A Rerequest is our check run that somebody re-requested.
type Rerequest struct {
	// Number is its pull request, 0 for none.
	Number int
	// Branch is the branch that its commit was pushed to, empty if unknown.
	Branch string
}

// Rerequests lists the re-requested check runs of a commit, one for each pull request.
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

// Answer creates the check run of a commit again that nobody waits for any more: with
// its report if there is one, else with the reason why not. Nothing is judged, and
// nothing else is written.
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

// checkRun renders the report as a check run.
func (r *Review) checkRun(report *report.Report) comment.Check {
	c := comment.NewCheck(report)
	c.DetailsURL, c.Again = r.RunURL, r.again
	return c
}

// check writes a check run. Statuses and comment contain the same, so a credential that
// may not write one is not a failure: for a while, no check run is tried.
func (r *Review) check(ctx context.Context, p publication) error {
	return r.checked(r.publisher(p, 0).SetCheck(ctx, p.Head, *p.Check))
}

// checked returns the relevant part of an error of writing a check run.
func (r *Review) checked(err error) error {
	denied, ok := errors.AsType[*forge.DeniedError](err)
	if !ok || denied.Status == http.StatusUnauthorized {
		return err
	}
	r.Client.RefusedChecks(r.Repository)
	r.Log(fmt.Sprintf("no check run, statuses and comment say the same: %v", denied))
	return nil
}
