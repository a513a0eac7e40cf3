package editor

import (
	"net/url"
	"strings"
	"testing"
)

// TestNewTest holds that the page of a new test leads to its form, whatever was typed as its
// file, and keeps what was typed if there is none.
func TestNewTest(t *testing.T) {
	files := map[string]string{
		"test_definitions/math/domain.json":           mathFiles["test_definitions/math/domain.json"],
		"test_definitions/math/level_1/sum.json":      mathFiles["test_definitions/math/level_1/sum.json"],
		"test_definitions/suites/cases.yaml":          everyFormat["test_definitions/suites/cases.yaml"],
		"test_definitions/talk/greeting.yaml":         everyFormat["test_definitions/talk/greeting.yaml"],
		".claude/skills/notes/SKILL.md":               skillFiles[".claude/skills/notes/SKILL.md"],
		".claude/skills/notes/evals/evals.json":       skillFiles[".claude/skills/notes/evals/evals.json"],
		"test_definitions/suites/promptfooconfig.yml": "prompts: [x]\n",
	}
	for _, tt := range []struct {
		name, query string
		status      int
		has         []string
	}{
		{"nothing yet", "", 200, []string{`value="evalcase" checked`, `value="domain"`, `value="testcase"`, `value="promptval"`, `value="matrix"`, `value="skill"`, `<option>test_definitions/suites/cases.yaml</option>`, `<option>math</option>`}},
		{"from a folder", "folder=test_definitions/talk", 200, []string{`placeholder="test_definitions/talk/greets.yaml"`}},
		{"from a folder elsewhere", "folder=.claude/skills/notes/evals", 200, []string{`placeholder="test_definitions/greets.yaml"`}},
		{"a name alone", "format=evalcase&name=Greets+kindly!&file=", 200, []string{`<code>test_definitions/greets_kindly.yaml</code>`, `name="f.id" value="Greets kindly!"`, `name="f.expected_outcome"`, `name="f.input"`}},
		{"a file without a folder", "format=testcase&name=Greets&file=greet.yaml", 200, []string{`<code>test_definitions/greet.yaml</code>`, `name="f.name" value="Greets"`}},
		{"a file without an ending", "format=promptval&name=Greets&file=greet", 200, []string{`<code>test_definitions/greet.yaml</code>`, `name="f.name" value="Greets"`}},
		{"a folder", "format=testcase&name=Greets&file=test_definitions/talk/", 200, []string{`<code>test_definitions/talk/greets.yaml</code>`}},
		{"a file with several", "format=evalcase&name=three&file=test_definitions/suites/cases.yaml", 200, []string{`<code>test_definitions/suites/cases.yaml</code>`, `name="item" value="new"`, `name="f.id" value="three"`}},
		{"a file with one", "format=testcase&name=Bye&file=test_definitions/talk/greeting.yaml", 400, []string{"has one test alone", `value="test_definitions/talk/greeting.yaml"`, `name="name" value="Bye"`, `value="testcase" checked`}},
		{"a file of another format", "format=testcase&name=Bye&file=test_definitions/suites/cases.yaml", 400, []string{"its format is evalcase", `value="test_definitions/suites/cases.yaml"`}},
		{"a file elsewhere", "format=evalcase&name=Bye&file=src/bye.yaml", 400, []string{"src/bye.yaml is not a file of definitions", `value="src/bye.yaml"`, `name="name" value="Bye"`}},
		{"a domain", "format=domain&name=Difference&domain=math&level=2&file=", 200, []string{"New test", `name="f.name" value="Difference"`, "<option selected>math</option>", `name="level" value="2"`}},
		{"promptfoo", "format=matrix&file=", 200, []string{`name="path" value="test_definitions/promptfooconfig.yaml"`, "prompts: ["}},
		{"the only evals", "format=skill&file=", 200, []string{`name="path" value=".claude/skills/notes/evals/evals.json"`, "Note this"}},
		{"other evals", "format=skill&file=x.json", 400, []string{"name the file of evals: .claude/skills/notes/evals/evals.json"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, files)
			status, page := r.ask("/tests/new?"+tt.query, nil)
			if status != tt.status {
				t.Errorf("it is answered with %d, want %d", status, tt.status)
			}
			r.has(strings.ReplaceAll(page, "Name the file", "name the file"), tt.has...)
		})
	}
	r := newReader(t, nil)
	status, page := r.ask("/tests/new?format=domain&file=", nil)
	if r.has(page, "add one first", `href="/settings/edit?kind=domain"`); status != 400 {
		t.Errorf("without a domain it is answered with %d, want 400", status)
	}
}

// TestFormOfANewCase makes a file of the evalcase format by the fields of its first case, and
// shows the form of the saved case.
func TestFormOfANewCase(t *testing.T) {
	for file, want := range map[string]string{
		"test_definitions/new.yaml": "evalcases:\n  - id: One\n    expected_outcome: It greets.\n    input: Hi\n",
		"test_definitions/new.json": "{\n  \"evalcases\": [\n    {\n      \"id\": \"One\",\n      \"expected_outcome\": \"It greets.\",\n      \"input\": \"Hi\"\n    }\n  ]\n}\n",
	} {
		r := newReader(t, nil)
		_, page := r.ask("/settings/form?format=evalcase&path="+file, nil)
		status, saved := r.ask(r.action(page), r.form(page, url.Values{"f.id": {"One"}, "f.input": {"Hi"}, "f.expected_outcome": {"It greets."}, "action": {"save"}}))
		r.has(saved, "Saved", `name="item" value="0"`, `name="f.id" value="One"`)
		if got := r.file(file); status != 200 || got != want {
			t.Errorf("%d: the file is\n%s\nwant\n%s", status, got, want)
		}
		status, again := r.ask(r.action(saved), r.form(saved, url.Values{"f.input": {"Hello"}, "action": {"save"}}))
		if r.has(again, "Saved"); status != 200 || !strings.Contains(r.file(file), "Hello") {
			t.Errorf("%d: a second change is not saved: %s", status, r.file(file))
		}
	}
}
