package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// TestAPullRequestThatLacksSomething on the machine that judges it: the report names
// it, and of the environment only the name of the variable. The rest is judged, and
// every status is terminal.
func TestAPullRequestThatLacksSomething(t *testing.T) {
	const rubric = "evalcases:\n  - {id: sum, expected_outcome: It is right., input: hello%s}\n"
	base := map[string]string{
		"gavel.yaml": `
version: 1
default_target: echo
targets:
  echo: {provider: mock, replies: [{reply: hello}]}
  bot: {provider: openai, model: m, api_key_env: SECRET_BOT_KEY, base_url: "http://127.0.0.1:9/v1"}
`,
		"test_definitions/talk/domain.json":        `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"test_definitions/talk/level_1/hello.json": `{"id": "hello", "name": "Hello", "prompt": "hello", "expected": {"keywords": ["hello"]}}`,
	}
	head := map[string]string{
		"test_definitions/talk/level_1/hi.json": `{"id": "hi", "name": "Hi", "prompt": "hi", "expected": {"keywords": ["hello"]}}`,
		"test_definitions/judged.yaml":          strings.ReplaceAll(rubric, "%s", ""),
		"test_definitions/bot.yaml":             strings.ReplaceAll(rubric, "%s", ", execution: {target: bot, evaluators: [{type: execution_metrics, max_llm_calls: 3}]}"),
	}
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env["OTHER_KEY"] = "what nobody may see"
	j.replace(t, base, head)
	stdout, stderr, code := j.run(t)
	summary, err := os.ReadFile(j.summary)
	if err != nil || code != exitGate || !strings.Contains(stdout, "gate undetermined") {
		t.Errorf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	text := strings.ReplaceAll(string(summary), "<wbr>", "")
	for _, want := range []string{"the environment variable SECRET_BOT_KEY is not set", "gavel.yaml does not name a judge", "1 of 4 cases rerun, 2 not run"} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, j.env["OTHER_KEY"]) {
		t.Errorf("the comment tells of the environment:\n%s", text)
	}
	for context, state := range j.states() {
		if strings.HasPrefix(state, "pending") {
			t.Errorf("%s is %s", context, state)
		}
	}
}
