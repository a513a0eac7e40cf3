package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge"
	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// comment writes one on pull request 1, has it heard, and gives the
// reactions to it.
func (w *fixture) comment(login, body string) (reactions string) {
	w.t.Helper()
	id := w.forge.AddComment(1, login, body)
	w.hint()
	w.idle()
	return w.reactions(id)
}

func (w *fixture) reactions(id int64) string { return w.forge.Reactions(1, id, "maintainer") }

// ours are the comments of gavel with a marker.
func (w *fixture) ours(marker string) []string {
	return w.forge.Written(1, "maintainer", "<!-- gavel:"+marker)
}

// report demands that the one report on the pull request holds some words.
func (w *fixture) report(words ...string) string {
	w.t.Helper()
	reports := w.ours("report")
	if len(reports) != 1 {
		w.t.Fatalf("%d reports: %q", len(reports), reports)
	}
	for _, word := range words {
		if !strings.Contains(reports[0], word) {
			w.t.Errorf("the report has no %q:\n%s", word, reports[0])
		}
	}
	return reports[0]
}

func (w *fixture) wantStates(commit, want string) {
	w.t.Helper()
	if got := w.states(commit); got != want {
		w.t.Errorf("the states of %s are %q, want %q; log\n%s", commit, got, want, strings.Join(w.lines, "\n"))
	}
}

// count says how often a question was asked.
func (a *agent) count(question string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, q := range a.asked {
		if q == question {
			n++
		}
	}
	return n
}

// newTalk is a fixture with a pull request and people who talk about it: mona may
// write.
func newTalk(t *testing.T, commit string, p forgetest.Pull) *fixture {
	t.Helper()
	w := newFixture(t)
	w.forge.SetPermission("mona", "write")
	w.pull(commit, p)
	w.start()
	w.idle()
	return w
}

// fork is a pull request of a stranger.
var fork = forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}

func TestHelp(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "one", forgetest.Pull{})
	if got := w.comment("mona", "/gavel help"); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	w.writesNothing(func() {
		for range 2 { // the same delivery again, and after a restart
			w.hint()
			w.poll()
			w.idle()
			w.end()
			w.start()
			w.idle()
		}
	})
	if answers := w.ours("answer"); len(answers) != 1 || !strings.Contains(answers[0], "/gavel rerun failed") {
		t.Errorf("answers %q", answers)
	}
	if got := w.comment("mona", "/gavel hlep"); got != "confused" || len(w.ours("answer")) != 1 {
		t.Errorf("reactions %q, answers %q", got, w.ours("answer"))
	}
	w.report("was refused: not understood: unknown command \"hlep\"; did you mean &#96;help&#96;?")
}

// TestAbuseForgedComments has comments that must not be followed: edited, by a bot, by
// a reader, by ourselves, and texts that are not a command.
func TestAbuseForgedComments(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "one", fork)
	approve := "/gavel approve " + w.commits["one"]
	for _, test := range []struct{ name, login, body, reactions string }{
		{"a reader", "reader", approve, "-1"},
		{"the author", "stranger", approve, "-1"},
		{"a bot", "helper[bot]", approve, "-1"},
		{"ourselves", "maintainer", approve, "-1"},
		{"a quote", "mona", "> " + approve, ""},
		{"a second line", "mona", "hello\n" + approve, ""},
		{"a fence", "mona", "```\n" + approve + "\n```", ""},
	} {
		if got := w.comment(test.login, test.body); got != test.reactions {
			t.Errorf("%s: reactions %q, want %q", test.name, got, test.reactions)
		}
	}
	id := w.forge.AddComment(1, "mona", "nice work")
	w.hint()
	w.idle()
	w.forge.EditComment(id, approve)
	w.hint()
	w.idle()
	if got := w.reactions(id); got != "-1" {
		t.Errorf("edited: reactions %q", got)
	}
	w.wantStates("one", "success error")
	if n := w.agent.count("one"); n != 0 {
		t.Errorf("asked %d times", n)
	}
	w.report("until somebody with write permission approves", "gavel approve "+w.commits["one"])
}

