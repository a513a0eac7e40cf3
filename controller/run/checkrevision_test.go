package run

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target"
)

// TestCheckRevision: a commit has to be the judged one, and a version that is not a commit
// must be named and not be base's.
func TestCheckRevision(t *testing.T) {
	for _, tt := range []struct {
		revision, wanted string
		atBase           []string
		got, want        string
	}{
		{config.RevisionNone, "c1", nil, "c0", ""},
		{config.RevisionReply, "c1", nil, "c1", ""},
		{config.RevisionReply, "", nil, "c0", ""},
		{config.RevisionReply, "c1", nil, "c0", "agent is at c0, wanted c1"},
		{config.RevisionTemplate, "c1", nil, "", "agent is at an unknown revision, wanted c1"},
		{config.RevisionAny, "c1", nil, "1.4.1", ""},
		{config.RevisionAny, "c1", []string{"1.4.0", "1.4.1"}, "1.4.2", ""},
		{config.RevisionAny, "c1", []string{"1.4.0", "1.4.1"}, "1.4.1", "base's agent is still deployed: it is at 1.4.1"},
		{config.RevisionAny, "", []string{"1.4.1"}, "1.4.1", "base's agent is still deployed"},
		{config.RevisionAny, "", nil, "", "agent is at an unknown revision, wanted a version in its reply"},
	} {
		err := checkRevision(config.Target{Revision: tt.revision}, tt.wanted, tt.atBase, target.Reply{Revision: tt.got})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s at %q, wanted %q, base at %q: %v, want %q", tt.revision, tt.got, tt.wanted, tt.atBase, err, tt.want)
		}
		if err != nil && !isDeploying(config.Target{Revision: tt.revision}, err) {
			t.Errorf("%v: the agent may still be deployed", err)
		}
	}
}
