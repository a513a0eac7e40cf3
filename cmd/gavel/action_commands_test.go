package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// newTalk is a project on whose pull request people talk: mona may write. Its
// head asks about hello in a certain way. Comments are a second apart.
func newTalk(t *testing.T, way string, of forgetest.Pull) *project {
	t.Helper()
	p := newProject(t)
	p.lenient = true
	at := time.Now().Add(-time.Hour)
	p.forge.Now = func() time.Time { at = at.Add(time.Second); return at }
	p.forge.SetPermission("mona", "write")
	p.pushJob(p.resolve("main~1"))
	p.calls()
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", way)})
	p.pull(of)
	return p
}

var stranger = forgetest.Pull{HeadRepo: "stranger/demo", Author: "stranger"}

// written is the event of a comment on pull request 1.
func written(body string) string {
	return payload(`"action": "created", "issue": {"number": 1, "pull_request": {}}, "comment": {"body": %q}`, body)
}

// comment writes one on pull request 1 and runs the job that starts for it.
func (p *project) comment(login, body string) (*machine, int64) {
	p.t.Helper()
	id := p.forge.AddComment(1, login, body)
	return p.job("issue_comment", defaultScope, written(body)), id
}

// reactions are ours below a comment.
func (p *project) reactions(id int64) string {
	return p.forge.Reactions(1, id, "github-actions[bot]")
}

// ours are the comments of gavel with a marker.
func (p *project) ours(marker string) []string {
	return p.forge.Written(1, "github-actions[bot]", "<!-- gavel:"+marker)
}

// report demands that the one report on the pull request holds some words.
func (p *project) report(words ...string) {
	p.t.Helper()
	reports := p.ours("report")
	if len(reports) != 1 {
		p.t.Fatalf("%d reports: %q", len(reports), reports)
	}
	for _, word := range words {
		if !strings.Contains(reports[0], word) {
			p.t.Errorf("the report has no %q:\n%s", word, reports[0])
		}
	}
}

// TestAnApprovedFork waits, is judged by the job of the comment that approves its
// head, and costs nothing after that until somebody pushes (abuse 5, 7, 20).
func TestAnApprovedFork(t *testing.T) {
	p := newTalk(t, "briefly", stranger)
	head := p.resolve("topic")
	p.wants(p.pullJob("pull_request_target", stranger), "a fork", exitGate)
	p.report("until somebody with write permission approves", "gavel approve "+head, "rerun this one")

	id := p.forge.AddComment(1, "mona", "/gavel approve "+head)
	p.forge.React(id, "github-actions[bot]", "eyes") // another workflow's
	m := p.job("issue_comment", defaultScope, written("/gavel approve "+head))
	p.wants(m, "the approval", exitPass, "hello, briefly")
	if p.reactions(id) != "eyes, +1" || p.verdict(head) != "success" {
		t.Errorf("reactions %q, the verdict is %q", p.reactions(id), p.verdict(head))
	}
	p.report("mona approved " + head[:7])
	m = p.pullJob("pull_request_target", stranger)
	p.wants(m, "the job run again", exitPass)
	if len(m.restored) != 2 || m.restored[1] != "gavel-pull-1-103-1" {
		t.Errorf("restored %v", m.restored)
	}
	p.report("mona approved " + head[:7])

	p.commit(map[string]string{casePath("hello"): caseOf("hello", "otherwise")})
	p.pull(stranger)
	pushed := p.resolve("topic")
	p.wants(p.pullJob("pull_request_target", stranger), "a push", exitGate)
	m, id = p.comment("mona", "/gavel approve "+head)
	p.wants(m, "the approval of the head before", exitGate)
	if p.reactions(id) != "-1" || p.verdict(pushed) != "error" || p.verdict(head) != "success" {
		t.Errorf("reactions %q, the verdicts are %q and %q", p.reactions(id), p.verdict(pushed), p.verdict(head))
	}
	p.report("was refused: the head of this pull request is "+pushed[:12], "gavel approve "+pushed)
	m, _ = p.comment("mona", "/gavel approve "+pushed)
	p.wants(m, "the approval of the new head", exitPass, "hello, otherwise")

	p.git("checkout", "-q", "main")
	before := p.resolve("main")
	p.git("merge", "-q", "--ff-only", "topic")
	m = p.pushJob(before)
	p.wants(m, "the push after the merge", exitPass, "hello, otherwise")
	if len(m.restored) != 1 || !strings.HasPrefix(m.restored[0], "gavel-base-") {
		t.Errorf("base restored %v", m.restored)
	}
}

