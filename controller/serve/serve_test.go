package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/serve"
	"github.com/gavel-evals/gavel/reporters/comment"
)

// TestAPullRequestGetsItsVerdict, and base its part of it.
func TestAPullRequestGetsItsVerdict(t *testing.T) {
	w := newFixture(t)
	w.push("one")
	w.start()
	w.idle()
	w.want("one", "success success")
	if !w.server.Ready() {
		t.Error("it is not ready after everything was looked through")
	}
	if got := w.states("main"); got != "success success" {
		t.Errorf("the states of main are %q", got)
	}
}

// TestEveryWayOfNews has a pull request opened, pushed to, forced back, closed,
// and opened again, and each of it told in another way.
func TestEveryWayOfNews(t *testing.T) {
	ways := map[string]func(w *fixture){
		"hint":  func(w *fixture) { w.hint() },
		"twice": func(w *fixture) { w.hint(); w.hint(); w.idle(); w.hint() },
		"lost":  func(w *fixture) { w.poll() },
		"restart": func(w *fixture) {
			w.end()
			w.start()
		},
		"restart and hint": func(w *fixture) {
			w.end()
			w.start()
			w.hint()
		},
	}
	for name, tell := range ways {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.start()
			happens := func(change func()) {
				t.Helper()
				change()
				tell(w)
				w.idle()
			}
			happens(func() { w.push("one") })
			w.want("one", "success success")
			happens(func() { w.push("two") })
			w.want("two", "success failure")
			happens(func() { w.push("one") }) // with force
			w.want("one", "success success")
			comment := w.forge.Comments(1)[0]
			happens(func() { w.pull("one", forgetest.Pull{Closed: true}) })
			happens(func() { w.pull("one", forgetest.Pull{}) })
			w.want("one", "success success")
			if again := w.forge.Comments(1)[0]; again != comment {
				t.Errorf("the comment was\n%+v\nand is\n%+v", comment, again)
			}
		})
	}
}

// TestNewsInReverse: hints say nothing, so that their order says nothing.
func TestNewsInReverse(t *testing.T) {
	w := newFixture(t)
	w.start()
	w.push("one")
	w.push("two")
	w.pull("two", forgetest.Pull{Closed: true})
	w.pull("two", forgetest.Pull{})
	for range 4 { // reopened, closed, pushed, opened
		w.hint()
	}
	w.idle()
	w.want("two", "success failure")
}

// TestNothingNewWritesNothing: to look again costs no write.
func TestNothingNewWritesNothing(t *testing.T) {
	w := newFixture(t)
	w.push("one")
	w.start()
	w.idle()
	w.writesNothing(func() {
		w.hint()
		w.idle()
		w.poll()
		w.idle()
		w.end()
		w.start()
		w.idle()
	})
	if w.judged != 2 {
		t.Errorf("%d reports, want those of the pull request and of main", w.judged)
	}
}

// TestInvalidDefinitionsAreJudgedOnce: a hint makes them no better.
func TestInvalidDefinitionsAreJudgedOnce(t *testing.T) {
	w := newFixture(t)
	w.push("broken")
	w.start()
	w.idle()
	w.want("broken", "failure failure")
	judged := w.judged
	w.writesNothing(func() { w.hint(); w.idle() })
	if w.judged != judged {
		t.Errorf("%d reports more", w.judged-judged)
	}
}

// TestADeletedCommentIsMadeAnew, each time, with a delivery or without, and with more
// pull requests than one look sees.
func TestADeletedCommentIsMadeAnew(t *testing.T) {
	for _, tt := range []struct {
		name string
		tell func(*fixture)
	}{
		{"hint", (*fixture).hint},
		{"lost", func(w *fixture) { w.poll(); w.idle(); w.poll() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.push("one")
			for n := range 15 {
				w.forge.AddPull(forgetest.Pull{Number: n + 2, HeadSHA: fmt.Sprintf("%040x", n), HeadRepo: "-", Author: "stranger", BaseSHA: w.commits["main"]})
			}
			w.forks = "never"
			w.start()
			w.idle()
			for range 2 {
				w.forge.DeleteComment(w.forge.Comments(1)[0].ID)
				tt.tell(w)
				w.idle()
				w.want("one", "success success")
			}
			w.poll() // its own comment is news
			w.poll()
			before := len(w.forge.Requests())
			w.poll()
			w.poll()
			w.idle()
			for _, r := range w.forge.Requests()[before:] {
				if strings.HasSuffix(r.Path, "/pulls/1") {
					t.Error("nothing happened, and the pull request was looked at")
				}
			}
		})
	}
}

