package main

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// adding is a job on the pull request that adds Gavel to a repository.
func adding(t *testing.T) *job {
	t.Helper()
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.git(t, "checkout", "-q", "--orphan", "bare")
	j.git(t, "rm", "-rqf", ".")
	j.base = gittest.Commit(t, j.folder, map[string]string{"README.md": "# An agent\n"})
	j.git(t, "branch", "-f", "main", "bare")
	j.git(t, "checkout", "-qB", "friendlier-support")
	j.head = gittest.Commit(t, j.folder, map[string]string{
		"gavel.yaml":                "version: 1\ntargets: {bot: {provider: mock, replies: [{reply: hello}]}}\n",
		"test_definitions/one.yaml": "evalcases:\n  - {id: window, input: hi, checks: [{contains: hello}]}\n",
	})
	j.move(t, j.head)
	j.git(t, "checkout", "-q", "main")
	gittest.Run(t, j.checkout, "fetch", "-qf", "origin", "main:refs/remotes/origin/main")
	gittest.Run(t, j.checkout, "reset", "-q", "--hard", "origin/main")
	return j
}

// TestAPullRequestThatAddsGavel says in the comment, the status and the job what happens now
// and after the merge, and nothing about settings that decide before it.
func TestAPullRequestThatAddsGavel(t *testing.T) {
	j := adding(t)
	stdout, stderr, code := j.run(t)
	const waits = "main has no gavel.yaml yet: validated and planned only, until somebody with write permission approves or it is merged"
	if code != exitGate || !strings.Contains(stdout, "gate undetermined: nothing was run: "+waits+"\n") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if got := j.states(); got["gavel/verdict"] != "error: "+waits+" · 1 case would run" || !strings.HasPrefix(got["gavel/validate"], "success") {
		t.Errorf("the statuses are %v", got)
	}
	body := j.forge.Comments(1)[0].Body
	for _, want := range []string{
		"is new here, and decides about pull requests from the merge on; before, nothing is run without an approval",
		"**Nothing was run:** " + waits, "/gavel approve " + j.head,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the comment lacks %q:\n%s", want, body)
		}
	}
	for _, never := range []string{"is changed here", "decided by the one", "is not judged"} {
		if strings.Contains(body, never) {
			t.Errorf("the comment has %q:\n%s", never, body)
		}
	}
	j.forge.SetPermission("mona", "write")
	j.forge.AddComment(1, "mona", "/gavel approve "+j.head)
	if stdout, stderr, code = j.run(t); code != exitPass || !strings.Contains(stdout, "gate pass: ") {
		t.Errorf("after the approval the exit code is %d\n%s%s", code, stdout, stderr)
	}
	if body := j.forge.Comments(1)[0].Body; strings.Contains(body, "nothing is run without") {
		t.Errorf("after the approval the comment is\n%s", body)
	}
}