// TestAbusePushAfterApproval: an approval is of one commit.
func TestAbusePushAfterApproval(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "one", fork)
	w.wantStates("one", "success error")
	if got := w.comment("mona", "/gavel approve "+w.commits["one"][:10]); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	w.wantStates("one", "success success")
	w.report("mona approved " + w.commits["one"][:7])
	w.pull("two", fork)
	w.hint()
	w.idle()
	w.wantStates("two", "success error")
	if w.agent.count("two") != 0 {
		t.Error("what was pushed after the approval was run")
	}
	if got := w.comment("mona", "/gavel approve "+w.commits["one"]); got != "-1" {
		t.Errorf("the commit before: reactions %q", got)
	}
	w.report("was refused: the head of this pull request is " + w.commits["two"][:12])
	// The approved commit is approved when it comes back, also after a restart.
	w.end()
	w.pull("one", fork)
	w.start()
	w.idle()
	w.wantStates("one", "success success")
	if w.agent.count("two") != 0 || w.agent.count("one") != 1 {
		t.Errorf("asked %q", w.agent.asked)
	}
	// A case that the command does not name stays out, whatever the pull request says.
	w.forge.SetPermission("mona", "read")
	w.pull("later", fork)
	if got := w.comment("mona", "/gavel approve "+w.commits["later"]); got != "-1" {
		t.Errorf("after the permission was taken away: reactions %q", got)
	}
	w.wantStates("later", "success error")
}

// TestAShortApproval of an unknown head is refused: the head may have been made to
// begin alike.
func TestAShortApproval(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "one", fork)
	w.end()
	w.pull("later", fork)
	id := w.forge.AddComment(1, "mona", "/gavel approve "+w.commits["later"][:7])
	w.start()
	w.idle()
	if got := w.reactions(id); got != "-1" {
		t.Errorf("reactions %q", got)
	}
	w.wantStates("later", "success error")
	if got := w.comment("mona", "/gavel approve "+w.commits["later"]); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	w.wantStates("later", "success success")
}

// TestTheOperatorForbids what nobody can approve.
func TestTheOperatorForbids(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.forks = "plan"
	w.forge.SetPermission("mona", "write")
	w.pull("one", fork)
	w.start()
	w.idle()
	if got := w.comment("mona", "/gavel approve "+w.commits["one"]); got != "-1" || w.agent.count("one") != 0 {
		t.Errorf("reactions %q, asked %q", got, w.agent.asked)
	}
	w.report("the operator of this server runs nothing of such pull requests")
}

func TestRerun(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	w.wantStates("two", "success failure")
	w.report("gavel rerun failed")
	if got := w.comment("mona", "/gavel rerun errors"); got != "-1" {
		t.Errorf("without an error: reactions %q", got)
	}
	if got := w.comment("mona", "/gavel rerun failed"); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	w.report("mona asked to rerun what ended in failed: 1 case")
	for range 2 {
		w.hint()
		w.idle()
		w.end()
		w.start()
		w.idle()
	}
	if n := w.agent.count("two"); n != 2 {
		t.Errorf("asked %d times, want once and once again", n)
	}
	if n := w.agent.count("main"); n != 1 {
		t.Errorf("base was asked %d times", n)
	}
	if got := w.comment("mona", "/gavel run talk/**"); got != "+1" || w.agent.count("two") != 3 {
		t.Errorf("reactions %q, asked %q", got, w.agent.asked)
	}
	if got := w.comment("mona", "/gavel run walk/**"); got != "-1" || w.agent.count("two") != 3 {
		t.Errorf("reactions %q, asked %q", got, w.agent.asked)
	}
	if got := w.comment("mona", "/gavel run"); got != "+1" || w.agent.count("two") != 3 {
		t.Errorf("reactions %q, asked %q", got, w.agent.asked)
	}
	w.wantStates("two", "success failure")
}

// TestCancel ends the run that is in progress, for good, until somebody asks.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tell func(*fixture)
	}{{"hint", (*fixture).hint}, {"lost", (*fixture).poll}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			w.forge.SetPermission("mona", "write")
			w.start()
			w.idle()
			release := w.agent.block()
			w.push("one")
			w.hint()
			<-w.agent.held
			id := w.forge.AddComment(1, "mona", "/gavel cancel")
			tt.tell(w)
			w.idle()
			release()
			if got := w.reactions(id); got != "+1" {
				t.Errorf("reactions %q", got)
			}
			w.hint()
			w.idle()
			w.end()
			w.start()
			w.idle()
			w.wantStates("one", "error error")
			if !strings.Contains(w.says("one"), "cancelled by mona") || w.agent.count("one") != 0 {
				t.Errorf("it says %q, asked %q", w.says("one"), w.agent.asked)
			}
			if got := w.comment("mona", "/gavel cancel"); got != "-1" {
				t.Errorf("a second time: reactions %q", got)
			}
			if got := w.comment("mona", "/gavel run"); got != "+1" {
				t.Errorf("reactions %q", got)
			}
			w.wantStates("one", "success success")
		})
	}
}

