package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/examples"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/schema/golden"
)

func TestMain(m *testing.M) {
	if served() {
		return
	}
	testscript.Main(m, map[string]func(){"gavel": main, "gavel-in-a-job": inAJob, "stubborn": stubborn})
}

// raceOptions is GORACE for the commands that tests start. Otherwise the race detector
// makes each of hundreds wait for a second at its end.
const raceOptions = "atexit_sleep_ms=0"

// stubborn takes forever to put things in order.
func stubborn() {
	ctx := signalContext()
	fmt.Println("at work")
	<-ctx.Done()
	fmt.Println("in order soon")
	select {}
}

// TestScripts runs the command line as its users do. Every script shows one
// behaviour.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Update(),
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"await": await},
		Condition:     condition,
		Setup:         setupScript,
	})
}

// setupScript gives a script a git of its own.
func setupScript(env *testscript.Env) error {
	// A script makes a repository without this machine's settings.
	env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(env.WorkDir, ".gitconfig"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("GORACE", raceOptions)
	return os.WriteFile(filepath.Join(env.WorkDir, ".gitconfig"), []byte("[user]\nname = gavel\nemail = gavel@localhost\n[init]\ndefaultBranch = main\n"), 0o644)
}

// condition is true for isolated where this machine can isolate programs, and
// where everything is checked: there it has to.
func condition(name string) (bool, error) {
	if name != "isolated" {
		return false, fmt.Errorf("there is no condition %s", name)
	}
	if os.Getenv("CI") != "" {
		return true, nil
	}
	return canIsolate(), nil
}

// canIsolate starts programs to find out.
var canIsolate = sync.OnceValue(func() bool {
	_, err := sandbox.Open(context.Background(), sandbox.Policy{})
	return err == nil
})

// gavel runs the command line in a folder and gives what it printed and its
// exit code.
func gavel(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, LookupEnv: func(string) (string, bool) { return "", false }, Dir: dir, Program: "./gavel"}
	code = execute(t.Context(), a, args)
	return out.String(), errs.String(), code
}

// demoFolder makes the demo's repository, with the pull request checked out.
func demoFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := createDemo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mainOf is a repository with its branch main checked out.
func mainOf(t *testing.T, dir string) string {
	t.Helper()
	main := filepath.Join(t.TempDir(), "main")
	if _, err := git.PlainClone(main, false, &git.CloneOptions{URL: dir, ReferenceName: plumbing.Main}); err != nil {
		t.Fatal(err)
	}
	return main
}

// TestDemo compares all that the demo prints with testdata/demo.txt, and the
// comment in it with the README's.
func TestDemo(t *testing.T) {
	if golden.Update() {
		dir := demoFolder(t)
		recordSides(t, "mixed/main", side{mainOf(t, dir), "mixed_main.yaml"}, side{dir, "mixed_pull.yaml"})
	}
	needsIsolation(t)
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stderr, code := gavel(t, t.TempDir(), "demo")
	if code != exitPass || stderr != "" {
		t.Fatalf("exit code %d, stderr %s", code, stderr)
	}
	stdout = regexp.MustCompile(`(calls), [\d.]+ m?s`).ReplaceAllString(stdout, "$1, 20 ms")
	told, end, ok := strings.Cut(stdout, "\n\nrepository ")
	_, text, found := strings.Cut(told, comment.Marker+"\n")
	_, commands, suggested := strings.Cut(end, "Try it there:\n")
	if !ok || !found || !suggested {
		t.Fatalf("the demo prints %s", stdout)
	}
	golden.Compare(t, "testdata/demo.txt", told)
	inExamples(t, text)

	// The commands that its last lines suggest work from any folder.
	var said []string
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		if words[0] != "./gavel" {
			t.Fatalf("the demo suggests %s", line)
		}
		stdout, stderr, code := gavel(t, t.TempDir(), words[1:]...)
		said = append(said, fmt.Sprintf("%d %s%s", code, stdout, stderr))
	}
	for i, want := range []string{"2 .*9 to reuse, 1 moved", "2 .*0 calls,.* 3 cases regressed", "0 .*60 days"} {
		if !regexp.MustCompile("(?s)^" + want).MatchString(said[i]) {
			t.Errorf("%d: want %s:\n%s", i, want, said[i])
		}
	}
}

