package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
)

// deploy has the cases of a project answered by an agent that does not say what
// it runs. more is added to its target.
func (p *project) deploy(more string) {
	p.t.Helper()
	p.commit(map[string]string{"gavel.yaml": fmt.Sprintf(
		"version: 1\ntargets: {bot: {provider: http, url: \"%s%s\", concurrency: 1%s}}\n", p.model, agentPath, more)})
}

// asks compares what the agent was asked by a command line with what it should
// have been.
func (p *project) asks(args string, calls ...string) (stdout string) {
	p.t.Helper()
	stdout, stderr, code := gavel(p.t, p.folder, strings.Fields(args)...)
	if code != exitPass {
		p.t.Errorf("%s: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	if diff := cmp.Diff(calls, p.calls()); diff != "" {
		p.t.Errorf("%s: calls (-want +got):\n%s%s", args, diff, stdout)
	}
	return stdout
}

// TestAnUnknownVersionIsAskedAgain by every local run, as the plan says before.
func TestAnUnknownVersionIsAskedAgain(t *testing.T) {
	p := newProject(t)
	p.deploy("")
	p.asks("run", "hello, kindly", "thanks, kindly")

	var out reporters.Plan
	if err := json.Unmarshal([]byte(p.asks("plan --json")), &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range out.Cases {
		if row.Action != "run" || len(row.Reasons) != 1 || row.Reasons[0].Part != "revision" || row.Reasons[0].File != "gavel.yaml" ||
			row.Reasons[0].Message != "the deployed version of target bot is unknown; set `revision` or `reuse: on`" {
			t.Errorf("%s: %s, because %+v", row.Key, row.Action, row.Reasons)
		}
	}
	if text := p.asks("run", "hello, kindly", "thanks, kindly"); !strings.Contains(text, "the deployed version is unknown") {
		t.Errorf("the report does not say that the version is unknown:\n%s", text)
	}

	// A change has only what it affects asked, again by the next run.
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
	p.asks("run --base HEAD~1", "hello, briefly")
	p.asks("run --base HEAD~1", "hello, briefly")
	// An answer of yesterday is not believed because the rubric alone changed.
	p.commit(map[string]string{casePath("hello"): strings.Replace(caseOf("hello", "briefly"), `["yes"]`, `["YES"]`, 1)})
	p.asks("run --base HEAD~1", "hello, briefly")
}

// interrupted runs a command that ends after so many questions, and gives them.
func (p *project) interrupted(after int, args ...string) []string {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	p.mu.Lock()
	p.cancel, p.patience = cancel, after
	p.mu.Unlock()
	var out bytes.Buffer
	a := &App{Stdout: &out, Stderr: &out, LookupEnv: func(string) (string, bool) { return "", false }, Dir: p.folder}
	if code := execute(ctx, a, args); code != exitInterrupted {
		p.t.Errorf("exit code %d:\n%s", code, &out)
	}
	p.mu.Lock()
	p.patience = 0
	p.mu.Unlock()
	return p.calls()
}

// TestARunThatWasBrokenOff is continued: the next one only asks the unanswered cases.
// The one after it is a new look.
func TestARunThatWasBrokenOff(t *testing.T) {
	p := newProject(t)
	p.deploy("")
	p.asks("run", "hello, kindly", "thanks, kindly")

	first := p.interrupted(1, "run")
	if len(first) != 2 {
		t.Fatalf("the run that was broken off asked %q", first)
	}
	stdout, _, _ := gavel(t, p.folder, "run")
	second := p.calls()
	if len(second) != 1 {
		t.Errorf("after %q the next run asked %q:\n%s", first, second, stdout)
	}
	p.asks("run", "hello, kindly", "thanks, kindly")
}

// TestABudgetThatEnds does not end the look: the next run continues it.
func TestABudgetThatEnds(t *testing.T) {
	p := newProject(t)
	p.deploy("")
	file := filepath.Join(p.folder, "gavel.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "budget: {calls: 1}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hello, kindly", "thanks, kindly"} {
		gavel(t, p.folder, "run")
		if diff := cmp.Diff([]string{want}, p.calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
}

// TestReuseOfAnUnknownVersion is the team's own choice, and every report tells
// how old the verdicts are.
func TestReuseOfAnUnknownVersion(t *testing.T) {
	p := newProject(t)
	p.deploy(", reuse: on")
	p.asks("run", "hello, kindly", "thanks, kindly")
	comment := filepath.Join(t.TempDir(), "comment.md")
	text := p.asks("run --markdown " + comment)
	markdown, err := os.ReadFile(comment)
	if err != nil {
		t.Fatal(err)
	}
	today := time.Now().UTC().Format("2006-01-02")
	for _, tt := range []struct{ name, text string }{{"the terminal", text}, {"the comment", string(markdown)}} {
		tt.text = strings.Join(strings.Fields(tt.text), " ")
		if !strings.Contains(tt.text, "the deployed version is unknown; 2 verdicts reused, the oldest of "+today) || !strings.Contains(tt.text, "less than a minute ago") {
			t.Errorf("%s does not say how old the verdicts are:\n%s", tt.name, tt.text)
		}
	}
	var report report.Report
	if err := json.Unmarshal([]byte(p.asks("run --json")), &report); err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Cases {
		if !row.UnknownVersion || row.JudgedAt == nil || time.Since(*row.JudgedAt) > time.Hour {
			t.Errorf("%s: unknown version %t, judged at %v", row.Key, row.UnknownVersion, row.JudgedAt)
		}
	}
}

// TestAnUnknownVersionIsAskedOncePerHead by the jobs of a pull request and of a
// branch.
func TestAnUnknownVersionIsAskedOncePerHead(t *testing.T) {
	p := newProject(t)
	before := p.resolve("HEAD")
	p.deploy("")
	// The earlier commit can still be measured: its target was a model.
	p.wants(p.pushJob(before), "a push", exitPass, "hello, kindly", "hello, kindly", "thanks, kindly", "thanks, kindly")
	p.wants(p.pushJob(before), "the same push again", exitPass)

	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{casePath("hello"): caseOf("hello", "briefly")})
	p.pull(forgetest.Pull{})
	p.wants(p.pullJob("pull_request", forgetest.Pull{}), "a pull request", exitPass, "hello, briefly")
	p.wants(p.pullJob("pull_request", forgetest.Pull{}), "the same head again", exitPass)
	p.commit(map[string]string{"README.md": "Nothing that an agent reads.\n"})
	p.pull(forgetest.Pull{})
	p.wants(p.pullJob("pull_request", forgetest.Pull{}), "another head", exitPass, "hello, briefly")

	// A base that the ledger knows is compared with and not measured.
	if body := p.forge.Comments(1)[0].Body; strings.Contains(body, "base has no verdict") {
		t.Errorf("the comment does not know base:\n%s", body)
	}
}
