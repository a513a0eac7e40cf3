package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// words are the words of an expression: strings, operators, and names with dots.
var words = regexp.MustCompile(`\s*('[^']*'|\|\||&&|==|!=|[(),]|[A-Za-z_.]+)`)

// An expressed is an expression of a workflow that is evaluated as GitHub does.
type expressed struct {
	t     *testing.T
	words []string
	names map[string]any
}

// evaluateExpression returns the value of a text with expressions, or of a bare one.
func evaluateExpression(t *testing.T, text string, names map[string]any) string {
	t.Helper()
	one := func(source string) string {
		e := expressed{t: t, names: names}
		for _, m := range words.FindAllStringSubmatch(source, -1) {
			e.words = append(e.words, m[1])
		}
		if left := strings.TrimSpace(words.ReplaceAllString(source, "")); left != "" {
			t.Fatalf("the test does not know %q", left)
		}
		v := e.or()
		if len(e.words) > 0 {
			t.Fatalf("the test does not know %q", e.words)
		}
		return fmt.Sprint(v)
	}
	if !strings.Contains(text, "${{") {
		return one(text)
	}
	return expression.ReplaceAllStringFunc(text, func(found string) string { return one(expression.FindStringSubmatch(found)[1]) })
}

func (e *expressed) take(word string) bool {
	ok := len(e.words) > 0 && e.words[0] == word
	if ok {
		e.words = e.words[1:]
	}
	return ok
}

func truth(v any) bool { return v != nil && v != false && v != "" && v != float64(0) }

func (e *expressed) or() any {
	v := e.and()
	for e.take("||") {
		if next := e.and(); !truth(v) {
			v = next
		}
	}
	return v
}

func (e *expressed) and() any {
	v := e.equal()
	for e.take("&&") {
		if next := e.equal(); truth(v) {
			v = next
		}
	}
	return v
}

func (e *expressed) equal() any {
	v := e.atom()
	switch {
	case e.take("=="):
		return v == e.atom()
	case e.take("!="):
		return v != e.atom()
	}
	return v
}

func (e *expressed) atom() any {
	word := e.words[0]
	e.words = e.words[1:]
	switch {
	case word == "(":
		v := e.or()
		e.take(")")
		return v
	case word[0] == '\'':
		return strings.Trim(word, "'")
	case !e.take("("):
		var v any = e.names
		for part := range strings.SplitSeq(word, ".") {
			inner, _ := v.(map[string]any)
			v = inner[part]
		}
		return v
	}
	args := []any{e.or()}
	for e.take(",") {
		args = append(args, e.or())
	}
	e.take(")")
	switch text := strings.ToLower(fmt.Sprint(args[len(args)-1])); word {
	case "startsWith":
		return args[0] != nil && strings.HasPrefix(strings.ToLower(fmt.Sprint(args[0])), text)
	case "fromJSON":
		var v any
		if err := json.Unmarshal([]byte(args[0].(string)), &v); err != nil {
			e.t.Fatal(err)
		}
		return v
	case "contains":
		for _, one := range args[0].([]any) {
			if strings.ToLower(fmt.Sprint(one)) == text {
				return true
			}
		}
		return false
	}
	e.t.Fatalf("the test does not know %s()", word)
	return nil
}

