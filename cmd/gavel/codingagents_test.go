package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// fakeClaude asks a model as Claude Code does, says what it sees, and changes a file.
const fakeClaude = `#!/usr/bin/env python3
import json, os, sys, urllib.error, urllib.request

prompt = sys.stdin.read()
def ask(key, path="/v1/messages"):
    req = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + path, data=prompt.encode(), headers={"x-api-key": key, "content-type": "application/json"})
    try:
        return urllib.request.urlopen(req).read().decode()
    except urllib.error.HTTPError as e:
        return str(e.code)

def event(**fields):
    print(json.dumps(fields), flush=True)

event(type="system", subtype="init", model="claude-x", tools=["Bash"])
if "fail" in prompt:
    event(type="result", subtype="error_max_turns", is_error=True, errors=["Reached the maximum of 7 turns"], total_cost_usd=0.5, usage={"input_tokens": 1, "output_tokens": 2})
    sys.exit(1)
key = os.environ["ANTHROPIC_API_KEY"]
said = ask(key)
with open("made.txt", "w") as f:
    f.write("made of " + prompt)
event(type="assistant", message={"id": "m1", "content": [{"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "made.txt"}}]}, parent_tool_use_id=None)
event(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]})
seen = sorted(os.listdir(".")) + ["home:"] + sorted(os.listdir(os.environ["HOME"]))
text = " | ".join([said, "stranger " + ask("other"), "elsewhere " + ask(key, "/v1/organizations"), "above " + ask(key, "/v1/messages/../organizations"), "encoded " + ask(key, "/v1/messages%2f..%2forganizations"), "key " + key, "argv " + " ".join(sys.argv[1:]), " ".join(seen)])
event(type="result", subtype="success", is_error=False, result=text, total_cost_usd=0.25,
      usage={"input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 7})
`

// fakeAgents returns a folder with programs that are named like coding agents.
func fakeAgents(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestClaudeCode: the agent works in a folder of its own in the sandbox, its requests reach
// the model with the key, which it never has, and what it did is judged and paid for.
func TestClaudeCode(t *testing.T) {
	needsPrograms(t, "python3")
	const real = "sk-ant-real-0123456789"
	var mu sync.Mutex
	asked := map[string]int{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		asked[r.Header.Get("X-Api-Key")+" "+r.URL.Path]++
		if _, err := io.WriteString(w, "the model heard "+string(body)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(api.Close)
	n := &newcomer{T: t}
	n.checkout, n.after, n.env = t.TempDir(), never, map[string]string{"ANTHROPIC_API_KEY": real}
	gittest.Init(t, n.checkout, "main")
	gittest.Commit(t, n.checkout, map[string]string{
		".gitignore": ".gavel/\n", "README.md": "secret plans\n",
		"gavel.yaml": "version: 1\ntargets:\n  coder:\n    provider: claude-code\n    model: claude-x\n    bounds: {turns: 7, usd: 0.5}\n    base_url: " + api.URL + "\n",
		"test_definitions/made.eval.yaml": "tests:\n" +
			"- {id: works, input: --help me, assertions: [{type: contains, value: the model heard --help me}, {type: contains, value: stranger 401}, {type: contains, value: elsewhere 404}, {type: contains, value: above 404}, {type: contains, value: encoded 404}, {type: contains, value: --max-turns=7}]}\n" +
			"- {id: breaks, input: fail, assertions: [{type: contains, value: x}]}\n",
	})
	path := fakeAgents(t, map[string]string{"claude": fakeClaude})
	n.gavel(exitGate, []string{"run", "--sandbox-path", path}, "1 passed", "claude-code: it says that it failed:", "error_max_turns: Reached the maximum of 7 turns", "2 calls, $0.75, 35 tokens")
	if asked[real+" /v1/messages"] != 1 || len(asked) != 1 {
		t.Errorf("the model was asked %v", asked)
	}
	n.gavel(exitPass, []string{"explain", "made.eval#works"}, "made.txt", "Write", " | made.txt home:")
	n.gavel(exitPass, []string{"explain", "made.eval#breaks"}, "The newest run has no verdict of it: target coder: claude-code: it says that it failed: error_max_turns")
	n.gavel(exitPass, []string{"explain", "made.eval#works", "--json"}, `"key": "made.eval#works"`)
	stdout, _, _ := n.call(t, "run", "--json", "--sandbox-path", path)
	if strings.Contains(stdout, real) {
		t.Errorf("the key is in the report:\n%s", stdout)
	}
	gittest.Commit(t, n.checkout, map[string]string{"test_definitions/made.eval.yaml": "tests: [{id: breaks, input: another, assertions: [{type: contains, value: x}]}]\n"})
	n.gavel(exitPass, []string{"explain", "made.eval#breaks"}, "No verdict is stored for this state: run it with gavel run.")
}

// TestAgentsAskThroughGavel: an agent that can be given an address has neither network nor
// key, and its requests reach the model with the key.
func TestAgentsAskThroughGavel(t *testing.T) {
	needsPrograms(t, "python3")
	const asks = `#!/usr/bin/env python3
import json, os, sys, urllib.request
def ask(address, key):
    req = urllib.request.Request(address, data=b'{"input": []}', headers={"authorization": "Bearer " + key, "content-type": "application/json"})
    return json.load(urllib.request.urlopen(req))["said"]
`
	for name, test := range map[string]struct{ target, program, text, path string }{
		"codex": {"{provider: codex, model: gpt-y, ", "codex", `
set = dict(a.removeprefix("--config=").split("=", 1) for a in sys.argv if a.startswith("--config="))
said = ask(set["model_providers.gavel.base_url"] + "/responses", os.environ[set["model_providers.gavel.env_key"]]) + " by " + set[set["model_provider"] and "model_providers.gavel.wire_api"]
print(json.dumps({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": said}}))
print(json.dumps({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}))
`, "/responses"},
		"opencode with a model of OpenAI": {"{provider: opencode, model: openai/gpt-y, api_key_env: KEY, ", "opencode", `
said = ask(json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])["provider"]["openai"]["options"]["baseURL"] + "/responses", os.environ["KEY"]) + " by responses"
print(json.dumps({"type": "text", "part": {"text": said}}))
print(json.dumps({"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 1, "output": 2}}}))
`, "/responses"},
		"opencode with a model of Anthropic": {"{provider: opencode, model: anthropic/claude-x, api_key_env: KEY, ", "opencode", `
said = ask(json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])["provider"]["anthropic"]["options"]["baseURL"] + "/messages", os.environ["KEY"]) + " by responses"
print(json.dumps({"type": "text", "part": {"text": said}}))
print(json.dumps({"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 1, "output": 2}}}))
`, "/v1/messages"},
	} {
		t.Run(name, func(t *testing.T) {
			const real = "sk-real-0123456789"
			asked := make(chan string, 9)
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Header.Get("Authorization") + " " + r.URL.Path
				if _, err := io.WriteString(w, `{"said": "Good day", "usage": {"input_tokens": 1, "output_tokens": 2}}`); err != nil {
					t.Error(err)
				}
			}))
			t.Cleanup(api.Close)
			n := &newcomer{T: t}
			n.checkout, n.after, n.env = t.TempDir(), never, map[string]string{"CODEX_API_KEY": real, "KEY": real}
			gittest.Init(t, n.checkout, "main")
			gittest.Commit(t, n.checkout, map[string]string{
				".gitignore":                      ".gavel/\n",
				"gavel.yaml":                      "version: 1\ntargets: {coder: " + test.target + "base_url: '" + api.URL + "'}}\n",
				"test_definitions/made.eval.yaml": "tests: [{id: works, input: hi, assertions: [{type: equals, value: Good day by responses}]}]\n",
			})
			path := fakeAgents(t, map[string]string{test.program: asks + test.text})
			n.gavel(exitPass, []string{"run", "--sandbox-path", path}, "1 passed", "1 call, 3 tokens")
			close(asked)
			var got []string
			for request := range asked {
				got = append(got, request)
			}
			if !slices.Equal(got, []string{"Bearer " + real + " " + test.path}) {
				t.Errorf("the model was asked %q, want once at %s", got, test.path)
			}
		})
	}
}

