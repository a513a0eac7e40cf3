package main

import (
	"strings"
	"testing"
)

// TestTheAgentOfAWorkingTree: with revision: reply, an agent answers for a working tree if it
// runs a commit with the same inputs. No other answer is a verdict, or is kept as one.
func TestTheAgentOfAWorkingTree(t *testing.T) {
	p := newProject(t)
	b := newBot(t, always("30 days"))
	p.withBot(b, `, revision: reply, inputs: ["prompts/**"]`)
	runs := func(commit string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.commit = commit
	}
	wants := func(what string, code int, part string, args ...string) {
		t.Helper()
		if text := p.local(code, args...); !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
			t.Errorf("%s: %q is not in\n%s", what, part, text)
		}
	}
	old := p.git("rev-parse", "HEAD")
	p.commit(map[string]string{systemPrompt: "60 days"})
	head := p.git("rev-parse", "HEAD")

	// The commit before passes, which says nothing about this one.
	for commit, part := range map[string]string{
		old: "agent is at " + old + ", where " + systemPrompt + " is not as in the working tree", head[:9]: "all 40 digits",
		"": "an unknown revision", strings.Repeat("f", 40): "not among the commits",
	} {
		runs(commit)
		wants("an agent at "+commit, exitGate, part, "run")
		wants("an agent at "+commit+", next to base", exitGate, part, "run", "--base", "HEAD~1")
	}
	runs(head)
	b.deploy(always("60 days"))
	wants("the agent of the commit", exitGate, "fail", "run")
	b.wants(t, 1)

	// An edited test needs no deployment, and an edited input does.
	p.write(casePath("gloves"), strings.Replace(window("How long can I return gloves?"), `"hello"`, `"gloves"`, 1))
	wants("a new test", exitGate, "gloves", "run")
	b.wants(t, 1)
	p.write(systemPrompt, "90 days")
	wants("an edited prompt", exitGate, systemPrompt+" is not as in the working tree", "run")
	p.write(systemPrompt, "30 days") // as at the commit before
	runs(old)
	b.deploy(always("30 days"))
	wants("a prompt as it was", exitPass, "2 passed", "run")
}