// TestAccept: an intended change blocks no more, at this head.
func TestAccept(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	const key = "talk/level_1/hello"
	for _, tt := range []struct{ body, want string }{
		{"/gavel accept talk/level_1/helo it is meant", "-1"},
		{"/gavel accept " + key, "confused"},
	} {
		if got := w.comment("mona", tt.body); got != tt.want {
			t.Errorf("%s: reactions %q", tt.body, got)
		}
	}
	w.wantStates("two", "success failure")
	if got := w.comment("mona", "/gavel accept `"+key+"` we say bye since | @everyone </details> #1"); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	w.wantStates("two", "success success")
	text := w.report("accepted · [talk/level_1/hello]", "<sub>by mona, ", ": we say bye since", "1 case accepted")
	for _, hostile := range []string{"@everyone", "since |", "</details> #1", " #1"} {
		if strings.Contains(text, hostile) {
			t.Errorf("%q stands in the report:\n%s", hostile, text)
		}
	}
	if w.agent.count("two") != 1 {
		t.Errorf("asked %q", w.agent.asked)
	}
	if got := w.comment("mona", "/gavel cancel"); got != "-1" {
		t.Errorf("nothing is running: reactions %q", got)
	}
	w.push("one")
	w.hint()
	w.idle()
	if got := w.comment("mona", "/gavel accept "+key+" again"); got != "-1" {
		t.Errorf("a case that passes: reactions %q", got)
	}
}

// TestAcceptBeforeAPush: what was accepted at one head is not accepted at the next one, even
// if both are first looked at together.
func TestAcceptBeforeAPush(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	const accept = "/gavel accept talk/level_1/hello it is meant"
	w.end()
	id := w.forge.AddComment(1, "mona", accept)
	w.push("worse")
	w.start()
	w.idle()
	if got := w.reactions(id); got != "-1" {
		t.Errorf("reactions %q", got)
	}
	w.wantStates("worse", "success failure")
	w.report("the head was pushed meanwhile; look at its result and write it again")
	if got := w.comment("mona", accept); got != "+1" {
		t.Errorf("written again: reactions %q", got)
	}
	w.wantStates("worse", "success success")

	// So it is at a head that comes back.
	w.end()
	w.forge.Now = func() time.Time { return time.Now().Add(-time.Minute) }
	id = w.forge.AddComment(1, "mona", accept)
	w.forge.Now = time.Now
	w.push("two")
	w.start()
	w.idle()
	if got := w.reactions(id); got != "-1" {
		t.Errorf("before a head that comes back: reactions %q", got)
	}
	w.wantStates("two", "success failure")
	w.poll()
	if got := w.comment("mona", accept); got != "+1" {
		t.Errorf("at a head that came back: reactions %q", got)
	}
	w.wantStates("two", "success success")
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	if got := w.comment("mona", "/gavel explain talk/level_1/hello"); got != "+1" {
		t.Errorf("reactions %q", got)
	}
	answers := w.ours("answer")
	if len(answers) != 1 || !strings.Contains(answers[0], "hello") || !strings.Contains(answers[0], "bye") {
		t.Errorf("answers %q", answers)
	}
	w.push("one")
	w.hint()
	w.idle()
	w.comment("mona", "/gavel explain talk/level_1/hello") // which passes
	if answers := w.ours("answer"); len(answers) != 2 || !strings.Contains(answers[1], "pass") || !strings.Contains(answers[1], "turn 1") {
		t.Errorf("answers %q", answers)
	}
	w.forge.Rename("octo/renamed")
	w.poll()
	w.comment("mona", "/gavel explain talk/level_1/hello") // the ledger has it under the name before
	if answers := w.ours("answer"); len(answers) != 3 || !strings.Contains(answers[2], "turn 1") {
		t.Errorf("answers after a rename %q", answers)
	}
	if got := w.comment("mona", "/gavel explain <img src=x> ](javascript:1) @everyone"); got != "-1" {
		t.Errorf("reactions %q", got)
	}
	if text := w.report("unknown case"); strings.Contains(text, "<img") || strings.Contains(text, "@everyone") || strings.Contains(text, "](javascript") {
		t.Errorf("the report says\n%s", text)
	}
}