// TestProgram says what works where the demo was called.
func TestProgram(t *testing.T) {
	for _, tt := range []struct{ called, want string }{
		{"gavel", "gavel"}, {"./gavel", "./gavel"}, {"/opt/go-builds.d/x/gavel", "/opt/go-builds.d/x/gavel"},
		{"/tmp/go-build3084876763/b001/exe/gavel", "go run ./cmd/gavel"},
		{"/var/.cache/go-build/3a/3a0c-d/gavel", "go run ./cmd/gavel"},
	} {
		if got := demoProgram(tt.called, "../.."); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.called, got, tt.want)
		}
	}
	if got := demoProgram("/tmp/go-build1/b001/exe/gavel", t.TempDir()); got != "go run github.com/gavel-evals/gavel/cmd/gavel@latest" {
		t.Errorf("elsewhere: %s", got)
	}
}

// TestMixedExample runs the example with all dialects, and the pull request to
// it, against its recordings. Both have one ledger, so that every kind of
// change is seen to cost what it has to.
func TestMixedExample(t *testing.T) {
	needsIsolation(t)
	dir := demoFolder(t)
	store := "--ledger=" + filepath.Join(t.TempDir(), "ledger.db")
	want := map[string]string{
		"invoices#reminder":                   "pass 1.00 of 1 Friendly and complete.",
		"invoices#thanks":                     "pass 1.00 of 1 Thanks.",
		"invoices#total":                      "pass 1.00 of 1 The answer names 59.30.",
		"mails/delay":                         "fail 7.70 of 10 Open about the reason; the new date is missing.",
		"mails/ready":                         "fail 5.00 of 10 Nobody knows when to come.",
		"mails/welcome":                       "pass 10.00 of 10 Friendly and brief.",
		"returns#gives-a-wheel-back":          "pass 4.71 of 5 A quick and correct return.",
		"support/level_1/test_order_status":   "pass 1.00 of 1 1 of 1 expected tool calls were made",
		"support/level_1/test_refund_window":  "pass 1.00 of 1 the keyword was found",
		"support/level_2/test_angry_customer": "fail 0.50 of 1 Polite, but without an apology or a date.",
		"support/level_2/test_spare_part":     "pass 1.00 of 1 the keyword was found",
		"workshop#brakes":                     "pass 1.00 of 1 the check holds",
		"workshop#puncture":                   "pass 1.00 of 1 the check holds",
	}
	if diff := cmp.Diff(want, verdicts(runExample(t, mainOf(t, dir), store))); diff != "" {
		t.Errorf("main (-want +got):\n%s", diff)
	}
	changesOfTheDemo(t, dir, store)

	delete(want, "invoices#thanks")
	delete(want, "mails/welcome")
	maps.Copy(want, map[string]string{
		"invoices#reminder":                   "borderline 0.67 of 1 date: No date is named.",
		"payments#thanks":                     "pass 1.00 of 1 Thanks.",
		"mails/delay":                         "pass 7.70 of 10 Open about the reason; the new date is missing.",
		"mails/ready":                         "pass 9.00 of 10 Says when to come and what to bring.",
		"returns#asks-for-a-spare-key":        "pass 5.00 of 5 In the right order.",
		"support/level_1/test_refund_window":  `fail 0.00 of 1 the reply contains the forbidden "60 days"; 0 of 1 keywords were found; missing: "30 days"`,
		"support/level_2/test_angry_customer": "pass 1.00 of 1 Apologises and names the day of the refund.",
		"support/level_2/test_spare_part":     "the definition is invalid in test_definitions/support/level_2/test_spare_part.json ",
		"workshop#brakes":                     `fail 0.00 of 1 the answer does not contain "rims"`,
		"workshop#puncture":                   `fail 0.00 of 1 the answer does not contain "pump"`,
	})
	report := runExample(t, dir, "--base", "main", store)
	if diff := cmp.Diff(want, judgedOnly(report)); diff != "" {
		t.Errorf("the pull request (-want +got):\n%s", diff)
	}
	var problems []string
	for _, p := range report.Problems {
		problems = append(problems, p.Position.String()+" "+p.Message+"; "+p.Hint)
	}
	if want := "test_definitions/support/level_2/test_spare_part.json:5:3 unknown field `expcted`; did you mean `expected`?"; !slices.Equal(problems, []string{want}) {
		t.Errorf("problems %q, want %q", problems, want)
	}
	for _, row := range report.Cases {
		if paid := row.Calls > 0; paid != (row.Action == plan.Run || row.Action == plan.Rejudge) {
			t.Errorf("%s: %s makes %d calls", row.Key, row.Action, row.Calls)
		}
	}
}

