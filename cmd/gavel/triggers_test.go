package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// choosingClaude chooses among the skills in its folder as Claude Code does: it loads those
// whose description has a word of the prompt. It looks around first, works for a minute
// after its choice, and counts its starts.
const choosingClaude = `#!/usr/bin/env python3
import glob, json, sys, time

prompt = sys.stdin.read()
def event(**fields):
    print(json.dumps(fields), flush=True)

def call(n, name, **input):
    event(type="assistant", message={"id": "m%d" % n, "content": [{"type": "tool_use", "id": "t%d" % n, "name": name, "input": input}], "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 3}}, parent_tool_use_id=None)
    event(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t%d" % n, "content": "ok .claude/skills/csv/SKILL.md"}]})

event(type="system", subtype="init", model="claude-x", tools=["Skill", "Bash"])
call(1, "Bash", command="ls .claude/skills/*/SKILL.md; ls .claude/skills/csv")
for file in sorted(glob.glob(".claude/skills/*/SKILL.md")):
    text = open(file).read()
    if "BODY" in text:
        event(type="result", subtype="error", is_error=True, errors=["a body is laid out"], usage={})
        sys.exit(1)
    if any(word in text.partition("description:")[2] for word in prompt.split()):
        call(2, "Skill", skill=file.split("/")[2])
        time.sleep(60)
if "talks" in prompt:
    event(type="result", subtype="success", is_error=False, result="I have used the skill csv, .claude/skills/csv/SKILL.md", total_cost_usd=0.5, usage={"input_tokens": 5, "output_tokens": 7})
    sys.exit(0)
for n in range(3, 100):
    call(n, "Bash", command="true")
    time.sleep(n // 4 * 60)
`

const triggerQueries = `[
  {"query": "Sum tables please", "should_trigger": true},
  {"query": "Open my mails", "should_trigger": false, "reason": "another skill is for them"},
  {"query": "Is it raining?", "should_trigger": false},
  {"query": "He talks about it", "should_trigger": false}
]`

