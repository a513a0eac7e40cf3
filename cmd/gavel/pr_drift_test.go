package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestAScheduledJobTellsOfDrift: it judges all cases again and keeps one comment in the
// issue, as a server does; a push and a job without an issue judge nothing that is stored.
func TestAScheduledJobTellsOfDrift(t *testing.T) {
	var worse atomic.Bool
	answer := func(prompt string, n int) string {
		if worse.Load() && strings.HasSuffix(prompt, "say a") {
			return "no"
		}
		return echo(prompt, n)
	}
	c := newPassage(t, scenario{base: shopOf("a b", map[string]string{"gavel.yaml": notified("CHAT", "drift")}), head: map[string]string{"docs.md": "words"}, answer: answer}, columns[2])
	c.checkout = c.tree("main")
	c.forge.AddIssue(42)
	heard := &chat{}
	c.notices, c.env["CHAT"] = heard, "https://chat.example/secret"
	c.env["GITHUB_REPOSITORY"], c.env["GITHUB_REF"], c.env["GITHUB_SHA"] = "octo/demo", "refs/heads/main", c.base
	c.head = c.base // whose statuses are read
	for _, step := range []struct {
		name, event string
		flags       []string
		worse       bool
		code, calls int // of a job, and how often "say a" was asked in all
		drift       string
		notices     int
	}{
		{name: "the first time", event: "schedule", flags: []string{"--drift-issue", "42"}, calls: 1, drift: "success: 2 cases judged for the first time"},
		{name: "without an issue", event: "schedule", calls: 1, drift: "success: 2 cases judged for the first time"},
		{name: "started by a person", event: "workflow_dispatch", flags: []string{"--drift-issue", "42"}, calls: 1, drift: "success: 2 cases judged for the first time"},
		{name: "nothing changed", event: "schedule", flags: []string{"--drift-issue", "42"}, calls: 2, drift: "success: no verdict of 2 cases changed"},
		{name: "worse", event: "schedule", flags: []string{"--drift-issue", "42"}, worse: true, code: exitGate, calls: 3, drift: "failure: 1 verdict of 2 cases got worse", notices: 1},
	} {
		worse.Store(step.worse)
		_, stderr, code := c.event(t, step.event, payload(`"ref": "refs/heads/main", "inputs": null`), step.flags...)
		said := strings.Split(c.job.states()["gavel/drift"], " · ")[0]
		calls := 0
		for prompt, n := range c.models.all() {
			if strings.HasSuffix(prompt, "say a") {
				calls += n
			}
		}
		if code != step.code || said != step.drift || calls != step.calls || len(heard.heard()) != step.notices {
			t.Errorf("%s: exit code %d, drift %q, %d calls, %d notices; want %d, %q, %d, %d\n%s", step.name, code, said, calls, len(heard.heard()), step.code, step.drift, step.calls, step.notices, stderr)
		}
		comments := c.forge.Comments(42)
		if _, words, _ := strings.Cut(step.drift, ": "); len(comments) != 1 || !strings.Contains(comments[0].Body, words) {
			t.Errorf("%s: the issue has %+v, want one comment with %q", step.name, comments, words)
		}
	}
	for _, bad := range []string{"-1", "open"} {
		want := fmt.Sprintf("--drift-issue: %q is not an issue; write its number, or new for one that Gavel opens", bad)
		if _, stderr, code := c.event(t, "schedule", "{}", "--drift-issue", bad); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
	}
}

// TestAScheduledJobOpensAnIssue as a server does. Jobs that have lost their ledger find the
// issue again, and a token without the permission changes nothing but a line of the log.
func TestAScheduledJobOpensAnIssue(t *testing.T) {
	for _, d := range []column{columns[2], columns[3]} {
		t.Run(d.name, func(t *testing.T) {
			var worse atomic.Bool
			answer := func(prompt string, n int) string {
				if worse.Load() && strings.HasSuffix(prompt, "say a") {
					return "no"
				}
				return echo(prompt, n)
			}
			c := newPassage(t, scenario{base: shopOf("a b", nil), head: map[string]string{"docs.md": "words"}, answer: answer}, d)
			c.checkout = c.tree("main")
			c.env["GITHUB_REPOSITORY"], c.env["GITHUB_REF"], c.env["GITHUB_SHA"] = "octo/demo", "refs/heads/main", c.base
			c.head = c.base
			night := func(now bool, code int, says string) {
				t.Helper()
				worse.Store(now)
				_, stderr, got := c.event(t, "schedule", payload(`"ref": "refs/heads/main", "inputs": null`), "--drift-issue", "new")
				if said := c.job.states()["gavel/drift"]; got != code || !strings.Contains(stderr, says) {
					t.Errorf("exit code %d, drift %q; want %d and %q in the log\n%s", got, said, code, says, stderr)
				}
			}
			night(false, exitPass, "")
			if issues := c.forge.Issues(); len(issues) != 0 {
				t.Fatalf("issues without drift: %+v", issues)
			}
			c.forge.Inject(forgetest.Fault{Method: "POST", Path: "/octo/demo/issues", Status: 403, Times: -1})
			night(true, exitGate, "issues: write")
			night(false, exitPass, "")
			c.forge.Heal()
			night(true, exitGate, "")
			night(false, exitPass, "")
			night(true, exitGate, "")
			issues := c.forge.Issues()
			if len(issues) != 1 || issues[0].Closed || !strings.HasPrefix(issues[0].Title, "Drift: ") {
				t.Fatalf("issues %+v, want one that is open", issues)
			}
			comments := c.forge.Comments(issues[0].Number)
			if len(comments) != 1 || comments[0].Edits != 2 || !strings.Contains(comments[0].Body, "1 verdict of 2 cases got worse") {
				t.Errorf("comments %+v, want one that is edited twice", comments)
			}
		})
	}
}
