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
func (w *world) logged(what string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if strings.Contains(line, what) {
			n++
		}
	}
	return n
}

// unheard fails where the news of a wish is kept that nobody waits for.
func (w *world) unheard() {
	w.t.Helper()
	if left, err := filepath.Glob(filepath.Join(w.dir, "unfinished", "*")); err != nil || len(left) > 0 {
		w.t.Errorf("left over: %v, %v", left, err)
	}
}

// TestAWishIsFound for a head and a base branch, whatever became of the news of
// it, and is answered once without a call.
func TestAWishIsFound(t *testing.T) {
	for name, lost := range map[string]func(w *world){
		"by polling":      (*world).poll,
		"after a restart": func(w *world) { w.end(); w.start() },
		"after a restart in the middle": func(w *world) {
			w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/check-runs", Status: 500, Times: -1})
			w.tell("one")
			w.tell("main")
			w.idle()
			w.end()
			w.forge.Heal()
			w.start()
		},
		"asked for twice": func(w *world) {
			for range 2 {
				w.tell("one")
				w.tell("main")
			}
			w.poll()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAppWorld(t)
			w.push("one")
			w.start()
			w.idle()
			asked := len(w.agent.asked)
			w.forge.Rerequest(w.commits["one"])
			w.forge.Rerequest(w.commits["main"])
			lost(w)
			w.idle()
			w.poll()
			w.idle()
			for _, commit := range []string{"one", "main"} {
				if got := w.check(commit); got != "success 1, success 1" {
					t.Errorf("the check runs of %s are %q", commit, got)
				}
			}
			if len(w.agent.asked) != asked {
				t.Errorf("asked %q", w.agent.asked[asked:])
			}
			w.unheard()
			w.want("one", "success success")
		})
	}
}

// TestAWishForAnOldCommit is answered there, with what is stored of it, and
// nowhere else.
func TestAWishForAnOldCommit(t *testing.T) {
	for name, tt := range map[string]struct {
		asked string
		then  func(w *world)
		want  string
	}{
		"of a pull request": {"two", func(w *world) { w.push("later"); w.hint() }, "failure 1, failure 1"},
		"of a closed one":   {"two", func(w *world) { w.pull("two", forgetest.Pull{Closed: true}); w.hint() }, "failure 1, failure 1"},
		"of base":           {"main", func(w *world) { w.move("refs/heads/main", "settings"); w.poll() }, "success 1, success 1"},
		"that base has now": {"two", func(w *world) {
			w.pull("two", forgetest.Pull{Closed: true})
			w.move("refs/heads/main", "two")
			w.poll()
		}, "failure 1, failure 1, failure 1"},
		"without a report": {"two", func(w *world) {
			w.push("later")
			w.end()
			if err := os.Remove(filepath.Join(w.dir, "ledger.db")); err != nil {
				w.t.Fatal(err)
			}
			w.start()
		}, "failure 1, cancelled 1, cancelled 1"},
		"while the forge was away": {"two", func(w *world) {
			w.push("later")
			w.hint()
			w.idle()
			w.forge.Inject(forgetest.Fault{Path: "/check-suites", Status: 500, Times: -1})
			w.rerequest("two")
			w.end()
			w.forge.Heal()
			w.start()
		}, "failure 1, failure 1"},
		"while the repository could not be reached": {"two", func(w *world) {
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAppWorld(t)
			w.push("two")
			w.start()
			w.idle()
			tt.then(w)
			w.idle()
			before, asked := len(w.forge.Writes()), len(w.agent.asked)
			if !strings.HasPrefix(name, "while ") {
				w.rerequest(tt.asked)
			}
			if name == "without a report" { // and once more
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
			if runs := w.forge.CheckRuns(w.commits[tt.asked]); name == "without a report" && !strings.Contains(runs[len(runs)-1].Output.Title, "superseded by "+w.commits["later"][:7]) {
				t.Errorf("it says %+v", runs[len(runs)-1].Output)
			}
			if len(w.agent.asked) != asked {
				t.Errorf("asked %q", w.agent.asked[asked:])
			}
			w.unheard()
		})
	}
}

// TestAWishWhileItIsJudged is answered by the run that is under way where that
// says something new, and else once it is over.
func TestAWishWhileItIsJudged(t *testing.T) {
	for name, says := range map[string]string{"the same": "", "something new": "nothing of use"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAppWorld(t)
			release := w.judging()
			w.forge.Rerequest(w.commits["one"])
			w.tell("one") // there is no check run yet
			release()
			w.idle()
			if got := w.check("one"); got != "success 1" {
				t.Fatalf("the check runs are %q", got)
			}
			w.poll() // it is among the heads from now on
			w.agent.mu.Lock()
			w.agent.says = says
			w.agent.mu.Unlock()
			release = w.agent.block()
			w.forge.AddComment(1, "maintainer", "/gavel run talk/**")
			w.hint()
			<-w.agent.held
			w.forge.Rerequest(w.commits["one"])
			before := len(w.forge.Requests())
			w.poll()
			for _, r := range w.forge.Requests()[before:] {
				if strings.HasSuffix(r.Path, w.commits["one"]+"/check-suites") {
					t.Error("it is asked who wants what is about to be answered")
				}
			}
			w.tell("one")
			release()
			w.idle()
			if got := len(w.forge.CheckRuns(w.commits["one"])); got != 2 {
				t.Errorf("the check runs are %q", w.check("one"))
			}
			w.poll()
			w.idle()
			if got := len(w.forge.CheckRuns(w.commits["one"])); got != 2 {
				t.Errorf("in the end the check runs are %q", w.check("one"))
			}
			w.unheard()
		})
	}
}

