package run

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
)

// A revisionError is about the reply of an agent that runs something else than what
// is judged. Such a reply is not written down: once the agent is there, the
// same request has another answer.
type revisionError struct{ Got, Want string }

// revisionError names both revisions.
func (e *revisionError) Error() string {
	return fmt.Sprintf("agent is at %s, wanted %s", e.Got, e.Want)
}

// checkRevision compares what a deployed agent says it runs with the commit that is wanted of
// it, which is empty for a working tree. The error is an [*revisionError].
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
// deployed. Where the URL names the revision, it is not there before the agent is.
func isDeploying(t config.Target, err error) bool {
	if _, other := errors.AsType[*revisionError](err); other {
		return true
	}
	fault, ok := errors.AsType[*target.Error](err)
	return ok && t.Revision == config.RevisionTemplate && (fault.Retry || fault.Status == http.StatusNotFound)
}
