package serve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// stack has the commit docs upon two, and pull requests of it: #1 goes to main, where two
// is a regression, #2 to part1, which has two already, and #9 is a stranger's.
func (w *fixture) stack() map[int]forgetest.Pull {
	w.t.Helper()
	gittest.Run(w.t, w.folder, "checkout", "-q", "-f", "two")
	w.commits["docs"] = gittest.Commit(w.t, w.folder, map[string]string{"docs.md": "words"})
	w.move("refs/heads/part1", "two")
	w.move("refs/heads/topic", "docs")
	head, main, part := w.commits["docs"], w.commits["main"], w.commits["two"]
	return map[int]forgetest.Pull{
		1: {Number: 1, HeadSHA: head, HeadRef: "topic", BaseSHA: main},
		2: {Number: 2, HeadSHA: head, HeadRef: "topic", BaseSHA: part, BaseRef: "part1"},
		9: {Number: 9, HeadSHA: head, HeadRef: "topic", BaseSHA: main, HeadRepo: "stranger/demo", Author: "stranger"},
	}
}

// shows are state and description of the last status of docs in a context.
func (w *fixture) shows(context string) string {
	said := ""
	for _, s := range w.forge.Statuses(w.commits["docs"]) {
		if s.Context == context {
			said = s.State + ": " + s.Description
		}
	}
	return said
}

// TestAbuseACommitOfSeveral: whatever happens to the pull requests of a commit, and in
// whatever order, its statuses and its check run say the worst of theirs. (abuse 38)
func TestAbuseACommitOfSeveral(t *testing.T) {
	const (
		alone  = "failure: 1 regression"
		fails  = "failure: fails in #1 · 1 regression"
		passes = "success: no affected cases"
		waits  = "error: waits in #9: close #9 or approve it · "
	)
	type step struct{ does, says string }
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"the failing one first", []step{{"open 1", alone}, {"open 2", fails}, {"hint 2", fails}, {"hint 1", fails}}},
		{"the passing one first", []step{{"open 2", passes}, {"open 1", fails}, {"hint 2", fails}}},
		{"both at once", []step{{"open 1 2", fails}}},
		{"closed and reopened", []step{{"open 1 2", fails}, {"close 1", passes}, {"open 1", fails}, {"close 2", alone}, {"close 1", alone}}},
		{"moved on and back", []step{{"open 1 2", fails}, {"move 1", passes}, {"open 1", fails}, {"move 2", alone}}},
		{"a stranger's", []step{{"open 2", passes}, {"open 9", waits}, {"hint 2", waits}, {"open 1", fails}, {"close 1", waits}, {"close 9", passes}}},
		{"an approval", []step{{"open 2", passes}, {"open 9", waits}, {"approve 9", "failure: fails in #9 · 1 regression"}, {"close 9", passes}}},
		{"closed while the server is down", []step{{"open 1 2", fails}, {"down close 1", passes}}},
		{"opened while the server is down", []step{{"open 2", passes}, {"down open 1", fails}}},
		{"a branch", []step{{"open 1", alone}, {"branch", fails}, {"restart", fails}, {"close 1", "failure: "}}},
	} {
		for _, as := range []string{"token", "App", "Gitea"} {
			t.Run(tt.name+", "+as, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				switch as {
				case "App":
					w = newAppFixture(t)
				case "Gitea":
					w.forge.URL += "/api/v1"
				}
				w.forge.SetPermission("maintainer", "admin")
				w.forge.SetPermission("mona", "write")
				pulls := w.stack()
				w.start()
				w.idle()
				for i, s := range tt.steps {
					w.does(pulls, s.does)
					w.idle()
					if got := w.shows("gavel/verdict"); !strings.HasPrefix(got, s.says) {
						t.Fatalf("step %d, %s: the verdict is %q, want %q", i, s.does, got, s.says)
					}
					if got := w.shows("gavel/validate"); !strings.HasPrefix(got, "success: ") {
						t.Errorf("step %d, %s: validation is %q", i, s.does, got)
					}
					if as == "App" {
						runs := w.forge.CheckRuns(w.commits["docs"])
						state, _, _ := strings.Cut(w.shows("gavel/verdict"), ":")
						if got, want := runs[len(runs)-1].Conclusion, map[string]string{"failure": "failure", "error": "action_required", "success": "success"}[state]; got != want {
							t.Errorf("step %d, %s: the check run is %s, want %s", i, s.does, got, want)
						}
					}
				}
				// A restart has nothing to add.
				before := w.forge.Statuses(w.commits["docs"])
				w.end()
				w.start()
				w.idle()
				if after := w.forge.Statuses(w.commits["docs"]); len(after) > len(before) {
					t.Errorf("a restart writes %+v to\n%+v", after[len(before):], before)
				}
			})
		}
	}
}

// does has something happen on the forge, with a delivery for it unless the server is down.
func (w *fixture) does(pulls map[int]forgetest.Pull, what string) {
	w.t.Helper()
	down := strings.HasPrefix(what, "down ")
	what = strings.TrimPrefix(what, "down ")
	if down {
		w.end()
		defer w.start()
	}
	verb, rest, _ := strings.Cut(what, " ")
	switch verb {
	case "restart":
		w.end()
		w.start()
		return
	case "branch":
		w.move("refs/heads/main", "docs")
		w.hintPush()
		return
	}
	for _, word := range strings.Fields(rest) {
		var number int
		if _, err := fmt.Sscan(word, &number); err != nil {
			w.t.Fatal(err)
		}
		pull := pulls[number]
		switch verb {
		case "close":
			pull.Closed = true
		case "move":
			pull.HeadSHA = w.commits["one"]
		case "approve":
			w.forge.AddComment(number, "mona", "/gavel approve "+pull.HeadSHA)
		}
		if pull.HeadSHA == w.commits["one"] {
			w.move(fmt.Sprintf("refs/pull/%d/head", number), "one")
		} else {
			w.move(fmt.Sprintf("refs/pull/%d/head", number), "docs")
		}
		w.forge.AddPull(pull)
		if down {
			continue
		}
		if err := w.server.Enqueue(forge.Hint{Repository: 1, Number: number}); err != nil {
			w.t.Fatal(err)
		}
	}
}
