package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// queue puts a commit into the merge queue, in the name of pull request 1.
func (w *fixture) queue(commit string) (branch string) {
	w.t.Helper()
	branch = "gh-readonly-queue/main/pr-1-" + w.commits["main"]
	w.move("refs/heads/"+branch, commit)
	return branch
}

func (w *fixture) drop(branch string) {
	w.t.Helper()
	if err := w.repo.Storer.RemoveReference(refName("refs/heads/" + branch)); err != nil {
		w.t.Fatal(err)
	}
}

// hintQueue reports a merge group as the forge does.
func (w *fixture) hintQueue(branch string) {
	w.t.Helper()
	if err := w.server.Enqueue(forge.Hint{Repository: 1, Branch: "main", Head: branch, Event: forge.EventMergeGroup}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAMergeGroup gets statuses and no comment, and pays for nothing that its
// pull request has.
func TestAMergeGroup(t *testing.T) {
	for _, tt := range []struct {
		name string
		tell func(*fixture, string)
	}{
		{"hint", (*fixture).hintQueue},
		{"lost", func(w *fixture, _ string) { w.poll() }},
		{"restart", func(w *fixture, _ string) {
			w.end()
			w.start()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			w.push("one")
			w.start()
			w.idle()
			comment, asked := w.forge.Comments(1)[0], len(w.agent.asked)
			tt.tell(w, w.queue("group"))
			w.idle()
			if got := w.states("group"); got != "success success" || w.says("group") == "no affected cases" {
				t.Errorf("the states of the group are %q, it says %q", got, w.says("group"))
			}
			if again := w.forge.Comments(1)[0]; again != comment {
				t.Errorf("the comment was\n%+v\nand is\n%+v", comment, again)
			}
			if more := w.agent.asked[asked:]; len(more) != 0 {
				t.Errorf("asked %q, which the pull request knows", more)
			}
			w.want("one", "success success")
		})
	}
}

// TestAGroupThatIsGone is not waited for, and what runs for it ends.
func TestAGroupThatIsGone(t *testing.T) {
	w := newFixture(t)
	w.slow = true
	w.start()
	w.idle()
	release := w.agent.block()
	branch := w.queue("later")
	w.hintQueue(branch)
	<-w.agent.held
	w.becomes("later", "success pending")
	w.drop(branch)
	w.poll()
	w.idle()
	release()
	if w.states("later") != "success error" || w.says("later") != "the branch is gone" {
		t.Errorf("it is %q and says %q, want an error, since the branch is gone:\n%s", w.states("later"), w.says("later"), strings.Join(w.lines, "\n"))
	}
	w.hintQueue(branch) // late
	w.idle()
	if w.states("later") != "success error" {
		t.Errorf("it is %q after a late hint, want it to stay an error", w.states("later"))
	}
	if n := w.logged(branch + "}: "); n != 1 {
		t.Errorf("%d looks at the branch failed, want only the one that was ended:\n%s", n, strings.Join(w.lines, "\n"))
	}
}

// TestAGroupWithAnotherBase is compared with the base branch where the commit that
// it names as its base is not below it.
func TestAGroupWithAnotherBase(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.push("two")
	w.start()
	w.idle() // the clone has two
	branch := "gh-readonly-queue/main/pr-1-" + w.commits["two"]
	w.move("refs/heads/"+branch, "one")
	w.hintQueue(branch)
	w.idle()
	if got, want := w.says("one"), "1 of 1 case rerun"; !strings.Contains(got, want) {
		t.Errorf("the group says %q, want %q: compared with main it changes the case", got, want)
	}
}

// TestAGroupWaitsForTheForge: a merge group is not red while the forge does not say what was
// accepted, since nothing brings a red one back into the queue.
func TestAGroupWaitsForTheForge(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	if got := w.comment("mona", "/gavel accept talk/level_1/hello we say bye"); got != "+1" {
		t.Fatalf("reactions %q", got)
	}
	w.commits["merged"] = gittest.Run(t, w.folder, "-c", "user.name=a", "-c", "user.email=a@example.org",
		"commit-tree", w.commits["two"]+"^{tree}", "-p", w.commits["main"], "-m", "merged")
	w.forge.Inject(forgetest.Fault{Method: "GET", Path: "/pulls/1", Status: http.StatusBadGateway, Times: -1})
	w.hintQueue(w.queue("merged"))
	w.idle()
	w.forge.Heal()
	w.poll()
	w.idle()
	if got := w.states("merged"); got != "success success" {
		t.Errorf("the group is %q once the forge answers", got)
	}
	for _, s := range w.forge.Statuses(w.commits["merged"]) {
		if s.State == "failure" {
			t.Errorf("while the forge does not answer, %s is a failure: %s", s.Context, s.Description)
		}
	}
}

// TestAcceptedInTheQueue: what was accepted at the head of a pull request does not fail its
// merge group, and does again after a push.
func TestAcceptedInTheQueue(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	if got := w.comment("mona", "/gavel accept talk/level_1/hello we say bye"); got != "+1" {
		t.Fatalf("reactions %q", got)
	}
	w.hintQueue(w.queue("worse"))
	w.idle()
	if got := w.states("worse"); got != "success failure" {
		t.Errorf("a group with another result of the case is %q, want a failure: nobody has seen it", got)
	}
	w.hintQueue(w.queue("two"))
	w.idle()
	if got, says := w.states("two"), w.says("two"); got != "success success" || !strings.Contains(says, "1 accepted case") {
		t.Errorf("the group is %q and says %q, want a success with 1 accepted case", got, says)
	}
	w.push("one")
	w.hint()
	w.idle()
	w.hintQueue(w.queue("two"))
	w.idle()
	if got := w.states("two"); got != "success failure" {
		t.Errorf("after a push the group is %q, want a failure", got)
	}
}

// TestTargetChangesAcceptedInTheQueue: changes of targets that were accepted at a head are
// accepted in its commit of the queue, and others are not.
func TestTargetChangesAcceptedInTheQueue(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "cheat", forgetest.Pull{})
	for _, accept := range []string{"gavel.yaml", "talk/level_1/hello"} {
		if got := w.comment("mona", "/gavel accept "+accept+" it is meant"); got != "+1" {
			t.Fatalf("%s: reactions %q", accept, got)
		}
	}
	for _, tt := range []struct{ commit, states, says string }{
		{"cheat", "success success", "1 accepted case"},
		{"others", "success error", "gavel.yaml changes replies changed of the target bot, and that is not jud"},
	} {
		w.hintQueue(w.queue(tt.commit))
		w.idle()
		if got, says := w.states(tt.commit), w.says(tt.commit); got != tt.states || !strings.Contains(says, tt.says) {
			t.Errorf("the group %s is %q and says %q, want %q and %q", tt.commit, got, says, tt.states, tt.says)
		}
	}
}
