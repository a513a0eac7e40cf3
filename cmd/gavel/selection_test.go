package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// selectionFiles are a repository whose three prompts are compared for each of two
// tests. SERVER is the address of the models.
var selectionFiles = map[string]string{
	"gavel.yaml": `version: 1
default_target: bot
targets:
  bot: {provider: openai, model: echo, base_url: "SERVER/v1"}
  judge: {provider: openai, model: judge, base_url: "SERVER/v1"}
roles: {judge: judge}
`,
	"promptfooconfig.yaml": `prompts: [file://one.txt, file://two.txt, file://three.txt]
providers: [bot]
tests:
- description: first
  vars: {q: tea}
  assert:
  - {type: select-best, value: it has the word best}
- description: second
  vars: {q: milk}
  assert:
  - {type: select-best, value: it has the word best}
  - {type: contains, value: milk}
`,
	"one.txt": "a {{q}}", "two.txt": "the best {{q}}", "three.txt": "some {{q}}",
}

// TestSelectionCalls counts the calls that comparing answers takes: each answer is asked
// for once, and the judge once for each test, whichever rows are run and how often. A
// changed prompt asks for its answer and has all of them compared again.
func TestSelectionCalls(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		var said struct{ Model string }
		if err != nil || json.Unmarshal(data, &said) != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		mu.Lock()
		calls[said.Model]++
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(data))
		formsChat(w, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	files := map[string]string{}
	for name, text := range selectionFiles {
		files[name] = strings.ReplaceAll(text, "SERVER", server.URL)
	}
	gittest.Commit(t, dir, files)
	run := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := withModelKey(t, dir, args...)
		if code > 1 {
			t.Fatalf("gavel %s ends with %d: %s%s", strings.Join(args, " "), code, stdout, stderr)
		}
		return stdout
	}
	// twice compares the answers to the first test by a second criterion, too.
	twice := func(criterion string) string {
		const second = "- description: second"
		return strings.Replace(files["promptfooconfig.yaml"], second, "  - {type: select-best, value: "+criterion+"}\n"+second, 1)
	}
	for _, step := range []struct {
		name        string
		args        []string
		edit        map[string]string
		echo, judge int
		says        string
	}{
		{name: "one row has the others answer", args: []string{"run", "promptfooconfig#first/two-txt"}, echo: 3, judge: 1, says: "1 passed"},
		{name: "its peers have their answers and the choice", args: []string{"run", "promptfooconfig#first*"}, says: "1 passed, 2 failed"},
		{name: "all rows", args: []string{"run"}, echo: 3, judge: 1, says: "2 passed, 4 failed"},
		{name: "nothing is new", args: []string{"run"}, says: "0 calls"},
		{name: "an assertion of one test", args: []string{"run"}, edit: map[string]string{"promptfooconfig.yaml": strings.ReplaceAll(files["promptfooconfig.yaml"], "value: milk", "value: best")}, says: "re-judged"},
		{name: "another comparison", args: []string{"run"}, edit: map[string]string{"promptfooconfig.yaml": twice("it has the word best before all others")}, judge: 1, says: "3 re-judged"},
		{name: "one of two comparisons", args: []string{"run"}, edit: map[string]string{"promptfooconfig.yaml": twice("it has the word best after all others")}, judge: 1, says: "3 re-judged"},
		{name: "whatever is stored", args: []string{"run", "--fresh"}, edit: map[string]string{"promptfooconfig.yaml": files["promptfooconfig.yaml"]}, echo: 6, judge: 2, says: "2 passed, 4 failed"},
		{name: "three samples", args: []string{"run", "--repeat", "3"}, echo: 18, judge: 6, says: "2 passed, 4 failed"},
		{name: "a changed prompt", args: []string{"run", "--base", "HEAD"}, edit: map[string]string{"promptfooconfig.yaml": files["promptfooconfig.yaml"], "three.txt": "any {{q}}"}, echo: 2, judge: 2, says: "4 failed"},
	} {
		for name, text := range step.edit {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		mu.Lock()
		clear(calls)
		mu.Unlock()
		printed := run(step.args...)
		if got, want := fmt.Sprint(calls["echo"], calls["judge"]), fmt.Sprint(step.echo, step.judge); got != want {
			t.Errorf("%s: target and judge were asked %s times, want %s\n%s", step.name, got, want, printed)
		}
		if !strings.Contains(printed, step.says) {
			t.Errorf("%s: the run does not say %q:\n%s", step.name, step.says, printed)
		}
	}
	if plan := run("plan", "--base", "HEAD"); strings.Count(plan, "compared answers changed in three.txt") != 6 {
		t.Errorf("the plan does not say of six rows that the answers changed that they are compared with:\n%s", plan)
	}
}