// changesOfTheDemo holds what every kind of change in the pull request means.
func changesOfTheDemo(t *testing.T, dir, store string) {
	t.Helper()
	stdout, stderr, code := gavel(t, dir, "plan", "--base", "main", "--json", store)
	var got reporters.Plan
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, stderr)
	}
	means := map[string]string{}
	for _, c := range got.Cases {
		means[c.Key] = strings.TrimSpace(fmt.Sprintf("%s: %s %s", c.Action, plan.Summarise(c.Reasons), strings.Join(c.Edited, ", ")))
	}
	for _, tt := range []struct {
		change string
		want   [2]string
	}{
		{"nothing changes", [2]string{"invoices#total", "reuse:"}},
		{"a prompt is edited", [2]string{"mails/ready", "run: messages changed in test_definitions/mails/ready.json"}},
		{"a shared system prompt, first", [2]string{"support/level_1/test_order_status", "run: system prompt changed in test_definitions/support/domain.json"}},
		{"a shared system prompt, second", [2]string{"support/level_1/test_refund_window", "run: system prompt changed in test_definitions/support/domain.json"}},
		{"a shared system prompt, third", [2]string{"support/level_2/test_angry_customer", "run: system prompt changed in test_definitions/support/domain.json"}},
		{"a file breaks", [2]string{"support/level_2/test_spare_part", "skip: the definition is invalid in test_definitions/support/level_2/test_spare_part.json"}},
		{"a description changes", [2]string{"returns#gives-a-wheel-back", "reuse:  description"}},
		{"a case is added", [2]string{"returns#asks-for-a-spare-key", "run: the case is new in test_definitions/returns.yaml"}},
		{"a case is moved", [2]string{"payments#thanks", "reuse: moved from invoices#thanks"}},
		{"what is moved is not there", [2]string{"invoices#thanks", ""}},
		{"a case is removed", [2]string{"mails/welcome", "removed: the case is gone from test_definitions/mails/welcome.json"}},
		{"a rubric demands more", [2]string{"invoices#reminder", "rejudge: evaluator rubrics: criteria.date added in test_definitions/invoices.yaml"}},
		{"a question is asked otherwise", [2]string{"workshop#brakes", "run: messages changed in test_definitions/workshop.yaml"}},
		{"another question is", [2]string{"workshop#puncture", "run: messages changed in test_definitions/workshop.yaml"}},
		{"a threshold is lowered", [2]string{"mails/delay", "redecide: threshold 8 → 7.5 in test_definitions/mails/delay.json"}},
	} {
		if means[tt.want[0]] != tt.want[1] {
			t.Errorf("%s, %s: %q, want %q", tt.change, tt.want[0], means[tt.want[0]], tt.want[1])
		}
		delete(means, tt.want[0])
	}
	if len(means) > 0 {
		t.Errorf("more is in the plan: %q", means)
	}
}

// TestMixedReadme holds that the example's README says of every file that the
// pull request changes what that means.
func TestMixedReadme(t *testing.T) {
	_, change, err := examples.Mixed()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../examples/mixed/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(data), -1) {
		told = append(told, "test_definitions/"+row[1])
	}
	slices.Sort(told)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(change)), told); diff != "" {
		t.Errorf("files (-changed +told):\n%s", diff)
	}
}

// TestOneByteOfTheDemo changes a byte of a recorded reply on both sides: its
// case gets another verdict and no other does.
func TestOneByteOfTheDemo(t *testing.T) {
	dir := mainOf(t, demoFolder(t))
	before := verdicts(runExample(t, dir))
	file := filepath.Join(dir, "recordings", "assistant.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(data, []byte("within 30 days with the receipt. Six"), []byte("within 20 days with the receipt. Six"), 1)
	if bytes.Equal(data, changed) {
		t.Fatal("the reply to change is not there")
	}
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	before["support/level_1/test_refund_window"] = `fail 0.00 of 1 0 of 1 keywords were found; missing: "30 days"`
	if diff := cmp.Diff(before, verdicts(runExample(t, dir))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// inExamples compares the comment that the example shows with the one of the demo.
func inExamples(t *testing.T, want string) {
	t.Helper()
	golden.Compare(t, "../../examples/mixed/COMMENT.md", want)
}

// A side is the folder of one state of an example and the file with what its
// models say.
type side struct{ folder, replies string }

// recordSides makes the recordings of an example from the replies that were
// written by hand.
func recordSides(t *testing.T, name string, sides ...side) {
	t.Helper()
	recordings, err := filepath.Abs(filepath.Join("../../examples", name, "recordings"))
	if err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range sides {
		data, err := os.ReadFile(filepath.Join("../../examples/replies", s.replies))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.folder, "by-hand.yaml"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		ledger := filepath.Join(t.TempDir(), "ledger.db")
		if stdout, stderr, code := gavel(t, s.folder, "run", "--config", "by-hand.yaml", "--ledger", ledger, "--record="+recordings); code > exitUsage {
			t.Fatalf("record with %s: exit code %d\n%s\n%s", s.replies, code, stdout, stderr)
		}
	}
	t.Log("the recordings are new: run the test again without -update")
}
