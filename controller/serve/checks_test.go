package serve_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestCheckRunsOfEveryKind: none is green that its status is not.
func TestCheckRunsOfEveryKind(t *testing.T) {
	for _, tt := range []struct {
		name   string
		commit string
		pull   forgetest.Pull
		want   string
		title  string
	}{
		{"good", "one", forgetest.Pull{}, "success 1", "no case regressed"},
		{"invalid", "broken", forgetest.Pull{}, "failure 1", "1 invalid definition"},
		{"a fork", "one", forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}, "action_required 1", "approves"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAppFixture(t)
			w.pull(tt.commit, tt.pull)
			w.start()
			w.idle()
			if got := w.check(tt.commit); got != tt.want {
				t.Fatalf("the check run is %q, want %q", got, tt.want)
			}
			out := w.forge.CheckRuns(w.commits[tt.commit])[0].Output
			if !strings.Contains(out.Title+out.Summary, tt.title) || strings.Contains(w.states(tt.commit), "pending") {
				t.Errorf("%q: %s; states %q", out.Title, out.Summary, w.states(tt.commit))
			}
			// The warning of the domain is one.
			if annotated := len(out.Annotations) > 1; annotated != (tt.name == "invalid") {
				t.Errorf("annotations %+v", out.Annotations)
			}
		})
	}
}

// TestACheckRunThatWaits in the outbox, because the forge was away, is written
// after a restart, and once.
func TestACheckRunThatWaits(t *testing.T) {
	w := newAppFixture(t)
	w.start()
	w.idle()
	w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/check-runs", Status: 500, Times: -1})
	w.push("one")
	w.hint()
	w.idle()
	if got := w.check("one"); got != "" || w.states("one") != "success success" {
		t.Fatalf("the check run is %q, states %q", got, w.states("one"))
	}
	w.end()
	w.forge.Heal()
	w.pull("one", forgetest.Pull{Closed: true}) // nothing but the outbox knows of it
	w.start()
	w.idle()
	if got := w.check("one"); got != "success 1" {
		t.Errorf("the check run is %q", got)
	}
	w.want("one", "success success")
}

// TestACheckRunOfAGroup is completed again by the branch of its queue.
func TestACheckRunOfAGroup(t *testing.T) {
	w := newAppFixture(t)
	w.push("one")
	w.start()
	w.idle()
	branch := w.queue("group")
	w.hintQueue(branch)
	w.idle()
	if got := w.check("group"); got != "success 1" {
		t.Errorf("the check run is %q", got)
	}
	w.rerequest("group")
	if got := w.check("group"); got != "success 1, success 1" {
		t.Errorf("asked for, the check run is %q", got)
	}
}
