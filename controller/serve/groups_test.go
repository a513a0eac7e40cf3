package serve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

const ofGroups = "statuses: groups"

// group is the last status of the one group there is.
func (w *fixture) group(commit string) string {
	last := ""
	for _, s := range w.forge.Statuses(w.commits[commit]) {
		if s.Context == "gavel/verdict/talk" {
			last = s.State + ": " + s.Description
		}
	}
	return last
}

// wantGroups demands the statuses of the group on each commit.
func (w *fixture) wantGroups(want map[string]string) {
	w.t.Helper()
	got := map[string]string{}
	for commit := range want {
		got[commit] = w.group(commit)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("-want +got:\n%s", diff)
	}
	if w.t.Failed() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t.Logf("log:\n%s", strings.Join(w.lines, "\n"))
	}
}

// TestGroupStatuses are on every head, whatever it is.
func TestGroupStatuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, ofGroups)
	w.start()
	w.idle() // what main says is not what a pull request has learnt before it
	judge := func(commits ...string) {
		for _, commit := range commits {
			w.push(commit)
			w.hint()
			w.idle()
		}
	}
	judge("one", "broken", "emptied")
	w.hintQueue(w.queue("group"))
	w.idle()
	w.writesNothing(func() { w.end(); w.start(); w.hint(); w.idle() })
	w.wantGroups(map[string]string{
		"main":    "success: 1 new case · 1 of 1 case rerun · score 1.000",
		"one":     "success: no regressions · 1 of 1 case rerun · score 1.000, unchanged",
		"broken":  "failure: 1 invalid definition · no regressions",
		"emptied": "",
		"group":   "success: no regressions · score 1.000, unchanged", // its pull request had it judged
	})
	judge("main")
	w.wantGroups(map[string]string{"main": "success: no affected cases · score 1.000, unchanged"})
	if left := w.pending(); len(left) > 0 {
		t.Errorf("pending are %q, want none", left)
	}
}

// TestGroupStatusesOff: then there are two contexts.
func TestGroupStatusesOff(t *testing.T) {
	t.Parallel()
	for _, settings := range [][]string{nil, {"statuses: total"}} {
		w := newFixture(t, settings...)
		w.push("two")
		w.start()
		w.idle()
		for _, s := range w.forge.Statuses(w.commits["two"]) {
			if s.Context != "gavel/validate" && s.Context != "gavel/verdict" {
				t.Errorf("%v: %+v, want only the statuses gavel/validate and gavel/verdict", settings, s)
			}
		}
		w.want("two", "success failure")
	}
}

// TestGroupStatusesOfAFork wait for an approval. Where nothing may be looked at
// nobody knows which there are.
func TestGroupStatusesOfAFork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ forks, want string }{
		{"approve", "error: the head comes from the fork stranger/demo: validated and planned only, until somebody with write permission approves · 1 case would run"},
		{"plan", "error: the head comes from the fork stranger/demo: validated and planned only · 1 case would run"},
		{"never", ""},
	} {
		w := newFixture(t, ofGroups)
		w.forks = tt.forks
		w.forge.SetPermission("mona", "write")
		w.pull("one", forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"})
		w.start()
		w.idle()
		w.wantGroups(map[string]string{"one": tt.want})
		if tt.forks != "approve" {
			continue
		}
		w.forge.AddComment(1, "mona", "/gavel approve "+w.commits["one"])
		w.hint()
		w.idle()
		w.wantGroups(map[string]string{"one": "success: no regressions · 1 of 1 case rerun · score 1.000, unchanged"})
	}
}

// TestGroupStatusesSuperseded: of a head that nobody waits for only the verdict
// says so, and the next one does not wait for that, also where the server dies or
// the forge is away meanwhile.
func TestGroupStatusesSuperseded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		meanwhile func(*fixture)
	}{
		{"nothing", func(w *fixture) {
			w.hint()
			<-w.agent.held
		}},
		{"a restart", func(w *fixture) {
			w.end()
			w.start()
			<-w.agent.held
		}},
		{"a forge that is away", func(w *fixture) {
			w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/statuses/", Status: 500, Times: -1})
			w.end()
			w.forge.Heal()
			w.start()
			<-w.agent.held
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, ofGroups)
			release := w.judging()
			w.push("two")
			tt.meanwhile(w)
			release()
			w.idle()
			w.poll()
			w.idle()
			w.want("two", "success failure")
			w.wantGroups(map[string]string{
				"one": "",
				"two": "failure: 1 regression · 1 case regressed (fail_on: regression) · 1 of 1 case rerun · score 1.000 → 0.000",
			})
			if got := w.says("one"); got != "superseded by "+w.commits["two"][:7] {
				t.Errorf("one says %q", got)
			}
			w.push("one") // back again
			w.hint()
			w.idle()
			w.wantGroups(map[string]string{"one": "success: no regressions · 1 of 1 case rerun · score 1.000, unchanged"})
			if left := w.pending(); len(left) > 0 {
				t.Errorf("pending are %q, want none", left)
			}
		})
	}
}

// TestBackAgainDuringTheSweep: the sweep's statuses on a commit that was passed over do
// not come after the new ones when it is the head again.
func TestBackAgainDuringTheSweep(t *testing.T) {
	t.Parallel()
	w := newFixture(t, ofGroups)
	release := w.judging()
	at, swept := make(chan struct{}), make(chan struct{})
	w.forge.Inject(forgetest.Fault{Method: "GET", Path: "/commits/" + w.commits["one"] + "/status", Hold: func() {
		close(at)
		<-swept
	}})
	w.push("two")
	w.hint()
	<-w.agent.held
	<-at
	w.push("one")
	w.hint()
	<-w.agent.held // the head does not wait for the sweep
	close(swept)
	release()
	w.idle()
	w.want("one", "success success")
	w.wantGroups(map[string]string{"one": "success: no regressions · 1 of 1 case rerun · score 1.000, unchanged"})
}

// TestGroupStatusesCancelled say so, since their head stays the head.
func TestGroupStatusesCancelled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, ofGroups)
	w.forge.SetPermission("mona", "write")
	release := w.judging()
	w.forge.AddComment(1, "mona", "/gavel cancel")
	w.hint()
	w.idle()
	release()
	w.wantGroups(map[string]string{"one": "error: cancelled by mona; /gavel run judges it"})
	if left := w.pending(); len(left) > 0 {
		t.Errorf("pending are %q, want none", left)
	}
	w.forge.AddComment(1, "mona", "/gavel run")
	w.hint()
	w.idle()
	w.wantGroups(map[string]string{"one": "success: no regressions · 1 of 1 case rerun · score 1.000, unchanged"})
}

// TestGroupStatusesClosed: a closed pull request does not wait for its group statuses,
// and its verdict says so.
func TestGroupStatusesClosed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, ofGroups)
	release := w.judging()
	w.pull("one", forgetest.Pull{Closed: true})
	w.hint()
	w.idle()
	release()
	w.poll()
	w.idle()
	w.wantGroups(map[string]string{"one": ""})
	if got := w.says("one"); got != "the pull request was closed" {
		t.Errorf("one says %q", got)
	}
}