// TestCommandsFromJobToJob are followed by the job of their comment, and known to
// the next job of the pull request.
func TestCommandsFromJobToJob(t *testing.T) {
	p := newTalk(t, wrong, forgetest.Pull{})
	head := p.resolve("topic")
	p.wants(p.pullJob("pull_request_target", forgetest.Pull{}), "the pull request", exitGate, confirmed("hello, "+wrong)...)
	for _, tt := range []struct {
		command, reactions, says string
		code                     int
		calls                    []string
	}{
		{"rerun errors", "-1", "no case ended so", exitGate, nil},
		{"rerun failed", "+1", "mona asked to rerun what ended in failed: 1 case", exitGate, confirmed("hello, " + wrong)},
		{"run talk/level_1/thanks", "+1", "mona asked to rerun talk/level", exitGate, []string{"thanks, kindly"}},
		{"explain talk/level_1/hello", "+1", "regression", exitGate, nil},
		{"accept talk/level_1/hello we say so", "+1", "by mona", exitPass, nil},
		{"cancel", "-1", "nothing is running", exitPass, nil},
	} {
		m, id := p.comment("mona", "/gavel "+tt.command)
		p.wants(m, tt.command, tt.code, tt.calls...)
		if got := p.reactions(id); got != tt.reactions {
			t.Errorf("%s: reactions %q, want %q", tt.command, got, tt.reactions)
		}
		p.report(tt.says)
	}
	writes := len(p.forge.Comments(1))
	p.wants(p.pullJob("pull_request_target", forgetest.Pull{}), "the job run again", exitPass)
	if n := len(p.forge.Comments(1)); n != writes || len(p.ours("answer")) != 1 || p.verdict(head) != "success" {
		t.Errorf("%d comments, were %d; answers %q; the verdict is %q", n, writes, p.ours("answer"), p.verdict(head))
	}
}

// TestALostCache costs its contents, once, and no answer: the commands of people are on
// the pull request, and so are their answers.
func TestALostCache(t *testing.T) {
	p := newTalk(t, wrong, stranger)
	head := p.resolve("topic")
	// It is older than the first status, and says itself which head it means.
	p.comment("mona", "/gavel approve "+head)
	p.pullJob("pull_request_target", stranger)
	for _, command := range []string{"help", "explain talk/level_1/hello", "rerun failed", "accept talk/level_1/hello we say so"} {
		p.comment("mona", "/gavel "+command)
	}
	p.comment("reader", "/gavel run")
	said := p.forge.Comments(1)
	p.calls()

	p.cache.entries = nil
	p.wants(p.pullJob("pull_request_target", stranger), "after the cache was lost", exitPass, confirmed("hello, kindly", "hello, "+wrong)...)
	p.report("mona approved "+head[:7], "by mona")
	now := p.forge.Comments(1)
	if len(now) != len(said) || p.verdict(head) != "success" {
		t.Errorf("%d comments, were %d; the verdict is %q", len(now), len(said), p.verdict(head))
	}
	for i := range min(len(now), len(said)) {
		if now[i].Reactions != said[i].Reactions {
			t.Errorf("%s: reactions %q, were %q", now[i].Body, now[i].Reactions, said[i].Reactions)
		}
	}
	p.wants(p.pullJob("pull_request_target", stranger), "the job after that", exitPass)

	// An approval does not count once its author has lost the right to write.
	p.cache.entries = nil
	p.forge.SetPermission("mona", "read")
	p.wants(p.pullJob("pull_request_target", stranger), "without the permission", exitGate)
}

// TestACacheThatTakesNothing has every job start again: it says the same, and
// a command for another head no longer counts.
func TestACacheThatTakesNothing(t *testing.T) {
	p := newTalk(t, wrong, forgetest.Pull{})
	p.lenient = false
	p.pullJob("pull_request_target", forgetest.Pull{})
	m, id := p.comment("mona", "/gavel accept talk/level_1/hello we say so")
	if m.failed != exitPass || p.reactions(id) != "+1" {
		t.Errorf("exit code %d, reactions %q\n%s", m.failed, p.reactions(id), &m.log)
	}
	if m = p.pullJob("pull_request_target", forgetest.Pull{}); m.failed != exitPass {
		t.Errorf("the next job: exit code %d\n%s", m.failed, &m.log)
	}
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "more "+wrong)})
	p.pull(forgetest.Pull{})
	for range 2 {
		if m = p.pullJob("pull_request_target", forgetest.Pull{}); m.failed != exitGate {
			t.Errorf("another head: exit code %d\n%s", m.failed, &m.log)
		}
	}
	if len(m.saved) > 0 || p.reactions(id) != "+1" {
		t.Errorf("saved %v, reactions %q", m.saved, p.reactions(id))
	}
}