// TestANewHeadSupersedesTheRun: the old commit says so, and never gets a comment.
func TestANewHeadSupersedesTheRun(t *testing.T) {
	for _, tt := range []struct {
		name string
		tell func(*fixture)
	}{{"hint", (*fixture).hint}, {"lost", (*fixture).poll}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			w.slow = true
			w.start()
			w.idle()
			release := w.agent.block()
			w.push("one")
			w.hint()
			<-w.agent.held // the base of one is measured, or one
			w.becomes("one", "success pending")
			w.push("two")
			tt.tell(w)
			<-w.agent.held // by the next run: the one before is over
			if want := "superseded by " + w.commits["two"][:7]; w.says("one") != want || w.states("one") != "success error" {
				t.Errorf("one says %q and is %q; want %q", w.says("one"), w.states("one"), want)
			}
			if len(w.forge.Comments(1)) != 0 {
				t.Errorf("a comment of the superseded run: %+v", w.forge.Comments(1))
			}
			release()
			w.idle()
			w.want("two", "success failure")
			// Back to the first: the interrupted one is judged now.
			w.push("one")
			tt.tell(w)
			w.idle()
			w.want("one", "success success")
		})
	}
}

// TestAClosedPullRequestEndsItsRun.
func TestAClosedPullRequestEndsItsRun(t *testing.T) {
	w := newFixture(t)
	release := w.judging()
	w.pull("one", forgetest.Pull{Closed: true})
	w.hint()
	w.idle()
	release()
	if w.says("one") != "the pull request was closed" || len(w.forge.Comments(1)) != 0 {
		t.Errorf("one says %q, comments %v", w.says("one"), w.forge.Comments(1))
	}
	w.push("one")
	w.hint()
	w.idle()
	w.want("one", "success success")
}

// TestAStopInTheMiddle leaves nothing pending, and the next start goes on.
func TestAStopInTheMiddle(t *testing.T) {
	w := newFixture(t)
	release := w.judging()
	w.end()
	release()
	if got := w.states("one"); got != "success error" || !strings.Contains(w.says("one"), "judging resumes when it restarts") {
		t.Errorf("one is %q and says %q", got, w.says("one"))
	}
	w.start()
	w.idle()
	w.want("one", "success success")
}

// TestAHeadThatNobodyNames was pending when the forge went away, and replaced
// before it came back.
func TestAHeadThatNobodyNames(t *testing.T) {
	w := newFixture(t)
	w.slow = true
	release := w.judging()
	w.becomes("one", "success pending")
	w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/statuses/" + w.commits["one"], Status: 500, Times: -1})
	w.end()
	release()
	if got := w.states("one"); got != "success pending" {
		t.Fatalf("the states of one are %q", got)
	}
	w.forge.Heal()
	w.push("two")
	w.start()
	w.idle()
	w.want("two", "success failure")
	if want := "superseded by " + w.commits["two"][:7]; w.says("one") != want {
		t.Errorf("one says %q, want %q", w.says("one"), want)
	}
}

// TestACommitThatTakesNoStatus: a passed head whose commit the forge does not take any more
// is written to once, and not at every poll.
func TestACommitThatTakesNoStatus(t *testing.T) {
	w := newFixture(t)
	w.slow = true
	release := w.judging()
	w.becomes("one", "success pending")
	status := "/statuses/" + w.commits["one"]
	w.forge.Inject(forgetest.Fault{Method: "POST", Path: status, Status: http.StatusUnprocessableEntity, Times: -1})
	w.push("two")
	w.hint()
	release()
	w.idle()
	if got := w.states("two"); got != "success failure" {
		t.Errorf("the states of two are %q", got)
	}
	written := func() (n int) {
		for _, r := range w.forge.Writes() {
			if strings.HasSuffix(r.Path, status) {
				n++
			}
		}
		return n
	}
	w.poll()
	w.idle()
	before := written()
	for range 3 {
		w.poll()
		w.idle()
	}
	if n := written(); n != before {
		t.Errorf("three polls write %d times to a commit that takes nothing", n-before)
	}
	if left := w.pending(); len(left) > 0 {
		t.Errorf("pending are %q, want none", left)
	}
}

