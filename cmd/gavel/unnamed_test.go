package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/reporters"
)

// unnamed is the note about a changed prompt that belongs to no target.
const unnamed = systemPrompt + " changed and belongs to no target; name it under inputs of bot"

// TestAChangedPromptThatBelongsToNoTarget is a line wherever the change is planned: the
// agent does not say that it is built from it, so that nothing is rerun.
func TestAChangedPromptThatBelongsToNoTarget(t *testing.T) {
	p := newProject(t)
	b := newBot(t, always("30 days"))
	p.withBot(b, "")
	p.local(exitPass, "run")
	p.write(systemPrompt, "60 days")
	comment := filepath.Join(t.TempDir(), "comment.md")
	for _, args := range [][]string{
		{"plan", "--base", "HEAD"}, {"plan", "--since", "HEAD"}, {"plan", "--base", "HEAD", "--all"}, {"plan", "--base", "HEAD", "talk/**"},
		{"run", "--base", "HEAD", "--markdown", comment}, {"run", "--since", "HEAD"},
	} {
		if text := strings.Join(strings.Fields(p.local(exitPass, args...)), " "); strings.Count(text, unnamed) != 1 {
			t.Errorf("%v does not say once that %s:\n%s", args, unnamed, text)
		}
	}
	if data, err := os.ReadFile(comment); err != nil || !strings.Contains(string(data), "changed and belongs to no target; name it under inputs of bot") {
		t.Errorf("%v; the comment does not say it:\n%s", err, data)
	}
	var plan reporters.Plan
	if err := json.Unmarshal([]byte(p.local(exitPass, "plan", "--base", "HEAD", "--json")), &plan); err != nil || len(plan.Notices) != 1 || plan.Notices[0].File != systemPrompt {
		t.Errorf("%v; the JSON of the plan has %+v", err, plan.Notices)
	}
	if r := p.reportOf(exitPass, "run", "--base", "HEAD"); len(r.Notices) == 0 || r.Notices[0].File != systemPrompt {
		t.Errorf("the JSON of the run has %+v", r.Notices)
	}
	if text := p.watched("belongs to no target"); !strings.Contains(text, `"changed_files":["`+systemPrompt+`"]`) {
		t.Errorf("the watch does not see it:\n%s", text)
	}
	if text := strings.Join(strings.Fields(p.watched("result  ", "--plain")), " "); strings.Count(text, unnamed) != 1 {
		t.Errorf("the watch does not say once that %s:\n%s", unnamed, text)
	}
	// A prompt that is gone is a change, too.
	p.git("rm", "-qf", systemPrompt)
	if text := p.local(exitPass, "plan", "--base", "HEAD"); !strings.Contains(text, "belongs to no target") {
		t.Errorf("of a removed prompt the plan says\n%s", text)
	}
}

// TestInputsThatMatchNoFile are as good as none: the changed prompt is named.
func TestInputsThatMatchNoFile(t *testing.T) {
	p := newProject(t)
	b := newBot(t, always("30 days"))
	p.withBot(b, `, inputs: ["prompt/*.txt"]`)
	p.local(exitPass, "run")
	p.write(systemPrompt, "60 days")
	for _, args := range [][]string{{"plan", "--base", "HEAD"}, {"run", "--base", "HEAD"}} {
		if text := strings.Join(strings.Fields(p.local(exitPass, args...)), " "); strings.Count(text, unnamed) != 1 {
			t.Errorf("%v does not say once that %s:\n%s", args, unnamed, text)
		}
	}
}

// TestAPullRequestOfAPromptThatBelongsToNoTarget says so in its comment.
func TestAPullRequestOfAPromptThatBelongsToNoTarget(t *testing.T) {
	p := newProject(t)
	p.withBot(newBot(t, always("30 days")), "")
	gittest.Branch(p.t, p.folder, "topic")
	p.commit(map[string]string{systemPrompt: "60 days"})
	p.pull(forgetest.Pull{})
	m := p.pullJob("pull_request", forgetest.Pull{})
	if body := p.forge.Comments(1)[0].Body; m.failed != exitPass || !strings.Contains(body, "changed and belongs to no target; name it under inputs of bot") {
		t.Errorf("exit code %d, the comment does not say it:\n%s", m.failed, body)
	}
}

