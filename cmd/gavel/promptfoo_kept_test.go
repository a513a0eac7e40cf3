package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

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
		stdout, stderr, _ := withModelKey(t, dir, append([]string{"run"}, step.args...)...)
		for _, want := range step.want {
			if !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) {
				t.Errorf("%s: it says no %q:\n%s%s", step.name, want, stdout, stderr)
			}
		}
	}
}