// TestACancelOfAJob holds until somebody wants the head judged.
func TestACancelOfAJob(t *testing.T) {
	p := newTalk(t, "briefly", forgetest.Pull{})
	p.commit(map[string]string{casePath("thanks"): caseOf("thanks", "briefly")})
	p.pull(forgetest.Pull{})
	head := p.resolve("topic")
	p.patience = 1
	if m := p.pullJob("pull_request_target", forgetest.Pull{}); m.failed != exitInterrupted {
		t.Fatalf("exit code %d\n%s", m.failed, &m.log)
	}
	p.patience = 0
	first := p.calls()
	m, id := p.comment("mona", "/gavel cancel")
	p.wants(m, "the cancel", exitGate)
	p.wants(p.pullJob("pull_request_target", forgetest.Pull{}), "the job run again", exitGate)
	if p.reactions(id) != "+1" || p.verdict(head) != "error" || !strings.Contains(m.log.String(), "cancelled by mona; /gavel run judges it") {
		t.Errorf("reactions %q, the verdict is %q\n%s", p.reactions(id), p.verdict(head), &m.log)
	}
	m, _ = p.comment("mona", "/gavel run")
	if rest := p.calls(); m.failed != exitPass || len(rest) != 1 || len(first) != 2 || p.verdict(head) != "success" {
		t.Errorf("exit code %d after %q and %q, the verdict is %q\n%s", m.failed, first, rest, p.verdict(head), &m.log)
	}
}

// TestACancelBeforeAnyJob says on the head who wants it so.
func TestACancelBeforeAnyJob(t *testing.T) {
	p := newTalk(t, "briefly", forgetest.Pull{})
	m, _ := p.comment("mona", "/gavel cancel")
	p.wants(m, "the cancel", exitGate)
	p.wants(p.pullJob("pull_request_target", forgetest.Pull{}), "the job of the head", exitGate)
	for _, s := range p.forge.Statuses(p.resolve("topic")) {
		if s.State != "error" || s.Description != "cancelled by mona; /gavel run judges it" {
			t.Errorf("the status is %+v", s)
		}
	}
	summary, err := os.ReadFile(m.env["GITHUB_STEP_SUMMARY"])
	if err != nil || string(summary) != "cancelled by mona; /gavel run judges it\n" || p.verdict(p.resolve("topic")) != "error" {
		t.Errorf("the summary is %q, the verdict %q: %v", summary, p.verdict(p.resolve("topic")), err)
	}
}

// TestTalk ends the job of a comment at once: it sends no request to the forge,
// restores nothing, and runs no part of the comment (abuse 9).
func TestTalk(t *testing.T) {
	p := newTalk(t, "briefly", forgetest.Pull{})
	before := len(p.forge.Requests())
	event := func(issue, action, body string) string {
		return payload(`"action": %q, "issue": %s, "comment": {"body": %q}`, action, issue, body)
	}
	const pull = `{"number": 1, "pull_request": {}}`
	for _, tt := range []struct{ what, text string }{
		{"talk", event(pull, "created", "nice")},
		{"another word", event(pull, "created", "/gavelier approve")},
		{"a command further below", event(pull, "created", "hello\n/gavel run")},
		{"a quote", event(pull, "created", "> /gavel run")},
		{"a program", event(pull, "created", "$(touch $RUNNER_TEMP/pwned)`touch $RUNNER_TEMP/pwned`\"; touch $RUNNER_TEMP/pwned #")},
		{"an output", event(pull, "created", "x\nkeep=true\nbase=gavel-base-")},
		{"an edit", event(pull, "edited", "/gavel run")},
		{"an issue", event(`{"number": 1}`, "created", "/gavel run")},
	} {
		m := p.job("issue_comment", defaultScope, tt.text)
		p.wants(m, tt.what, exitPass)
		if len(m.restored)+len(m.saved) > 0 || m.outputs["judge"]["keep"] != "" || !strings.Contains(m.log.String(), "nothing to do: ") {
			t.Errorf("%s: restored %v, saved %v, outputs %v\n%s", tt.what, m.restored, m.saved, m.outputs, &m.log)
		}
		if _, err := os.Stat(filepath.Join(m.temp, "pwned")); err == nil {
			t.Errorf("%s was run", tt.what)
		}
	}
	if requests := p.forge.Requests()[before:]; len(requests) > 0 {
		t.Errorf("it asked %v", requests)
	}

	for _, hostile := range []string{"approve $(touch $RUNNER_TEMP/pwned)", "run \"; touch $RUNNER_TEMP/pwned #", "\x1b[2Jhelp", strings.Repeat("x", 2000)} {
		m, id := p.comment("mona", "/gavel "+hostile)
		if _, err := os.Stat(filepath.Join(m.temp, "pwned")); err == nil || p.reactions(id) == "+1" || strings.Contains(m.log.String(), "\x1b") {
			t.Errorf("%.40q: reactions %q\n%s", hostile, p.reactions(id), &m.log)
		}
	}
}