// TestAbuseForksSpendLittle gives strangers what the operator allows.
func TestAbuseForksSpendLittle(t *testing.T) {
	for _, tt := range []struct{ forks, want string }{
		{"approve", "until somebody with write permission approves"},
		{"plan", "validated and planned only"},
		{"never", "not judged: the head comes from the fork stranger/demo"},
	} {
		t.Run(tt.forks, func(t *testing.T) {
			w := newFixture(t)
			w.forks = tt.forks
			w.start()
			w.idle()
			asked := len(w.agent.asked)
			w.pull("one", forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"})
			w.hint()
			w.idle()
			comments := w.forge.Comments(1)
			text := w.says("one")
			if tt.forks == "never" {
				if len(comments) != 0 || w.states("one") != "error error" {
					t.Errorf("comments %v, states %q", comments, w.states("one"))
				}
			} else if len(comments) == 1 {
				text = comments[0].Body
			}
			if !strings.Contains(text, tt.want) || tt.forks == "plan" && strings.Contains(text, "approves") {
				t.Errorf("it says\n%s\nwant %q", text, tt.want)
			}
			if len(w.agent.asked) != asked {
				t.Errorf("a stranger had %q asked", w.agent.asked[asked:])
			}
			if strings.Contains(w.states("one"), "pending") || strings.HasSuffix(w.states("one"), "success") {
				t.Errorf("states %q", w.states("one"))
			}
		})
	}
}

// TestTheForgeIsAway for a while: its verdicts are published when it is back, and no
// call is repeated.
func TestTheForgeIsAway(t *testing.T) {
	w := newFixture(t)
	w.start()
	w.idle()
	for _, method := range []string{"POST", "PATCH"} {
		w.forge.Inject(forgetest.Fault{Method: method, Status: 500, Times: -1, Body: "{}"})
	}
	w.push("one")
	w.hint()
	w.idle()
	if len(w.forge.Comments(1)) != 0 {
		t.Fatalf("comments %v", w.forge.Comments(1))
	}
	w.forge.Heal()
	w.end()
	w.start()
	w.idle()
	w.want("one", "success success")
}

// TestAStopWhileTheForgeHangs does not wait for it: missing statuses are published
// after the next start.
func TestAStopWhileTheForgeHangs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configure = func(cfg *serve.Config) { cfg.ShutdownTimeout = time.Millisecond }
	release := w.judging()
	before := len(w.forge.Requests())
	w.forge.Inject(forgetest.Fault{Hang: true, Times: -1})
	w.end()
	release()
	if more := w.forge.Requests()[before:]; len(more) > 1 {
		t.Errorf("asked again and again: %v", more)
	}
	w.forge.Heal()
	w.start()
	w.idle()
	w.want("one", "success success")
}

// TestACommentThatSomebodyEdited is put right at the next poll, also among many pull requests.
func TestACommentThatSomebodyEdited(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.push("one")
	for n := range 40 {
		w.forge.AddPull(forgetest.Pull{Number: n + 2, HeadSHA: w.commits["two"], HeadRef: "two", BaseSHA: w.commits["main"]})
	}
	w.start()
	w.idle()
	for _, text := range []string{"### ✅ No regressions", comment.Marker + "\n### ✅ No regressions"} {
		written := w.forge.Comments(1)[0]
		w.forge.EditComment(written.ID, text)
		w.poll()
		w.idle()
		if now := w.forge.Comments(1); len(now) != 1 || now[0].Body != written.Body {
			t.Errorf("the comments are %+v, want the one that gavel wrote", now)
		}
	}
}