// TestACommandThatIsNotAnsweredYet when the forge or the process goes away is
// carried out once.
func TestACommandThatIsNotAnsweredYet(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	w.forge.Inject(forgetest.Fault{Method: "POST", Path: "/reactions", Status: 500, Times: -1, Body: "{}"})
	rerun := w.forge.AddComment(1, "mona", "/gavel rerun failed")
	help := w.forge.AddComment(1, "mona", "/gavel help")
	w.hint()
	w.idle()
	if n := w.agent.count("two"); n != 2 {
		t.Errorf("asked %d times", n)
	}
	w.end()
	if w.reactions(rerun) != "" || len(w.ours("answer")) != 0 {
		t.Errorf("reactions %q, answers %q", w.reactions(rerun), w.ours("answer"))
	}
	w.forge.Heal()
	w.start()
	w.idle()
	if w.reactions(rerun) != "+1" || w.reactions(help) != "+1" || len(w.ours("answer")) != 1 || w.agent.count("two") != 2 {
		t.Errorf("reactions %q %q, %d answers, asked %q", w.reactions(rerun), w.reactions(help), len(w.ours("answer")), w.agent.asked)
	}
}

// TestALostAnswer: a comment whose answer was lost is not written twice, also
// where the forge could not be asked for it before another process came.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "one", forgetest.Pull{})
	w.forge.Inject(forgetest.LostReply("POST").On("POST", "/issues/1/comments"))
	// It is looked through for commands, and before the answer is written.
	w.forge.Inject(forgetest.Fault{Method: "GET", Path: "/issues/1/comments", Status: 500, Body: "{}", Skip: 2, Times: -1})
	if got := w.comment("mona", "/gavel help"); got != "+1" || len(w.ours("answer")) != 1 {
		t.Errorf("reactions %q, answers %q", got, w.ours("answer"))
	}
	w.end()
	w.forge.Heal()
	w.start()
	w.idle()
	if answers := w.ours("answer"); len(answers) != 1 {
		t.Errorf("%d answers", len(answers))
	}
}

// TestAStopInARerun: the next process carries the request out, and once.
func TestAStopInARerun(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	release := w.agent.block()
	id := w.forge.AddComment(1, "mona", "/gavel rerun failed")
	w.hint()
	<-w.agent.held
	w.end()
	release()
	if w.agent.count("two") != 1 || w.reactions(id) != "+1" {
		t.Errorf("asked %q, reactions %q", w.agent.asked, w.reactions(id))
	}
	for range 2 {
		w.start()
		w.idle()
		w.wantStates("two", "success failure")
		w.end()
	}
	if n := w.agent.count("two"); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// TestAbuseUnseenCharacters in a command make it none, and reach neither the
// comment nor the log.
func TestAbuseUnseenCharacters(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "two", forgetest.Pull{})
	for _, hidden := range []string{"\x1b[2J", "\u202e", "\u200b", "\x00", "\u2066"} {
		if got := w.comment("mona", "/gavel accept talk/level_1/hello it is"+hidden+"meant"); got != "confused" {
			t.Errorf("%q: reactions %q", hidden, got)
		}
		if strings.Contains(w.report("characters that cannot be seen"), hidden) || strings.Contains(strings.Join(w.lines, ""), hidden) {
			t.Errorf("%q is shown", hidden)
		}
	}
	w.wantStates("two", "success failure")
}