// TestUnauthorizedApprovals has nothing run for an approval that counts for nothing
// (abuse 8).
func TestUnauthorizedApprovals(t *testing.T) {
	p := newTalk(t, "briefly", stranger)
	j := p.inProcess()
	head := p.resolve("topic")
	approve := "/gavel approve " + head
	for _, tt := range []struct{ what, login string }{{"a reader", "reader"}, {"the author", "stranger"}, {"a bot", "helper[bot]"}, {"ourselves", "github-actions[bot]"}} {
		id := p.forge.AddComment(1, tt.login, approve)
		if _, stderr, code := j.event(t, "issue_comment", written(approve)); code != exitGate || p.reactions(id) != "-1" {
			t.Errorf("%s: exit code %d, reactions %q\n%s", tt.what, code, p.reactions(id), stderr)
		}
	}
	id := p.forge.AddComment(1, "mona", approve)
	p.forge.EditComment(id, approve)
	if _, stderr, code := j.event(t, "issue_comment", written(approve)); code != exitGate || p.reactions(id) != "-1" {
		t.Errorf("edited: exit code %d, reactions %q\n%s", code, p.reactions(id), stderr)
	}
	short := p.forge.AddComment(1, "mona", approve[:len("/gavel approve ")+7])
	if j = p.inProcess(); p.verdict(head) != "error" {
		t.Errorf("the verdict is %q", p.verdict(head))
	}
	// A ledger knows which head a part of its id means, and this one is new.
	if _, stderr, code := j.event(t, "issue_comment", written(approve)); code != exitGate || p.reactions(short) != "-1" {
		t.Errorf("shortened: exit code %d, reactions %q\n%s", code, p.reactions(short), stderr)
	}
	if calls := p.calls(); len(calls) > 0 {
		t.Errorf("it asked %q", calls)
	}
	p.forge.AddComment(1, "mona", approve)
	if _, stderr, code := j.event(t, "issue_comment", written(approve)); code != exitPass || len(p.calls()) != 2 || p.verdict(head) != "success" {
		t.Errorf("a good one: exit code %d, the verdict is %q\n%s", code, p.verdict(head), stderr)
	}

	closed := stranger
	closed.Closed = true
	p.pull(closed)
	p.forge.AddComment(1, "mona", "/gavel run talk/**")
	writes := len(p.forge.Writes())
	stdout, _, code := j.event(t, "issue_comment", written("/gavel run talk/**"))
	if code != exitPass || !strings.Contains(stdout, "the pull request is closed") || len(p.forge.Writes()) != writes || len(p.calls()) > 0 {
		t.Errorf("a closed one: exit code %d\n%s", code, stdout)
	}
}

// inProcess is a job without the steps around it, whose ledger is there for the
// next one.
func (p *project) inProcess() *job {
	p.t.Helper()
	checkout := p.t.TempDir()
	p.git("-C", checkout, "init", "-q")
	p.git("-C", checkout, "config", "remote.origin.url", p.server+"/octo/demo")
	return &job{checkout: checkout, env: map[string]string{
		"GITHUB_API_URL": p.forge.URL, "GITHUB_TOKEN": p.token, "GITHUB_ACTIONS": "true",
		"GITHUB_STEP_SUMMARY": filepath.Join(p.t.TempDir(), "summary.md"), "GITHUB_RUN_ID": fmt.Sprint(p.runs),
	}}
}
