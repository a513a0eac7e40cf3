package load

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSuites are found in every form, and the files that they refer to are no
// definitions of their own.
func TestSuites(t *testing.T) {
	res := loadAll(t, map[string]string{
		"test_definitions/greet.yaml":       "evalcases:\n- {id: hi, expected_outcome: Greets, input: [{role: user, content: [{type: file, value: data/hi.json}]}]}\n",
		"test_definitions/list.yaml":        "- {id: hi, expected_outcome: Greets, input: Hi}\n- {id: ho, expected_outcome: Greets, input: Ho}\n",
		"test_definitions/lines.jsonl":      `{"id": "hi", "expected_outcome": "Greets", "input": "Hi"}` + "\n",
		"test_definitions/lines.yaml":       "name: lines\nexecution: {timeout_seconds: 7}\n",
		"test_definitions/data/hi.json":     `{"persona": "not one"}`,
		"test_definitions/sub/greet.yaml":   "evalcases: [{id: hi, expected_outcome: Greets, input: Hi}]\n",
		"test_definitions/sub/broken.yaml":  "evalcases: [{id: hi, expected_outcome: Greets}]\n",
		"test_definitions/sub/empty.yaml":   "evalcases: []\n",
		"test_definitions/sub/package.json": "{}",
	})
	var keys, problems []string
	for _, c := range res.Cases {
		keys = append(keys, c.Key+" "+c.Policy.Timeout.String())
	}
	for _, p := range res.Problems {
		problems = append(problems, p.String())
	}
	wantKeys := []string{"greet#hi 5m0s", "lines#hi 7s", "list#hi 5m0s", "list#ho 5m0s", "sub/greet#hi 5m0s"}
	if diff := cmp.Diff(wantKeys, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	wantProblems := []string{
		`test_definitions/sub/broken.yaml:1:13: error: the case has no input; add "input": … or "input_messages": …`,
		"test_definitions/sub/empty.yaml:1:12: error: `evalcases` has 0 items; it must have at least 1 item",
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestASuiteIsLoadedAgain when a file next to its lines changes, and when a missing one
// appears.
func TestASuiteIsLoadedAgain(t *testing.T) {
	files := map[string]string{
		"test_definitions/a.jsonl":   `{"id": "hi", "expected_outcome": "Greets", "input": "Hi"}` + "\n",
		"test_definitions/a.yaml":    "execution: {evaluators: [{type: code_judge, script: [./run/judge.py]}]}\n",
		"test_definitions/run/x.txt": "x",
	}
	snapshot, err := Scan(t.Context(), fsOf(files), Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		file, text string
		cases      int
	}{
		{"test_definitions/run/judge.py", "judge", 1},
		{"test_definitions/a.yaml", "execution: {evaluators: [{type: code_judge}]}\n", 0},
		{"test_definitions/a.yaml", "execution: {evaluators: [{type: code_judge, script: [./run/judge.py]}]}\n", 1},
	} {
		files[step.file] = step.text
		change, err := snapshot.Update(t.Context(), fsOf(files), Options{Settings: settings}, []string{step.file})
		if err != nil {
			t.Fatal(err)
		}
		snapshot = change.Snapshot()
		if got := snapshot.Totals().Cases; got != step.cases {
			t.Errorf("after %s there are %d cases, want %d; problems %v", step.file, got, step.cases, snapshot.Problems())
		}
	}
	// A program next to the judge may be loaded by it.
	files["test_definitions/run/other.py"] = "other"
	change, err := snapshot.Update(t.Context(), fsOf(files), Options{Settings: settings}, []string{"test_definitions/run/other.py"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(1, len(change.Result.Cases)); diff != "" {
		t.Errorf("cases that a program next to the judge affects (-want +got):\n%s", diff)
	}
}

// TestTwoSidecars holds that the keys of a suite without effect get a message.
func TestTwoSidecars(t *testing.T) {
	files := map[string]string{
		"test_definitions/a.jsonl": `{"id": "x", "expected_outcome": "y", "input": "z"}`,
		"test_definitions/a.yaml":  "name: read\n", "test_definitions/a.yml": "name: unread\n",
	}
	want := "test_definitions/a.yml:1:1: warning: the file is not read, since a.yaml is next to it; move its keys into a.yaml and remove it"
	if res := loadAll(t, files); len(res.Problems) != 1 || res.Problems[0].String() != want {
		t.Errorf("got %v, want %s", res.Problems, want)
	}
	delete(files, "test_definitions/a.yaml")
	if res := loadAll(t, files); len(res.Problems) != 0 {
		t.Errorf("one of them alone: %v", res.Problems)
	}
}
