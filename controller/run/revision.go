package run

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
)

// A revisionError is about the reply of an agent that runs another revision than the
// judged one. Such a reply is not stored: once the right revision is deployed, the same
// request has another answer.
type revisionError struct{ Got, Want string }

// Error names both revisions.
func (e *revisionError) Error() string {
	return fmt.Sprintf("agent is at %s, wanted %s", e.Got, e.Want)
}

// checkRevision compares the revision reported by a deployed agent with the wanted
// commit, which is empty for a working tree. The error is a [*revisionError].
func checkRevision(t config.Target, wanted string, reply target.Reply) error {
	if wanted == "" || t.Revision == "" || t.Revision == config.RevisionNone {
		return nil
	}
	if got := cmp.Or(reply.Revision, "an unknown revision"); got != wanted {
		return &revisionError{got, wanted}
	}
	return nil
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
