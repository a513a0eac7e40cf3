package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
)

// A revisionError is about the reply of an agent that runs another revision than the
// judged one. Such a reply is not stored: once the right revision is deployed, the same
// request has another answer.
type revisionError struct {
	Got, Want string
	// AtBase means that base's verdicts came from the revision.
	AtBase bool
}

// Error names the revisions.
func (e *revisionError) Error() string {
	if e.AtBase {
		return fmt.Sprintf("base's agent is still deployed: it is at %s, which base's verdicts came from; deploy the head under a version of its own", e.Got)
	}
	return fmt.Sprintf("agent is at %s, wanted %s", e.Got, e.Want)
}

// checkRevision checks the revision that a reply names.
func (c *caller) checkRevision(ctx context.Context, t config.Target, atBase []string, reply target.Reply) error {
	if c.cfg.Deployed != nil && t.Revision == config.RevisionReply && !t.Started() {
		return c.cfg.Deployed(ctx, t, reply.Revision)
	}
	return checkRevision(t, c.cfg.Revision, atBase, reply)
}

// checkRevision compares the revision reported by a deployed agent with the wanted
// commit, which is empty for a working tree, or with the versions that base's verdicts came
// from. The error is a [*revisionError].
func checkRevision(t config.Target, wanted string, atBase []string, reply target.Reply) error {
	got := cmp.Or(reply.Revision, "an unknown revision")
	switch {
	case t.Revision == config.RevisionAny && reply.Revision == "":
		return &revisionError{Got: got, Want: "a version in its reply"}
	case t.Revision == config.RevisionAny && slices.Contains(atBase, got):
		return &revisionError{Got: got, AtBase: true}
	case wanted == "" || t.Revision == "" || t.Revision == config.RevisionNone || t.Revision == config.RevisionAny || got == wanted:
		return nil
	}
	return &revisionError{Got: got, Want: wanted}
}

// isDeploying reports whether a call may have failed because the agent is still being
// deployed. If the URL names the revision, it does not exist before the deployment.
func isDeploying(t config.Target, err error) bool {
	if _, other := errors.AsType[*revisionError](err); other {
		return true
	}
	fault, ok := errors.AsType[*target.Error](err)
	return ok && t.Revision == config.RevisionTemplate && (fault.Retry || fault.Status == http.StatusNotFound)
}