// TestAnAgentNeedsTheNetwork: an agent that reaches its model by itself is not started where
// it cannot, and the error has the line to write; where it can, it has its key.
func TestAnAgentNeedsTheNetwork(t *testing.T) {
	needsPrograms(t, "python3")
	n := &newcomer{T: t}
	n.checkout, n.after, n.env = t.TempDir(), never, map[string]string{}
	gittest.Init(t, n.checkout, "main")
	gittest.Commit(t, n.checkout, map[string]string{
		".gitignore":                      ".gavel/\n",
		"gavel.yaml":                      "version: 1\ntargets: {coder: {provider: copilot, model: gpt-y}}\n",
		"test_definitions/made.eval.yaml": "tests: [{id: works, input: -h, assertions: [{type: contains, value: '--prompt=-h with a key'}]}]\n",
	})
	path := fakeAgents(t, map[string]string{"copilot": `#!/usr/bin/env python3
import json, os, sys
text = "%s with %s" % (sys.argv[-1], "a key" if os.environ["COPILOT_GITHUB_TOKEN"] == "k-12345678" else "another key")
print(json.dumps({"type": "assistant.message", "data": {"messageId": "m", "content": text, "toolRequests": [], "outputTokens": 2}}))
print(json.dumps({"type": "result", "exitCode": 0}))
`})
	n.gavel(exitUsage, []string{"run", "--sandbox-path", path}, "the environment variable COPILOT_GITHUB_TOKEN is not set, and the target coder needs it")
	n.env["COPILOT_GITHUB_TOKEN"] = "k-12345678"
	t.Setenv("PATH", t.TempDir())
	n.gavel(exitUsage, []string{"run", "--sandbox-network"}, "copilot: no program copilot in ", "; install it with npm install -g @github/copilot, or name its folder (--sandbox-path")
	t.Setenv("PATH", path)
	n.gavel(exitUsage, []string{"run", "--sandbox-network"}, "copilot: no program copilot in ", "; it is in "+path+": name that folder (--sandbox-path")
	n.gavel(exitUsage, []string{"run", "--sandbox-path", path}, "copilot reaches its model by itself", "--sandbox-network")
	n.gavel(exitPass, []string{"run", "--sandbox-path", path, "--sandbox-network"}, "1 passed", "1 call, 2 tokens")
}