// TestFilesThatBelongSomewhere are not taken for forgotten prompts: a target or a definition
// names them, or no agent is built from them.
func TestFilesThatBelongSomewhere(t *testing.T) {
	const program = `{provider: command, argv: ["sh", "agent/run.sh"]}`
	for _, tt := range []struct {
		name, targets, file string
		says                bool
	}{
		{"no prompt", `{bot: {provider: http, url: "http://127.0.0.1:1/"}}`, "docs/system.md", false},
		{"a folder of prompts", `{bot: {provider: http, url: "http://127.0.0.1:1/"}}`, "src/shop/prompts/system.txt", true},
		{"a folder of agents", `{bot: {provider: http, url: "http://127.0.0.1:1/"}}`, "agents/shop.yaml", true},
		{"a hidden folder", `{bot: {provider: http, url: "http://127.0.0.1:1/"}}`, ".cache/prompts/system.txt", false},
		{"named", `{bot: {provider: http, url: "http://127.0.0.1:1/", inputs: ["prompts/**"]}}`, "prompts/system.md", false},
		{"named by another target", `{bot: {provider: http, url: "http://127.0.0.1:1/"}, model: {provider: openai, model: m, system_prompt: {file: prompts/system.md}}}`, "prompts/system.md", false},
		{"of a model", `{bot: {provider: openai, model: m}}`, "prompts/system.md", false},
		{"an agent as a model", `{bot: {provider: openai, model: m, kind: agent}}`, "prompts/system.md", true},
		{"in the folder of a program", `{bot: ` + program + `}`, "agent/prompts/system.md", false},
		{"outside of it", `{bot: ` + program + `}`, "prompts/system.md", true},
		{"read by it", `{bot: ` + program + `}`, "config/tone.txt", true},
		{"not read by it", `{bot: ` + program + `}`, "config/other.txt", false},
	} {
		p := newProject(t)
		p.commit(map[string]string{
			"gavel.yaml": "version: 1\ndefault_target: bot\ntargets: " + tt.targets + "\n", tt.file: "Be kind.",
			"agent/run.sh": "#!/bin/sh\ncat \"config/tone.txt\"\n",
		})
		p.write(tt.file, "Be rude.")
		if text := p.local(exitPass, "plan", "--base", "HEAD"); strings.Contains(text, "belongs to no target") != tt.says {
			t.Errorf("%s: want the line %v:\n%s", tt.name, tt.says, text)
		}
	}
}

// TestManyFilesThatBelongToNoTarget are counted once three are named.
func TestManyFilesThatBelongToNoTarget(t *testing.T) {
	p := newProject(t)
	files := map[string]string{"gavel.yaml": "version: 1\ntargets: {bot: {provider: http, url: \"http://127.0.0.1:1/\"}}\n"}
	for i := range 5 {
		files[fmt.Sprintf("prompts/%d.md", i)] = "Be kind."
	}
	p.commit(files)
	for i := range 5 {
		p.write(fmt.Sprintf("prompts/%d.md", i), "Be rude.")
	}
	text := strings.Join(strings.Fields(p.local(exitPass, "plan", "--base", "HEAD")), " ")
	if strings.Count(text, "changed and belongs to no target") != 3 || !strings.Contains(text, "further changed files belong to no target (2); name them under inputs of bot") {
		t.Errorf("the plan says\n%s", text)
	}
}

// TestPagesShowWhatAnHTTPAgentIsMadeOf: an edited prompt affects the agent that is copied
// from the first example. The pages say of such agents what the tests of deployed agents
// hold.
func TestPagesShowWhatAnHTTPAgentIsMadeOf(t *testing.T) {
	for _, file := range []string{"README.md", "examples/agents.md"} {
		text := page(t, file)
		_, first, found := strings.Cut(text, "provider: http")
		line, _, _ := strings.Cut(first, "\n")
		if !found || !strings.Contains(line, "inputs: [") {
			t.Errorf("the first agent over HTTP of %s is without inputs: %s", file, line)
		}
	}
	for _, tt := range []struct{ file, says, not string }{
		{"examples/agents.md", "the agent names the commit that it runs", "in every run"},
		{"examples/agents.md", "It is deployed after the merge only", ""},
		{"examples/ci.md", "wait_for: 10m", ""},
		{"examples/troubleshooting.md", "`agent is at …, wanted …`", "asked again in every run"},
		{"cmd/gavel/help/run.txt", "with --base are the affected ones", "asked again by every run"},
	} {
		text := strings.Join(strings.Fields(page(t, tt.file)), " ")
		if !strings.Contains(text, tt.says) || tt.not != "" && strings.Contains(text, tt.not) {
			t.Errorf("%s has to say %q, and not %q", tt.file, tt.says, tt.not)
		}
	}
}
