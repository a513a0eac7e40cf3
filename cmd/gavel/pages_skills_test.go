package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedClaude plays what Claude Code did with the skill of the tutorial and without it.
const recordedClaude = `#!/usr/bin/env python3
import json, os, sys
prompt, skill = sys.stdin.read(), ".claude/skills/changelog/SKILL.md"
def event(**fields):
    print(json.dumps(fields), flush=True)
event(type="system", subtype="init", model="claude-x")
if "release notes" in prompt:
    event(type="assistant", message={"id": "m", "content": [{"type": "tool_use", "id": "t", "name": "Skill", "input": {"skill": "changelog"}}]}, parent_tool_use_id=None)
said = "## 1.3.0" if os.path.exists(skill) and "heading" in open(skill).read() else "Version 1.3.0"
event(type="result", subtype="success", is_error=False, result=said, total_cost_usd=0.01, usage={"input_tokens": 5, "output_tokens": 7})
`

// TestTheTutorialOfSkills follows that tutorial from a skill to the comment on a pull
// request, with recorded agents.
func TestTheTutorialOfSkills(t *testing.T) {
	needsPrograms(t, "python3")
	r := newReader(t)
	server := hosting(r, "skills")
	path := fakeAgents(t, map[string]string{"claude": recordedClaude})
	text := page(t, "examples/skill-tutorial.md")
	recorded, real, ok := strings.Cut(text, "## 6. ")
	if !ok {
		t.Fatal("the tutorial has no step 6")
	}
	r.follow(recorded)
	// The page installs the agent where programs are found.
	r.env = append(r.env, "ANTHROPIC_API_KEY=sk-ant-0123456789")
	r.says = strings.NewReplacer("$ gavel run\n", "$ gavel run --sandbox-path "+path+"\n")
	r.follow(real)
	server.inputs, server.secrets = map[string]string{"sandbox-path": path}, map[string]string{"ANTHROPIC_API_KEY": "sk-ant-0123456789"}
	server.judges(text, "brief", "Version 1.3.0", "## 1.3.0")
	if workflow := server.git("show", "main:.github/workflows/gavel.yml"); !strings.Contains(workflow, "run: npm install -g @anthropic-ai/claude-code\n") || !strings.Contains(workflow, "ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}") {
		t.Errorf("the workflow does not install the agent with its key:\n%s", workflow)
	}
}

// TestTheExampleOfSkills runs the three skills with their recorded agent.
func TestTheExampleOfSkills(t *testing.T) {
	needsPrograms(t, "python3")
	r := newReader(t)
	if err := os.CopyFS(r.dir, os.DirFS("../../examples/skills")); err != nil {
		t.Fatal(err)
	}
	r.follow("") // which configures git
	r.run("git init -q && git add -A && git commit -qm skills", true)
	out := strings.Join(strings.Fields(r.run("gavel run --lift", true)), " ")
	for _, want := range []string{"6 cases: 6 passed", "with the skill 2 of 2, without 0 of 2", "triggers of skills/commit-message: 4 of 4 right: 2 of 2 wanted, 2 of 2 unwanted"} {
		if !strings.Contains(out, want) {
			t.Errorf("the run does not say %q:\n%s", want, out)
		}
	}
	for edited, want := range map[string]string{
		"skills/sales-report/references/format.md": "1 to run; 5 other cases unaffected",
		"skills/commit-message/SKILL.md":           "nothing is affected; 6 other cases unaffected", // its body
	} {
		file := filepath.Join(r.dir, filepath.FromSlash(edited))
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, append(text, "More.\n"...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out := r.run("gavel plan --base HEAD", true); !strings.Contains(out, want) {
			t.Errorf("after an edit of %s the plan does not say %q:\n%s", edited, want, out)
		}
		r.run("git checkout -q -- .", true)
	}
}