// TestAWishForWhatWasCancelled is answered, and nothing is judged.
func TestAWishForWhatWasCancelled(t *testing.T) {
	w := newAppWorld(t)
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
	if got := w.check("one"); got != "success 1, success 1" || len(w.agent.asked) != asked {
		t.Errorf("the check runs are %q, asked %q", got, w.agent.asked[asked:])
	}
}

// TestWishesThatMayNotBeAsked break nothing, and that is told once.
func TestWishesThatMayNotBeAsked(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			w := newAppWorld(t)
			w.forge.Inject(forgetest.Fault{Path: "/check-suites", Status: status, Times: -1})
			w.push("two")
			w.start()
			w.idle()
			for range 3 {
				w.rerequest("two")
				w.poll()
				w.idle()
			}
			w.want("two", "success failure")
			if got := w.check("two"); got != "failure 1" {
				t.Errorf("the check runs are %q", got)
			}
			if n := w.logged(fmt.Sprintf(": %d ", status)); n != 1 {
				t.Errorf("the log says it %d times:\n%s", n, strings.Join(w.lines, "\n"))
			}
		})
	}
}

// TestNoStormOfWishes: nothing that did not change costs anything, many heads
// take turns, and a forge that shows a wish for ever is answered once.
func TestNoStormOfWishes(t *testing.T) {
	t.Run("unchanged", func(t *testing.T) {
		t.Parallel()
		w := newAppWorld(t)
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
			if paid := len(all) - (w.forge.Unchanged() - free); len(all) < 5 || paid != 0 {
				t.Errorf("%d requests cost something of %v", paid, all)
			}
		}
	})
	t.Run("many", func(t *testing.T) {
		t.Parallel()
		w := newAppWorld(t)
		w.forks = "never"
		const pulls = 120
		for n := range pulls {
			w.forge.AddPull(forgetest.Pull{
				Number: n + 2, HeadSHA: fmt.Sprintf("%040x", n+2), HeadRef: "x", HeadRepo: "stranger/demo", Author: "stranger", BaseSHA: w.commits["main"],
			})
		}
		w.start()
		w.idle()
		heads := map[string]bool{}
		for _, want := range []int{100, pulls + 1} { // with main
			before := len(w.forge.Requests())
			w.poll()
			asked := 0
			for _, r := range w.forge.Requests()[before:] {
				if strings.HasSuffix(r.Path, "/check-suites") {
					heads[r.Path] = true
					asked++
				}
			}
			if asked != 100 || len(heads) != want {
				t.Errorf("%d heads asked for, %d so far, want %d", asked, len(heads), want)
			}
		}
	})
	t.Run("never settled", func(t *testing.T) {
		t.Parallel()
		w := newAppWorld(t)
		w.push("one")
		w.start()
		w.idle()
		w.forge.Inject(forgetest.Fault{
			Path: w.commits["one"] + "/check-suites", Status: http.StatusOK, Times: -1,
			Body: fmt.Sprintf(`{"check_suites": [{"id": %d, "status": "queued"}]}`, w.forge.CheckRuns(w.commits["one"])[0].Suite.ID),
		})
		for range 3 {
			w.poll()
			w.idle()
		}
		if got := w.check("one"); got != "success 1, success 1" || w.logged("queued still") != 1 {
			t.Errorf("the check runs are %q; the log:\n%s", got, strings.Join(w.lines, "\n"))
		}
		w.tell("one") // somebody asks once more
		w.idle()
		if got := w.check("one"); got != "success 1, success 1, success 1" {
			t.Errorf("asked for, the check runs are %q", got)
		}
	})
}