// TestTheExampleStartsAndEndsJobs: one at a time for each pull request, talk in
// nobody's way, and only pushes and those who belong to the repository end what
// is in progress.
func TestTheExampleStartsAndEndsJobs(t *testing.T) {
	var w struct {
		Concurrency struct {
			Group  string
			Cancel string `yaml:"cancel-in-progress"`
		}
		Jobs map[string]struct {
			If string
			// CacheMode lets what a comment starts save its ledger.
			CacheMode string `yaml:"cache-mode"`
		}
	}
	if err := yaml.Unmarshal([]byte(workflowFiles(t)["examples/workflow/gavel.yml"]), &w); err != nil {
		t.Fatal(err)
	}
	if mode := w.Jobs["gavel"].CacheMode; mode != "write" {
		t.Errorf("the cache's mode is %q", mode)
	}
	const pull = `{"number": 7, "pull_request": {"url": "x"}}`
	comment := func(issue, who, body string) string {
		return fmt.Sprintf(`{"issue": %s, "comment": {"body": %q, "author_association": %q}}`, issue, body, who)
	}
	for _, tt := range []struct{ what, event, payload, group, cancel, starts string }{
		{"a head", "pull_request_target", `{"pull_request": {"number": 7}}`, "gavel-7", "true", "true"},
		{"another head", "pull_request_target", `{"pull_request": {"number": 8}}`, "gavel-8", "true", "true"},
		{"a merge group", "merge_group", `{"merge_group": {}}`, "gavel-refs/heads/main", "false", "true"},
		{"a push", "push", `{"ref": "refs/heads/main"}`, "gavel-refs/heads/main", "false", "true"},
		{"a schedule", "schedule", `{"schedule": "17 3 * * 1,4"}`, "gavel-refs/heads/main", "false", "true"},
		{"a person", "workflow_dispatch", `{"ref": "refs/heads/main"}`, "gavel-refs/heads/main", "false", "true"},
		{"a command", "issue_comment", comment(pull, "NONE", "/gavel help"), "gavel-7", "false", "true"},
		{"a cancel", "issue_comment", comment(pull, "MEMBER", "/gavel cancel"), "gavel-7", "true", "true"},
		{"a stranger's cancel", "issue_comment", comment(pull, "CONTRIBUTOR", "/gavel cancel"), "gavel-7", "false", "true"},
		{"talk", "issue_comment", comment(pull, "OWNER", "nice /gavel cancel"), "gavel-99", "false", "false"},
		{"a command on an issue", "issue_comment", comment(`{"number": 7}`, "OWNER", "/gavel run"), "gavel-99", "false", "<nil>"},
		{"a cancel on an issue", "issue_comment", comment(`{"number": 7}`, "OWNER", "/gavel cancel"), "gavel-99", "true", "<nil>"},
		{"a comment of somebody", "issue_comment", comment(pull, "NONE", "${{ github.token }}' || 'x"), "gavel-99", "false", "false"},
	} {
		var event map[string]any
		if err := json.Unmarshal([]byte(tt.payload), &event); err != nil {
			t.Fatal(err)
		}
		names := map[string]any{"github": map[string]any{
			"event": event, "event_name": tt.event, "run_id": "99", "ref": "refs/heads/main",
		}}
		if got := evaluateExpression(t, w.Concurrency.Group, names); got != tt.group {
			t.Errorf("%s: the group is %s, want %s", tt.what, got, tt.group)
		}
		if got := evaluateExpression(t, w.Concurrency.Cancel, names); got != tt.cancel {
			t.Errorf("%s: it ends others: %s, want %s", tt.what, got, tt.cancel)
		}
		if got := evaluateExpression(t, w.Jobs["gavel"].If, names); got != tt.starts {
			t.Errorf("%s: it starts: %s, want %s", tt.what, got, tt.starts)
		}
	}
}

// TestTheExampleWithoutForks starts no job for a fork, never has the keys in a job of
// pull_request_target, and judges the base branch by the same events as the other one.
func TestTheExampleWithoutForks(t *testing.T) {
	type file struct {
		On          map[string]any
		Concurrency struct {
			Group  string
			Cancel string `yaml:"cancel-in-progress"`
		}
		Jobs map[string]struct{ If string }
	}
	var w, other file
	for _, tt := range []struct {
		name string
		into *file
	}{{"without-forks", &w}, {"gavel", &other}} {
		if err := yaml.Unmarshal([]byte(workflowFiles(t)["examples/workflow/"+tt.name+".yml"]), tt.into); err != nil {
			t.Fatal(err)
		}
	}
	for _, event := range []string{"push", "schedule", "workflow_dispatch", "merge_group"} {
		of, known := w.On[event]
		if was, has := other.On[event]; !known || !has || fmt.Sprint(of) != fmt.Sprint(was) {
			t.Errorf("%s is %v here and %v in the other workflow", event, of, was)
		}
	}
	for _, of := range []any{w.On["pull_request"], other.On["pull_request_target"]} {
		// An edit may choose another base branch, and a closed one no longer counts for its commit.
		if got := fmt.Sprint(of); got != "map[types:[opened synchronize reopened edited closed]]" {
			t.Errorf("pull requests start it for %s", got)
		}
	}
	if w.On["pull_request_target"] != nil || w.On["issue_comment"] != nil || len(w.On) != 5 {
		t.Errorf("it starts on %v", w.On)
	}
	for _, tt := range []struct{ what, event, payload, group, cancel, starts string }{
		{"a head", "pull_request", `{"pull_request": {"number": 7, "head": {"repo": {"full_name": "octo/demo"}}}}`, "gavel-7", "true", "true"},
		{"a fork", "pull_request", `{"pull_request": {"number": 7, "head": {"repo": {"full_name": "mona/demo"}}}}`, "gavel-7", "true", "false"},
		{"a push", "push", `{}`, "gavel-refs/heads/main", "false", "true"},
		{"a schedule", "schedule", `{}`, "gavel-refs/heads/main", "false", "true"},
	} {
		var event map[string]any
		if err := json.Unmarshal([]byte(tt.payload), &event); err != nil {
			t.Fatal(err)
		}
		names := map[string]any{"github": map[string]any{"event": event, "event_name": tt.event, "repository": "octo/demo", "ref": "refs/heads/main"}}
		got := []string{evaluateExpression(t, w.Concurrency.Group, names), evaluateExpression(t, w.Concurrency.Cancel, names), evaluateExpression(t, w.Jobs["gavel"].If, names)}
		if want := []string{tt.group, tt.cancel, tt.starts}; !slices.Equal(got, want) {
			t.Errorf("%s: group, cancel and start are %v, want %v", tt.what, got, want)
		}
	}
}