// TestTheBudgetOfAnAgent: each request that an agent has passed on needs its budget before it
// is sent. A request of 1,000 bytes whose reply may have 1,000 tokens may take 2,000; it takes
// 500. Of 5,000 tokens seven requests leave 1,500, which is not enough for an eighth.
func TestTheBudgetOfAnAgent(t *testing.T) {
	needsPrograms(t, "python3")
	var asked atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		if _, err := io.WriteString(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":400}}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":100}}\n\n"); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(api.Close)
	n := &newcomer{T: t}
	n.checkout, n.after, n.env = t.TempDir(), never, map[string]string{"ANTHROPIC_API_KEY": "sk-ant-0123456789"}
	gittest.Init(t, n.checkout, "main")
	gittest.Commit(t, n.checkout, map[string]string{
		".gitignore":                      ".gavel/\n",
		"gavel.yaml":                      "version: 1\ntargets: {coder: {provider: claude-code, base_url: '" + api.URL + "'}}\nbudget: {tokens: 5000}\n",
		"test_definitions/made.eval.yaml": "tests: [{id: works, input: hi, assertions: [{type: contains, value: x}]}]\n",
	})
	path := fakeAgents(t, map[string]string{"claude": `#!/usr/bin/env python3
import json, os, urllib.error, urllib.request
body = json.dumps({"max_tokens": 1000, "messages": ""})
body = body[:-2] + "x" * (1000 - len(body)) + body[-2:]
for i in range(20):
    req = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", data=body.encode(), headers={"x-api-key": os.environ["ANTHROPIC_API_KEY"]})
    try:
        urllib.request.urlopen(req).read()
    except urllib.error.HTTPError:
        pass # as an agent that does not give up
`})
	n.gavel(exitGate, []string{"run", "--sandbox-path", path}, "not run     made.eval#works", "the budget of 5000 tokens is not enough", "1 call, 3,500 tokens")
	if got := asked.Load(); got != 7 {
		t.Errorf("the model was asked %d times, want 7", got)
	}
}

// TestClaudeCodeHasTheSkill: an eval of a skill is run where the agent finds the skill as it
// is at head, with the files of the eval and without the evals, where the answers are.
func TestClaudeCodeHasTheSkill(t *testing.T) {
	needsPrograms(t, "python3")
	n := &newcomer{T: t}
	n.checkout, n.after, n.env = t.TempDir(), never, map[string]string{"ANTHROPIC_API_KEY": "sk-ant-0123456789"}
	gittest.Init(t, n.checkout, "main")
	gittest.Commit(t, n.checkout, map[string]string{
		".gitignore":                   ".gavel/\n",
		"gavel.yaml":                   "version: 1\ntargets:\n  coder: {provider: claude-code}\n  judge: {provider: mock, replies: [{reply: '{\"results\": []}'}]}\nroles: {judge: judge}\n",
		"skills/csv/SKILL.md":          "---\nname: csv\ndescription: Sums tables.\n---\nRun scripts/sum.py.\n",
		"skills/csv/scripts/sum.py":    "print(3)\n",
		"skills/csv/evals/files/a.csv": "1\n2\n",
		"skills/csv/evals/evals.json":  `{"skill_name": "csv", "evals": [{"id": 1, "prompt": "Sum a.csv", "files": ["evals/files/a.csv"], "assertions": [{"name": "sum", "type": "contains", "value": "seen: .claude/skills/csv/SKILL.md .claude/skills/csv/scripts/sum.py"}]}]}`,
		"skills/other/SKILL.md":        "---\nname: other\ndescription: Another.\n---\n",
	})
	path := fakeAgents(t, map[string]string{"claude": `#!/usr/bin/env python3
import json, os, sys
sys.stdin.read()
seen = sorted(os.path.relpath(os.path.join(d, f), ".") for d, _, fs in os.walk(".") for f in fs)
seen = [f for f in seen if not f.startswith(".agents")]
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "seen: " + " ".join(seen), "usage": {}}))
`})
	n.gavel(exitPass, []string{"run", "--sandbox-path", path}, "1 passed")
	stdout, stderr, _ := n.call(t, "explain", "skills/csv#1")
	seen := stdout[max(0, strings.Index(stdout, "seen: ")):]
	for text, has := range map[string]bool{".claude/skills/csv/SKILL.md": true, "a.csv": true, "evals.json": false, "skills/other": false} {
		if seen, _, _ := strings.Cut(seen, "\n\n"); strings.Contains(seen, text) != has {
			t.Errorf("that the agent finds %q is not %v:\n%s%s", text, has, stdout, stderr)
		}
	}
}