// TestTriggers: each query of a trigger list is asked with all skills of the repository, by
// their descriptions alone. The agent is ended when it has chosen, and that is a success; a body
// that is edited asks nothing again, and a description asks all.
func TestTriggers(t *testing.T) {
	needsPrograms(t, "python3")
	n := &newcomer{T: t}
	n.checkout, n.after, n.env = t.TempDir(), never, map[string]string{"ANTHROPIC_API_KEY": "sk-ant-0123456789"}
	gittest.Init(t, n.checkout, "main")
	files := map[string]string{
		".gitignore":                       ".gavel/\nreport.*\n",
		"gavel.yaml":                       "version: 1\ntargets:\n  coder: {provider: claude-code}\n",
		"skills/csv/SKILL.md":              "---\nname: csv\ndescription: Sums tables\nlicense: MIT\n---\nBODY of csv.\n",
		"skills/csv/scripts/sum.py":        "print(3)\n",
		"skills/csv/evals/triggers.json":   triggerQueries,
		".claude/skills/mail/SKILL.md":     "---\nname: mail\ndescription: Reads mails\n---\nBODY of mail.\n",
		"skills/csv/assets/other/SKILL.md": "---\nname: part\ndescription: It is raining\n---\n",
	}
	gittest.Commit(t, n.checkout, files)
	run := func(code int, says ...string) {
		t.Helper()
		n.gavel(code, []string{"run", "--sandbox-path", fakeAgents(t, map[string]string{"claude": choosingClaude}), "--junit", "report.xml", "--markdown", "report.md", "--html", "report.html"}, says...)
	}
	// Two of two runs decide a majority of three.
	const row = "4 of 4 right: 1 of 1 wanted, 3 of 3 unwanted"
	run(exitPass, "4 passed", "8 calls", "triggers of skills/csv: "+row)
	for _, file := range []string{"report.xml", "report.md", "report.html"} {
		if text, err := os.ReadFile(filepath.Join(n.checkout, file)); err != nil || strings.Count(string(text), row) != 1 {
			t.Errorf("%s does not say %q once: %v\n%s", file, row, err, text)
		}
	}
	n.gavel(exitPass, []string{"explain", "skills/csv/triggers#sum-tables-please"}, "the skill csv is loaded by Skill", "2 passed and 0 failed; 2 of 3 samples must pass")

	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(n.checkout, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("skills/csv/SKILL.md", "---\nlicense: Apache-2.0\nname: csv\ndescription: >-\n  Sums\n  tables\n---\nANOTHER BODY.\n")
	write("skills/csv/scripts/sum.py", "print(4)\n")
	run(exitPass, "4 passed", "0 calls")
	write("skills/csv/SKILL.md", "---\nname: csv\ndescription: Adds numbers\n---\nBODY of csv.\n")
	run(exitGate, "3 passed, 1 failed", "the skill csv is not loaded", "3 of 4 right: 0 of 1 wanted, 3 of 3 unwanted")
	gittest.Run(t, n.checkout, "checkout", "-q", ".")
	write(".claude/skills/mail/SKILL.md", "---\nname: mail\ndescription: Reads mails and letters\n---\nBODY of mail.\n")
	run(exitPass, "4 passed", "8 calls")
	stdout, _, _ := n.call(t, "run", "--json", "--sandbox-path", t.TempDir())
	var rep struct {
		Cases []struct {
			Key    string
			Tokens int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &rep); err != nil || len(rep.Cases) != 4 || strings.Contains(stdout, "part") {
		t.Errorf("%v: %s", err, stdout)
	}
}

// TestAFlippedTriggerIsDecidedAgain: where a list wants the opposite, the same runs of the
// agent are judged by it, and the verdict of before is not reused.
func TestAFlippedTriggerIsDecidedAgain(t *testing.T) {
	needsPrograms(t, "sh", "grep")
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	files := withTriggers("tables")
	files[".gitignore"], files["gavel.yaml"] = ".gavel/\n", "version: 1\ntargets:\n  coder: {provider: command, argv: [sh, agent/run.sh], inputs: [\"agent/**\"]}\nskills: {target: coder}\n"
	gittest.Commit(t, dir, files)
	said := func(code int, args []string, wants ...string) {
		t.Helper()
		stdout, stderr, got := gavel(t, dir, args...)
		for _, want := range wants {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q: no %q in\n%s%s", args, want, stdout, stderr)
			}
		}
		if got != code {
			t.Errorf("%q ends with %d, want %d:\n%s%s", args, got, code, stdout, stderr)
		}
	}
	said(exitPass, []string{"run"}, "2 passed", "4 calls")
	said(exitPass, []string{"run"}, "2 reused", "0 calls")
	flipped := strings.NewReplacer("true", "false", "false", "true").Replace(files["skills/csv/evals/triggers.json"])
	if err := os.WriteFile(filepath.Join(dir, "skills/csv/evals/triggers.json"), []byte(flipped), 0o644); err != nil {
		t.Fatal(err)
	}
	said(exitPass, []string{"plan"}, "skills/csv/triggers#sum-tables", "skills/csv/triggers#say-hello", "2 to run; 0 other cases")
	said(exitGate, []string{"run"}, "0 passed, 2 failed", "0 calls", "0 of 2 right: 0 of 1 wanted, 0 of 1 unwanted")
}

// withTriggers is a skill with a trigger list, and an agent that loads the skill if its
// description has a word of the query.
func withTriggers(word string) map[string]string {
	const load = `{"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "Skill", "arguments": "{\\"skill\\": \\"csv\\"}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "ok"}, {"role": "assistant", "content": "Done."}]}`
	return map[string]string{
		"gavel.yaml":                     usual("  coder: {provider: command, argv: [sh, agent/run.sh]}\nskills: {target: coder}\n"),
		"agent/run.sh":                   "if grep -q tables .agents/skills/csv/SKILL.md && grep -q tables; then echo '" + load + "'; else echo '{\"messages\": [{\"role\": \"assistant\", \"content\": \"I use skills/csv/SKILL.md.\"}]}'; fi\n",
		"skills/csv/SKILL.md":            "---\nname: csv\ndescription: Sums " + word + ".\n---\nAdd tables.\n",
		"skills/csv/evals/triggers.json": `[{"query": "Sum tables", "should_trigger": true}, {"query": "Say hello", "should_trigger": false}]`,
	}
}

// TestTheTriggerListOfThePage reads the list that the page of the format shows, and finds the
// case that it names.
func TestTheTriggerListOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../examples/formats/skill.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "**Trigger lists**")
	_, list, _ := strings.Cut(rest, "```json\n")
	list, _, _ = strings.Cut(list, "```")
	const key = "skills/csv-report/trigger-queries#what-is-a-csv-file"
	if !strings.Contains(rest, "`"+key+"`") {
		t.Errorf("the page does not name %s", key)
	}
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{
		"gavel.yaml":                 "version: 1\ntargets: {coder: {provider: command, argv: [sh, run.sh], inputs: [run.sh]}}\nskills: {target: coder}\n",
		"run.sh":                     "true\n",
		"skills/csv-report/SKILL.md": "---\nname: csv-report\ndescription: Sums up tables.\n---\n",
		"skills/csv-report/evals/trigger-queries.json": list,
	})
	if stdout, stderr, code := gavel(t, dir, "validate", "--strict"); code != exitPass || !strings.Contains(stdout+stderr, "1 definition, 2 cases") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code := gavel(t, dir, "plan", "--json"); code != exitPass || !strings.Contains(stdout, key) {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}
