package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/github"
)

// Rerequested says that somebody asked for the check run anew. What is stored
// of the head is not paid for again: what is open is tried again, and the check
// run is completed once more, also where it says the same.
func (r *Review) Rerequested() { r.again = true }

// checkRun is the report in a check run.
func (r *Review) checkRun(report *reporters.Report) github.Check {
	c := github.CheckFor(report)
	c.DetailsURL, c.Again = r.RunURL, r.again
	return c
}

// check writes a check run. Statuses and comment say all that it says, so that
// a credential that may not write one is no failure: it is asked for nothing
// that it cannot do, for a while.
func (r *Review) check(ctx context.Context, p posting) error {
	err := r.publisher(p.Number, 0).SetCheck(ctx, p.Head, *p.Check)
	denied, ok := errors.AsType[*forge.DeniedError](err)
	if !ok || denied.Status == http.StatusUnauthorized {
		return err
	}
	r.Client.RefusedChecks(r.Repository)
	r.Tell(fmt.Sprintf("no check run, statuses and comment say the same: %v", denied))
	return nil
}
