package serve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// hintPush reports a push to main as the forge does.
func (w *fixture) hintPush() {
	w.t.Helper()
	if err := w.server.Enqueue(forge.Hint{Repository: 1, Branch: "main", Event: forge.EventPush}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAPushToBase is judged against the last judged commit, and a pull request upon it
// finds base's verdicts.
func TestAPushToBase(t *testing.T) {
	restart := func(w *fixture) {
		w.end()
		w.start()
	}
	for _, tt := range []struct {
		name string
		tell func(*fixture)
		// shallow says that the git server sends single commits.
		shallow bool
	}{
		{"hint", (*fixture).hintPush, false},
		{"lost", (*fixture).poll, false},
		{"restart", restart, false},
		{"hint of single commits", (*fixture).hintPush, true},
		{"restart of single commits", restart, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			if tt.shallow {
				gittest.Run(t, w.folder, "config", "uploadpack.allowReachableSHA1InWant", "true")
				w.forge.CloneURL = gittest.Backend(t, w.folder)
			}
			w.start()
			w.idle()
			for _, push := range []struct{ commit, states string }{{"one", "success success"}, {"two", "success failure"}} {
				w.move("refs/heads/main", push.commit)
				tt.tell(w)
				w.idle()
				if got := w.states(push.commit); got != push.states {
					t.Errorf("the states of %s are %q, want %q", push.commit, got, push.states)
				}
			}
			asked := len(w.agent.asked)
			w.pull("later", forgetest.Pull{BaseSHA: w.commits["two"]})
			w.hint()
			w.idle()
			w.want("later", "success success")
			if more := w.agent.asked[asked:]; !slices.Equal(more, []string{"later"}) {
				t.Errorf("the pull request asked %q, and base is known", more)
			}
		})
	}
}

// TestAPushOfSettings is judged by them: the pull requests upon it will be.
func TestAPushOfSettings(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.move("refs/heads/main", "group")
	w.start()
	w.idle()
	w.move("refs/heads/main", "settings")
	w.hintPush()
	w.idle()
	if got := w.states("settings"); got != "success success" {
		t.Errorf("the states are %q", got)
	}
	asked := len(w.agent.asked)
	w.pull("after", forgetest.Pull{BaseSHA: w.commits["settings"]})
	w.hint()
	w.idle()
	if more := w.agent.asked[asked:]; !slices.Equal(more, []string{"after"}) {
		t.Errorf("the pull request asked %q, and base is known", more)
	}
	// The stored report has the result that would be published again.
	judged := w.judged
	w.writesNothing(func() { w.hintPush(); w.idle() })
	if w.judged != judged {
		t.Errorf("%d reports more", w.judged-judged)
	}
}

// TestTheFirstCommit is judged, although there is nothing to compare it with.
func TestTheFirstCommit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	main, err := w.repo.CommitObject(hash(w.commits["main"]))
	if err != nil {
		t.Fatal(err)
	}
	w.commits["start"] = main.ParentHashes[0].String()
	w.move("refs/heads/main", "start")
	w.start()
	w.idle()
	if got := w.states("start"); got != "failure failure" || w.says("start") == "" {
		t.Errorf("the states are %q: %s", got, w.says("start"))
	}
	judged := w.judged
	w.hintPush()
	w.idle()
	if w.judged != judged {
		t.Errorf("it was judged again")
	}
}

// TestABranchThatNobodyJudged is judged as a whole, although its last commit changes no case.
// The commit is not what a failing case fails for.
func TestABranchThatNobodyJudged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	again := func(commit string) string {
		return strings.TrimSpace(gittest.Run(t, w.folder, "-c", "user.name=ada", "-c", "user.email=ada@example.com", "commit-tree", commit+"^{tree}", "-p", commit, "-m", "again"))
	}
	w.commits["again"] = again(w.commits["two"])
	w.commits["once more"] = again(w.commits["again"])
	w.move("refs/heads/main", "again")
	w.start()
	w.idle()
	if got := w.states("again"); got != "success success" || !slices.Equal(w.agent.asked, []string{"two"}) {
		t.Errorf("the states are %q, and %q was asked", got, w.agent.asked)
	}
	if said := w.says("again"); !strings.Contains(said, "1 of 1 case rerun") || !strings.Contains(said, "score 0.000") {
		t.Errorf("the status says %q", said)
	}
	w.move("refs/heads/main", "once more")
	w.hintPush()
	w.idle()
	if said := w.says("once more"); len(w.agent.asked) != 1 || !strings.Contains(said, "score 0.000") {
		t.Errorf("after a commit that changes nothing %q was asked: %s", w.agent.asked, said)
	}
}

// TestABranchThatIsRestored: a pull request without its base branch says so, and is judged
// when the branch is there again, which changes nothing of the pull request.
func TestABranchThatIsRestored(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pull("two", forgetest.Pull{BaseRef: "dev"})
	w.start()
	w.idle()
	if got, says := w.states("two"), w.says("two"); got != "error error" || !strings.Contains(says, "the branch dev is gone") {
		t.Errorf("without its base branch it is %q and says %q", got, says)
	}
	w.writesNothing(func() { w.poll(); w.idle() })
	w.move("refs/heads/dev", "main")
	w.poll()
	w.idle()
	w.want("two", "success failure")
}