// TestCancelLeavesWhatOthersWant: base's verdict, which the pull request waits
// for, is also what its branch is measuring.
func TestCancelLeavesWhatOthersWant(t *testing.T) {
	t.Parallel()
	w := newTalk(t, "one", forgetest.Pull{})
	w.move("refs/heads/main", "two")
	answer := w.agent.block()
	if err := w.server.Enqueue(forge.Hint{Repository: 1, Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	if asked := <-w.agent.held; asked != "two" {
		t.Fatalf("%q is asked by the branch", asked)
	}
	w.move("refs/pull/1/head", "later")
	w.forge.AddPull(forgetest.Pull{Number: 1, HeadSHA: w.commits["later"], HeadRef: "topic", BaseSHA: w.commits["two"]})
	judge := w.agent.block()
	w.hint()
	if asked := <-w.agent.held; asked != "later" {
		t.Fatalf("%q is asked first, and not head's question", asked)
	}
	judge()
	w.forge.AddComment(1, "mona", "/gavel cancel")
	w.hint()
	w.until(1) // the branch
	answer()
	w.idle()
	w.wantStates("two", "success failure")
	w.wantStates("later", "error error")
	if w.agent.count("two") != 1 || w.agent.count("later") > 1 {
		t.Errorf("asked %q", w.agent.asked)
	}
}

// TestACommandBeforeTheReport that it is about waits for it.
func TestACommandBeforeTheReport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		meanwhile bool
	}{{"before it is judged", false}, {"while it is judged", true}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			w.forge.SetPermission("mona", "write")
			w.push("two")
			var id int64
			// It is older than what the first look asks for.
			w.forge.Now = func() time.Time { return time.Now().Add(-48 * time.Hour) }
			command := func() { id = w.forge.AddComment(1, "mona", "/gavel accept talk/level_1/hello it is meant") }
			release := w.agent.block()
			if !tt.meanwhile {
				command()
			}
			w.start()
			<-w.agent.held
			if tt.meanwhile {
				command()
				w.hint()
			}
			release()
			w.idle()
			if w.reactions(id) != "+1" || w.agent.count("two") != 1 {
				t.Errorf("reactions %q, asked %q", w.reactions(id), w.agent.asked)
			}
			w.wantStates("two", "success success")
		})
	}
}

// TestALostLedger: the state of the pull request is read again, nothing is answered
// twice, and verdicts on another head stay as they are.
func TestALostLedger(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at := time.Now().Add(-time.Hour)
	w.forge.Now = func() time.Time { at = at.Add(time.Second); return at }
	w.forge.SetPermission("mona", "write")
	w.push("one")
	w.start()
	w.idle()
	old := w.forge.AddComment(1, "mona", "/gavel run talk/**")
	w.hint()
	w.idle()
	w.push("two")
	w.hint()
	w.idle()
	w.wantStates("two", "success failure")
	for _, body := range []string{"/gavel help", "/gavel rerun failed", "/gavel accept talk/level_1/hello it is meant", "/gavel explain talk/level_1/hello"} {
		if got := w.comment("mona", body); got != "+1" {
			t.Errorf("%s: reactions %q", body, got)
		}
	}
	if got := w.comment("mona", "/gavel rerun errors"); got != "-1" {
		t.Errorf("reactions %q", got)
	}
	w.wantStates("two", "success success")
	said := w.forge.Comments(1)
	w.end()
	if err := os.Remove(filepath.Join(w.dir, "ledger.db")); err != nil {
		t.Fatal(err)
	}
	before := w.agent.count("two")
	w.start()
	w.idle()
	w.wantStates("two", "success success")
	if n := w.agent.count("two") - before; n != 1 {
		t.Errorf("asked %d times for what was lost, want once", n)
	}
	now := w.forge.Comments(1)
	if len(now) != len(said) || w.reactions(old) != "+1" {
		t.Errorf("%d comments, were %d", len(now), len(said))
	}
	for i := range now {
		if now[i].Reactions != said[i].Reactions {
			t.Errorf("%s: reactions %q, were %q", now[i].Body, now[i].Reactions, said[i].Reactions)
		}
	}
	if text := w.report("accepted · [talk/level_1/hello]"); strings.Contains(text, "was refused") || strings.Contains(text, "asked to rerun talk/") {
		t.Errorf("it tells of what is over:\n%s", text)
	}
}

// TestExplainKeepsSecrets: the explanation shows a transcript of the ledger without the
// key that the agent leaks.
func TestExplainKeepsSecrets(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	key := "sk-proj-" + strings.Repeat("aB3x", 12)
	w.agent.mu.Lock()
	w.agent.says = "hello, my key is " + key
	w.agent.mu.Unlock()
	w.forge.SetPermission("mona", "write")
	w.pull("one", forgetest.Pull{})
	w.start()
	w.idle()
	w.comment("mona", "/gavel explain talk/level_1/hello")
	answers := w.ours("answer")
	if len(answers) != 1 || !strings.Contains(answers[0], "my key is") || strings.Contains(answers[0], "aB3x") {
		t.Errorf("answers %q", answers)
	}
}