// workflowFiles are all that a runner of GitHub reads of this project, and the
// example that is copied.
func workflowFiles(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"../../.github/workflows/*.yml", "../../.github/actions/*/action.yml", "../../examples/workflow/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: error %v, want files", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[strings.TrimPrefix(file, "../../")] = string(data)
		}
	}
	return texts
}

// A workflow has the parts of a file that these tests read.
type workflow struct {
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Strategy    struct{ Matrix struct{ OS, Go []string } }
		Steps       []step
	}
	Runs struct{ Steps []step }
}

// TestWorkflows holds what makes a workflow safe: scripts without expressions
// (abuse 9), actions of others by commit, no checkout of what a stranger wrote,
// and no permission that is not needed.
func TestWorkflows(t *testing.T) {
	pinned := regexp.MustCompile(`^actions/[a-z/-]+@[0-9a-f]{40}$`)
	granted := map[string]map[string]string{
		".github/workflows/ci.yml":            {"contents": "read"},
		".github/workflows/release.yml":       {"contents": "write", "id-token": "write", "attestations": "write"},
		".github/workflows/oracle.yml":        {"contents": "read", "issues": "write"},
		"examples/workflow/gavel.yml":         {"contents": "read", "pull-requests": "write", "statuses": "write", "checks": "write"},
		"examples/workflow/without-forks.yml": {"contents": "read", "pull-requests": "write", "statuses": "write", "checks": "write"},
	}
	for file, text := range workflowFiles(t) {
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil {
			t.Errorf("%s: %v, want a workflow that can be read", file, err)
			continue
		}
		steps, permissions := w.Runs.Steps, map[string]string{}
		maps.Copy(permissions, w.Permissions)
		for _, job := range w.Jobs {
			steps = append(steps, job.Steps...)
			maps.Copy(permissions, job.Permissions)
		}
		if diff := cmp.Diff(granted[file], permissions); diff != "" && len(w.Jobs) > 0 {
			t.Errorf("%s: permissions (-want +got):\n%s", file, diff)
		}
		if len(w.Jobs) > 0 && w.Permissions == nil {
			t.Errorf("%s: what is not granted is not refused", file)
		}
		for _, s := range steps {
			if expression.MatchString(s.Run) {
				t.Errorf("%s: an expression stands in a script:\n%s", file, s.Run)
			}
			if s.Uses != "" && !pinned.MatchString(s.Uses) && !strings.HasPrefix(s.Uses, "gavel-evals/gavel/") {
				t.Errorf("%s: %s is not a commit", file, s.Uses)
			}
			if _, target := w.On["pull_request_target"]; target && strings.HasPrefix(s.Uses, "actions/checkout") {
				t.Errorf("%s checks out in a job of pull_request_target", file)
			}
		}
	}
}

// TestTheWorkflowOfThisProject runs what a change has to pass.
func TestTheWorkflowOfThisProject(t *testing.T) {
	var w workflow
	if err := yaml.Unmarshal([]byte(workflowFiles(t)[".github/workflows/ci.yml"]), &w); err != nil {
		t.Fatal(err)
	}
	steps := w.Jobs["check"].Steps
	if len(steps) == 0 || steps[len(steps)-1].Run != ".ci/run" {
		t.Errorf("the last step is %+v", steps)
	}
	oldest, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoVersion}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	tested := w.Jobs["test"].Strategy.Matrix
	if want := []string{strings.TrimSpace(string(oldest)), "stable"}; !slices.Equal(tested.Go, want) {
		t.Errorf("the tests run with Go %v, want %v", tested.Go, want)
	}
	for _, system := range []string{"ubuntu", "macos", "windows"} {
		if !slices.ContainsFunc(tested.OS, func(os string) bool { return strings.HasPrefix(os, system+"-") }) {
			t.Errorf("the tests run on %v, want %s among them", tested.OS, system)
		}
	}
	info, err := os.Stat("../../.ci/run")
	if err != nil || runtime.GOOS != "windows" && info.Mode()&0o100 == 0 {
		t.Errorf(".ci/run is not a program: %v", err)
	}
}

// TestTheExampleUsesTheAction as it is: its inputs exist.
func TestTheExampleUsesTheAction(t *testing.T) {
	text := workflowFiles(t)["examples/workflow/gavel.yml"]
	if !strings.Contains(text, "uses: gavel-evals/gavel/.github/actions/gavel@") {
		t.Error("the action is not used")
	}
	_, with, _ := strings.Cut(text, "# with:\n")
	inputs := readAction(t).Inputs
	found := regexp.MustCompile(`(?m)^ +#   ([a-z-]+):`).FindAllStringSubmatch(with, -1)
	for _, name := range found {
		if _, ok := inputs[name[1]]; !ok {
			t.Errorf("the action has no input %q", name[1])
		}
	}
	if len(found) != len(inputs)-1 { // the token has a default that fits
		t.Errorf("%d inputs are shown, and there are %d", len(found), len(inputs))
	}
}
