package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

const listedFile = "evalcases:\n  - {id: window, input: hi, checks: [{contains: hello}]}\n  - {id: other, input: hi, checks: [{contains: bye}]}\n"

// TestList lists every case with its file, target and last verdict.
func TestList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": mistakeConfig, mistakeFile: listedFile})
	want := "test_definitions/refund.yaml\n  not run     –     refund#other   bot\n  not run     –     refund#window  bot\n2 cases, 0 judged\n"
	if stdout, stderr, code := gavel(t, dir, "list"); code != ExitPass || stdout != want {
		t.Errorf("before a run: exit code %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
	gavel(t, dir, "run")
	want = "test_definitions/refund.yaml\n  fail        0.00  refund#other   bot\n  pass        1.00  refund#window  bot\n2 cases, 2 judged\n"
	if stdout, stderr, code := gavel(t, dir, "list"); code != ExitPass || stdout != want {
		t.Errorf("after a run: exit code %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
	stdout, _, _ := gavel(t, dir, "list", "--json", "refund#window")
	var list struct {
		Cases []struct {
			Key, Target, File, Verdict string
			Line                       int
			Score                      *float64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatal(err, stdout)
	}
	if len(list.Cases) != 1 {
		t.Fatalf("the selection has %d cases, want 1\n%s", len(list.Cases), stdout)
	}
	if c := list.Cases[0]; c.Key != "refund#window" || c.Target != "bot" || c.File != mistakeFile || c.Line != 2 || c.Verdict != "pass" || c.Score == nil || *c.Score != 1 {
		t.Errorf("the case is %+v", c)
	}
	gittest.Commit(t, dir, map[string]string{"test_definitions/broken.yaml": "evalcases: 3\n"})
	stdout, stderr, code := gavel(t, dir, "list")
	if code != ExitUsage || !strings.Contains(stderr+stdout, "test_definitions/broken.yaml:1:") || !strings.Contains(stdout, "refund#window") {
		t.Errorf("with a definition that is invalid: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestListOfErrors says error of a case whose last run ended in one, until it is judged. A
// case that never ran is not run, and one that was not run again keeps its end.
func TestListOfErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	const away = "  - {id: away, input: hi, execution: {target: away}, checks: [{contains: hello}]}\n"
	config := func(target string) string {
		return mistakeConfig + "  away: " + target + "\ndefault_target: bot\n"
	}
	const broken, works = "{provider: command, argv: [shh]}", `{provider: mock, replies: [{reply: hello!}]}`
	says := func(want string) {
		t.Helper()
		if stdout, stderr, code := gavel(t, dir, "list"); code != ExitPass || stdout != "test_definitions/refund.yaml\n"+want {
			t.Errorf("exit code %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
		}
	}
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": config(broken), mistakeFile: listedFile + away})
	gavel(t, dir, "run", "--sandbox", "off", "refund#away", "refund#window")
	const ended = "  error       –     refund#away    away\n  not run     –     refund#other   bot\n  pass        1.00  refund#window  bot\n3 cases, 1 judged, 1 ended in an error\n"
	says(ended)
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": config("{provider: openai, model: m, api_key_env: NO_SUCH_KEY}")})
	gavel(t, dir, "run", "--sandbox", "off", "refund#away", "refund#window") // the key is missing, so away is not run
	says(ended)
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": config(works)})
	gavel(t, dir, "run", "--sandbox", "off", "refund#away")
	const passed = "  pass        1.00  refund#away    away\n  not run     –     refund#other   bot\n  pass        1.00  refund#window  bot\n3 cases, 2 judged\n"
	says(passed)
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": config(broken)})
	gavel(t, dir, "run", "--sandbox", "off", "--fresh", "refund#away", "refund#window")
	says(ended)
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": config(works)})
	says(passed) // the verdict of these files is stored
}

// TestTheLastPartOfAKey is taken for the keys that end with it, wherever a case is named.
func TestTheLastPartOfAKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": mistakeConfig, mistakeFile: listedFile})
	gavel(t, dir, "run")
	for _, command := range []string{"explain", "run", "plan", "list", "history"} {
		if stdout, stderr, code := gavel(t, dir, command, "window"); code != ExitUsage || !strings.Contains(stderr, "did you mean `refund#window`?") {
			t.Errorf("%s: exit code %d\n%s%s", command, code, stdout, stderr)
		}
	}
}

// TestListOfRows names rows of a matrix by their variables next to the key, which has a hash.
func TestListOfRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{
		"gavel.yaml":                   mistakeConfig,
		"test_definitions/matrix.yaml": "prompts: ['Say {{x}}']\ntests:\n  - {vars: {x: a wish}}\n",
	})
	stdout, stderr, code := gavel(t, dir, "list")
	if code != ExitPass || !regexp.MustCompile(`matrix#a-wish-\S+\s+bot · a wish\n`).MatchString(stdout) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if stdout, _, _ := gavel(t, dir, "list", "--json"); !strings.Contains(stdout, `"title": "a wish"`) {
		t.Errorf("the list in JSON lacks the title:\n%s", stdout)
	}
}
