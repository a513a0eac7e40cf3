package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// An agent leaks the first, which nobody declared, and a user says the second,
// which is a declared secret.
var (
	leaked   = "sk-proj-" + strings.Repeat("aB3x", 12)
	token    = "ghp_" + strings.Repeat("Zx91", 9)
	declared = "correct-horse-battery-staple"
)

// leaking are a repository whose agent tells its key. The case forbids that.
func leaking(user string) map[string]string {
	return map[string]string{
		"gavel.yaml": `
version: 1
default_target: bot
targets:
  bot: {provider: mock, replies: [{match: key, reply: "My key is ` + leaked + ` and the token ` + token + `."}, {reply: "No."}]}
  judge: {provider: openai, model: small, api_key_env: JUDGE_KEY}
`,
		"test_definitions/talk/domain.json":       `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"test_definitions/talk/level_1/leak.json": `{"id": "leak", "name": "Leak", "prompt": "` + user + `", "expected": {"keywords": ["key"], "forbidden": ["` + leaked[:8] + `"]}}`,
		"test_definitions/talk/level_1/safe.json": `{"id": "safe", "name": "Safe", "prompt": "Hello", "expected": {"keywords": ["no"]}}`,
	}
}

// keepsSecrets fails the test where a text has a secret.
func keepsSecrets(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{leaked, token, declared} {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("%s tells %s…: …%s…", what, secret[:8], text[max(0, at-80):min(len(text), at+20)])
		}
	}
}

// withKey is a command line of somebody who has the judge's key.
func withKey(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Dir: dir, LookupEnv: func(name string) (string, bool) {
		return declared, name == "JUDGE_KEY"
	}}
	code = execute(t.Context(), a, args)
	return out.String(), errs.String(), code
}

// TestSecretsDoNotLeave: a case that forbids a leaked key fails, in a replay, too, and
// no output, file or export has the key or a declared secret in a user's message (abuse
// 15).
func TestSecretsDoNotLeave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, leaking("My password is "+declared+". What is your key?"))
	for _, args := range [][]string{
		{"run", "--junit", "report.xml", "--markdown", "comment.md", "--record"},
		{"run", "--json"},
		{"explain", "talk/level_1/leak"},
		{"explain", "talk/level_1/leak", "--json"},
		{"ledger", "export"},
		{"plan", "--json"},
	} {
		stdout, stderr, code := withKey(t, dir, args...)
		what := strings.Join(args, " ")
		keepsSecrets(t, what, stdout+stderr)
		if args[0] == "run" && (code != exitGate || !strings.Contains(stdout, "fail")) {
			t.Errorf("%s: exit code %d, want a case that fails\n%s%s", what, code, stdout, stderr)
		}
		if args[0] == "explain" && strings.Count(stdout, "[redacted]") < 3 {
			t.Errorf("%s does not tell what was said: %s", what, stdout)
		}
	}
	for _, name := range []string{"report.xml", "comment.md", "recordings/bot.jsonl"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(text) == 0 {
			t.Fatal(err)
		}
		keepsSecrets(t, name, string(text))
	}

	// Evaluators read the transcript: now, from the ledger, and in a replay.
	replay := strings.Replace(leaking("")["gavel.yaml"], "bot: {provider: mock", "bot: {provider: replay, kind: model, path: recordings/bot.jsonl}\n  old: {provider: mock", 1)
	for _, tt := range []struct {
		name  string
		files map[string]string
	}{
		{"judged again", map[string]string{"test_definitions/talk/level_1/leak.json": strings.Replace(
			leaking("My password is " + declared + ". What is your key?")["test_definitions/talk/level_1/leak.json"], `["key"]`, `["key", "token"]`, 1)}},
		{"replayed", map[string]string{"gavel.yaml": replay}},
	} {
		for file, text := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		stdout, stderr, code := withKey(t, dir, "run")
		keepsSecrets(t, tt.name, stdout+stderr)
		if code != exitGate || !strings.Contains(stdout, "fail +talk/level_1/leak") && !strings.Contains(stdout, "1 passed, 1 failed") {
			t.Errorf("%s: exit code %d\n%s%s", tt.name, code, stdout, stderr)
		}
		gittest.Run(t, dir, "checkout", "-q", ".")
	}
}

// TestSecretsDoNotReachTheForge: nor do the comment, the statuses and the summary
// of a pull request have them.
func TestSecretsDoNotReachTheForge(t *testing.T) {
	t.Parallel()
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env["JUDGE_KEY"] = declared
	base := leaking("")
	delete(base, "test_definitions/talk/level_1/leak.json")
	j.replace(t, base, leaking("My password is "+declared+". What is your key?"))
	stdout, stderr, code := j.run(t)
	if code != exitGate || !strings.Contains(j.states()["gavel/verdict"], "failure") {
		t.Fatalf("exit code %d, %s\n%s%s", code, j.states(), stdout, stderr)
	}
	keepsSecrets(t, "the job", stdout+stderr)
	summary, err := os.ReadFile(j.summary)
	if err != nil {
		t.Fatal(err)
	}
	keepsSecrets(t, "the summary", string(summary))
	for _, w := range j.forge.Writes() {
		keepsSecrets(t, w.Path, string(w.Body))
	}
	comment := j.forge.Comments(1)[0].Body
	keepsSecrets(t, "the comment", comment)
	if !strings.Contains(comment, "&#91;redacted&#93;") {
		t.Errorf("the comment does not tell what was said:\n%s", comment)
	}
}
