package serve_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// logged counts the lines of the log that say something.
func (w *fixture) logged(what string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if strings.Contains(line, what) {
			n++
		}
	}
	return n
}

// nonePending fails where the ledger keeps a request that nobody waits for.
func (w *fixture) nonePending() {
	w.t.Helper()
	if left := w.pending(); len(left) > 0 {
		w.t.Errorf("pending are %q, want none", left)
	}
}

// TestARerunIsRequested for a head and a base branch, and is answered once, without
// a call.
func TestARerunIsRequested(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(w *fixture)
	}{
		{"once", func(*fixture) {}},
		{"before a restart", func(w *fixture) { w.end(); w.start() }},
		{"twice", func(w *fixture) {
			w.tell("one")
			w.tell("main")
			w.poll()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAppFixture(t)
			w.push("one")
			w.start()
			w.idle()
			asked := len(w.agent.asked)
			w.forge.Rerequest(w.commits["one"])
			w.forge.Rerequest(w.commits["main"])
			if tt.name == "before a restart" {
				w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/check-runs", Status: 500, Times: -1})
			}
			w.tell("one")
			w.tell("main")
			if tt.name == "before a restart" {
				w.idle()
				w.forge.Heal()
			}
			tt.then(w)
			w.idle()
			w.poll()
			w.idle()
			for _, commit := range []string{"one", "main"} {
				if got, want := w.check(commit), "success 1, success 1"; got != want {
					t.Errorf("the check runs of %s are %q, want %q", commit, got, want)
				}
			}
			if len(w.agent.asked) != asked {
				t.Errorf("the agent was asked %q again, want nothing", w.agent.asked[asked:])
			}
			w.nonePending()
			w.want("one", "success success")
		})
	}
}

// TestARerunOfAnOldCommit is answered there, from its stored report, and nowhere else.
func TestARerunOfAnOldCommit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		asked string
		then  func(w *fixture)
		want  string
	}{
		{"of a pull request", "two", func(w *fixture) { w.push("later"); w.hint() }, "failure 1, failure 1"},
		{"of a closed one", "two", func(w *fixture) { w.pull("two", forgetest.Pull{Closed: true}); w.hint() }, "failure 1, failure 1"},
		{"of base", "main", func(w *fixture) { w.move("refs/heads/main", "settings"); w.poll() }, "success 1, success 1"},
		{"that base has now", "two", func(w *fixture) {
			w.pull("two", forgetest.Pull{Closed: true})
			w.move("refs/heads/main", "two")
			w.poll()
		}, "failure 1, failure 1, failure 1"},
		{"without a report", "two", func(w *fixture) {
			w.push("later")
			w.end()
			if err := os.Remove(filepath.Join(w.dir, "ledger.db")); err != nil {
				w.t.Fatal(err)
			}
			w.start()
		}, "failure 1, cancelled 1, cancelled 1"},
		{"of a closed one without a report", "two", func(w *fixture) {
			w.pull("two", forgetest.Pull{Closed: true})
			w.end()
			if err := os.Remove(filepath.Join(w.dir, "ledger.db")); err != nil {
				w.t.Fatal(err)
			}
			w.start()
		}, "failure 1, cancelled 1"},
		{"while the forge was away", "two", func(w *fixture) {
			w.push("later")
			w.hint()
			w.idle()
			w.forge.Inject(forgetest.Fault{Path: "/check-suites", Status: 500, Times: -1})
			w.rerequest("two")
			w.end()
			w.forge.Heal()
			w.start()
		}, "failure 1, failure 1"},
		{"while the repository could not be reached", "two", func(w *fixture) {
			w.push("later")
			w.hint()
			w.idle()
			w.end()
			w.forge.Inject(forgetest.Fault{Status: 500, Times: -1})
			w.start()
			w.rerequest("two")
			w.forge.Heal()
			w.poll()
		}, "failure 1, failure 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAppFixture(t)
			w.push("two")
			w.start()
			w.idle()
			tt.then(w)
			w.idle()
			before, asked := len(w.forge.Writes()), len(w.agent.asked)
			if !strings.HasPrefix(tt.name, "while ") {
				w.rerequest(tt.asked)
			}
			if tt.name == "without a report" { // and once more
				w.rerequest(tt.asked)
			}
			w.rerequest("group") // which nobody knows
			if got := w.check(tt.asked); got != tt.want {
				t.Errorf("the check runs are %q, want %q", got, tt.want)
			}
			for _, r := range w.forge.Writes()[before:] {
				if !strings.Contains(string(r.Body), w.commits[tt.asked]) || !strings.HasSuffix(r.Path, "/check-runs") {
					t.Errorf("%s wrote %s", r, r.Body)
				}
			}
			if runs := w.forge.CheckRuns(w.commits[tt.asked]); tt.name == "without a report" && !strings.Contains(runs[len(runs)-1].Output.Title, "superseded by "+w.commits["later"][:7]) {
				t.Errorf("it says %+v", runs[len(runs)-1].Output)
			}
			if tt.name == "of a closed one without a report" {
				const want = "the pull request was closed"
				if runs := w.forge.CheckRuns(w.commits[tt.asked]); !strings.Contains(fmt.Sprintf("%+v", runs[len(runs)-1].Output), want) {
					t.Errorf("it says %+v, want %q", runs[len(runs)-1].Output, want)
				}
			}
			if len(w.agent.asked) != asked {
				t.Errorf("asked %q", w.agent.asked[asked:])
			}
			w.nonePending()
		})
	}
}

