package run

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
)

// deployPause is how long to wait before a look whether an agent has come up.
const deployPause = 5 * time.Second

// A revisionError is the reply of an agent that runs something else than what
// is judged. Such a reply is not written down: once the agent is there, the
// same request has another answer.
type revisionError struct{ got, want string }

func (e *revisionError) Error() string {
	return fmt.Sprintf("agent is at %s, wanted %s", e.got, e.want)
}

// checkRevision compares what a deployed agent says it runs with the commit
// that is wanted of it. Of a working tree there is none.
func (r *runner) checkRevision(t config.Target, reply target.Reply) error {
	if r.cfg.Revision == "" || t.Revision == "" || t.Revision == config.RevisionNone {
		return nil
	}
	if got := cmp.Or(reply.Revision, "an unknown revision"); got != r.cfg.Revision {
		return &revisionError{got, r.cfg.Revision}
	}
	return nil
}

// awaits reports whether a call came to nothing because the agent may still be
// on its way, and the time that it has for that is not over. Where the URL
// names the revision, it is not there before the agent is.
func (r *runner) awaits(t config.Target, err error) bool {
	if t.WaitFor == 0 || !r.cfg.Now().Before(r.began.Add(t.WaitFor)) {
		return false
	}
	var other *revisionError
	var fault *target.Error
	switch {
	case errors.As(err, &other):
		return true
	case t.Revision == config.RevisionTemplate && errors.As(err, &fault):
		return fault.Retry || fault.Status == http.StatusNotFound
	}
	return false
}
