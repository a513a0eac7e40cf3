package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// plannedCalls returns how many calls a plan expects.
func plannedCalls(t *testing.T, dir string, args ...string) int {
	t.Helper()
	stdout, stderr, _ := withModelKey(t, dir, append([]string{"plan", "--json"}, args...)...)
	var plan struct{ Estimate struct{ Calls int } }
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil {
		t.Fatalf("the plan is not JSON (%v):\n%s%s", err, stdout, stderr)
	}
	return plan.Estimate.Calls
}

// TestStoredOutputs: an earlier test answers once for itself and for the later one, which
// alone uses the stored reply, asks for it where none is stored, and is an error without one.
func TestStoredOutputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	const file = "promptfooconfig.yaml"
	const text = `prompts: ["{{message}}"]
tests:
- {description: first, vars: {message: fruit please}, options: {storeOutputAs: fruit, transform: "output.toUpperCase()"}, assert: [{type: equals, value: PEAR}]}
- {description: second, vars: {message: "Why {{fruit}}?"}, assert: [{type: equals, value: "Why PEAR?"}, {type: contains, value: "{{fruit}}"}]}
- {description: nobody, vars: {message: unanswered}, options: {storeOutputAs: none}, assert: [{type: contains, value: x}]}
- {description: after, vars: {message: "Why {{none}}?"}, assert: [{type: contains, value: Why}]}
`
	gittest.Commit(t, dir, map[string]string{file: text, "gavel.yaml": "version: 1\ntargets: {x: {provider: mock, replies: [{match: ^fruit, reply: pear}, {match: ^Why, echo: true}]}}\n"})
	for _, step := range []struct {
		name   string
		change func(string) string
		forget bool
		args   []string
		want   []string
	}{
		{"all", nil, false, nil, []string{"2 passed, 0 failed, 2 not judged", "2 calls,", "the answer of x to promptfooconfig#nobody, which it has as none, is missing"}},
		{"again", nil, false, []string{"promptfooconfig#second"}, []string{"1 passed", "0 calls,"}},
		{"another assertion", func(s string) string { return strings.Replace(s, `"{{fruit}}"}]`, `"Y {{fruit}}"}]`, 1) }, false, []string{"*#second"}, []string{"0 passed, 1 failed", "0 calls,"}},
		{"another prompt", func(s string) string {
			return strings.Replace(s, `"Why {{fruit}}?"}, assert`, `"Why so {{fruit}}?"}, assert`, 1)
		}, false, []string{"*#second"}, []string{"0 passed, 1 failed", "1 call,"}},
		{"nothing is stored", nil, true, []string{"*#second"}, []string{"0 passed, 1 failed", "2 calls,"}},
		{"the earlier prompt", func(s string) string { return strings.Replace(s, "fruit please", "fruit now", 1) }, false, nil, []string{"1 passed, 1 failed", "2 calls,"}},
	} {
		written := filepath.Join(dir, file)
		if step.change != nil {
			before, err := os.ReadFile(written)
			if err != nil {
				t.Fatal(err)
			}
			after := step.change(string(before))
			if after == string(before) {
				t.Fatalf("%s changes nothing", step.name)
			}
			if err := os.WriteFile(written, []byte(after), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if step.forget {
			if err := os.RemoveAll(filepath.Join(dir, ".gavel")); err != nil {
				t.Fatal(err)
			}
		}
		calls := plannedCalls(t, dir, step.args...)
		stdout, stderr, _ := withModelKey(t, dir, append([]string{"run"}, step.args...)...)
		if made := step.want[1]; made != fmt.Sprintf("%d call%s,", calls, strings.Repeat("s", min(1, max(calls-1, 1-calls)))) && len(step.args) > 0 {
			t.Errorf("%s: the plan has %d calls, and the run %s", step.name, calls, made)
		}
		for _, want := range step.want {
			if !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) {
				t.Errorf("%s: it says no %q:\n%s%s", step.name, want, stdout, stderr)
			}
		}
	}
}

// TestRecordedOutputs: a recording has the answers that a test has of others, also where all is
// stored and the test is recorded alone, so that a replay judges it.
func TestRecordedOutputs(t *testing.T) {
	t.Parallel()
	const text = `prompts: ["{{message}}"]
tests:
- {description: zero, vars: {message: fruit please}, options: {storeOutputAs: fruit}, assert: [{type: equals, value: pear}]}
- {description: first, vars: {message: "Why {{fruit}}?"}, options: {storeOutputAs: why}, assert: [{type: contains, value: "{{fruit}}"}]}
- {description: second, vars: {message: "Why not, {{why}}"}, assert: [{type: equals, value: "Why not, Why pear?"}]}
`
	const live, replay = "{provider: mock, replies: [{match: ^fruit, reply: pear}, {match: ^Why, echo: true}]}", "{provider: replay, path: recordings/x.jsonl}"
	config := func(target string) []byte { return []byte("version: 1\ntargets: {x: " + target + "}\n") }
	for _, cases := range [][]string{nil, {"*#second"}} {
		for _, stored := range []bool{false, true} {
			dir := t.TempDir()
			gittest.Init(t, dir, "master")
			gittest.Commit(t, dir, map[string]string{"promptfooconfig.yaml": text, "gavel.yaml": string(config(live))})
			if stored {
				withModelKey(t, dir, "run")
			}
			if stdout, stderr, code := withModelKey(t, dir, append([]string{"run", "--record"}, cases...)...); code != 0 {
				t.Fatalf("%v, stored %v: the recording ends with %d:\n%s%s", cases, stored, code, stdout, stderr)
			}
			if err := os.WriteFile(filepath.Join(dir, "gavel.yaml"), config(replay), 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := withModelKey(t, dir, append([]string{"run", "--ledger", "new.db"}, cases...)...)
			if code != 0 || !strings.Contains(stdout, "0 failed") || !strings.Contains(stdout, "3 calls") {
				t.Errorf("%v, stored %v: the replay ends with %d:\n%s%s", cases, stored, code, stdout, stderr)
			}
		}
	}
}