// TestARerunWhileItIsJudged is answered by the run that is in progress where that says
// something new, and else once it is over.
func TestARerunWhileItIsJudged(t *testing.T) {
	for _, tt := range []struct{ name, says string }{{"the same", ""}, {"something new", "nothing of use"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newAppFixture(t)
			release := w.judging()
			w.forge.Rerequest(w.commits["one"])
			w.tell("one") // there is no check run yet
			release()
			w.idle()
			if got := w.check("one"); got != "success 1" {
				t.Fatalf("the check runs are %q, want one", got)
			}
			w.agent.mu.Lock()
			w.agent.says = tt.says
			w.agent.mu.Unlock()
			release = w.agent.block()
			w.forge.AddComment(1, "maintainer", "/gavel run talk/**")
			w.hint()
			<-w.agent.held
			w.forge.Rerequest(w.commits["one"])
			w.tell("one")
			release()
			w.idle()
			w.poll()
			w.idle()
			if got := len(w.forge.CheckRuns(w.commits["one"])); got != 2 {
				t.Errorf("the check runs are %q, want two", w.check("one"))
			}
			w.nonePending()
		})
	}
}

// TestARerunOfWhatWasCancelled is answered, and nothing is judged.
func TestARerunOfWhatWasCancelled(t *testing.T) {
	w := newAppFixture(t)
	w.push("one")
	w.start()
	w.idle()
	release := w.agent.block()
	w.forge.AddComment(1, "maintainer", "/gavel run talk/**")
	w.hint()
	<-w.agent.held
	w.forge.AddComment(1, "maintainer", "/gavel cancel")
	w.hint()
	w.idle()
	release()
	asked := len(w.agent.asked)
	w.rerequest("one")
	w.poll()
	w.idle()
	if got, want := w.check("one"), "success 1, success 1"; got != want || len(w.agent.asked) != asked {
		t.Errorf("the check runs are %q, want %q; the agent was asked %q, want nothing", got, want, w.agent.asked[asked:])
	}
}

// TestRerunsThatTheForgeRefuses break nothing. A refusal ends the request, and is
// logged; after a failure it stays.
func TestRerunsThatTheForgeRefuses(t *testing.T) {
	for _, tt := range []struct{ status, logged, pending int }{
		{http.StatusForbidden, 3, 0}, {http.StatusNotFound, 3, 0}, {http.StatusInternalServerError, 0, 1},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			w := newAppFixture(t)
			w.forge.Inject(forgetest.Fault{Path: "/check-suites", Status: tt.status, Times: -1})
			w.push("two")
			w.start()
			w.idle()
			for range 3 {
				w.rerequest("two")
			}
			w.want("two", "success failure")
			if got, want := w.check("two"), "failure 1"; got != want {
				t.Errorf("the check runs are %q, want %q", got, want)
			}
			if n := w.logged("is not made again"); n != tt.logged {
				t.Errorf("the log has %d refusals, want %d:\n%s", n, tt.logged, strings.Join(w.lines, "\n"))
			}
			if left := w.pending(); len(left) != tt.pending {
				t.Errorf("pending are %q, want %d", left, tt.pending)
			}
		})
	}
}

// TestAForgeThatNeverSettlesARerun gets one check run for each request, however
// often it is polled.
func TestAForgeThatNeverSettlesARerun(t *testing.T) {
	t.Parallel()
	w := newAppFixture(t)
	w.push("one")
	w.start()
	w.idle()
	w.forge.Inject(forgetest.Fault{
		Path: w.commits["one"] + "/check-suites", Status: http.StatusOK, Times: -1,
		Body: fmt.Sprintf(`{"check_suites": [{"id": %d, "status": "queued"}]}`, w.forge.CheckRuns(w.commits["one"])[0].Suite.ID),
	})
	want := "success 1"
	for range 2 {
		w.tell("one")
		w.idle()
		want += ", success 1"
		for range 3 {
			w.poll()
			w.idle()
		}
		if got := w.check("one"); got != want {
			t.Errorf("the check runs are %q, want %q", got, want)
		}
	}
}

// TestAPollWithoutNews costs nothing, and asks nothing about check runs.
func TestAPollWithoutNews(t *testing.T) {
	t.Parallel()
	w := newAppFixture(t)
	w.push("one")
	w.start()
	w.idle()
	w.poll() // its own comment is news
	w.poll()
	for range 2 {
		before, free := len(w.forge.Requests()), w.forge.Unchanged()
		w.poll()
		w.idle()
		all := w.forge.Requests()[before:]
		if paid := len(all) - (w.forge.Unchanged() - free); len(all) < 3 || paid != 0 {
			t.Errorf("%d requests cost something of %v, want none of at least 3", paid, all)
		}
	}
	for _, r := range w.forge.Requests() {
		if strings.Contains(r.Path, "/check-suites") {
			t.Errorf("nobody requested a check run again, and the forge was asked %s", r)
		}
	}
}
