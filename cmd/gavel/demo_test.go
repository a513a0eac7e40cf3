package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/schema/cuefile"
)

var update = flag.Bool("update", false, "write the goldens and recordings anew")

func TestMain(m *testing.M) {
	if sandbox.ServeChild() || sqlexec.ServeChild() || cuefile.ServeChild() {
		return
	}
	testscript.Main(m, map[string]func(){"gavel": main})
}

// TestScripts runs the command line as its users do. Every script shows one
// behaviour.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"await": await},
		Condition:     condition,
		Setup: func(env *testscript.Env) error {
			// A repository is what a script makes: nothing of this machine's.
			env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(env.WorkDir, ".gitconfig"))
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			return os.WriteFile(filepath.Join(env.WorkDir, ".gitconfig"), []byte("[user]\nname = gavel\nemail = gavel@localhost\n[init]\ndefaultBranch = main\n"), 0o644)
		},
	})
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
	_, err := sandbox.Open(context.Background(), sandbox.Policy{})
	return err == nil, nil
}

// gavel runs the command line in a folder and gives what it printed and its
// exit code.
func gavel(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, lookupEnv: func(string) (string, bool) { return "", false }, dir: dir}
	code = a.command(t.Context(), args)
	return out.String(), errs.String(), code
}

// demoFolder makes the demo's repository and checks its branch out: main, or
// the pull request.
func demoFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := demoRepository(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDemo compares the plan that the demo prints with testdata/demo.txt and
// looks for the verdicts in the comment, whose form the reporters' goldens hold.
func TestDemo(t *testing.T) {
	if *update {
		record(t)
	}
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stderr, code := gavel(t, t.TempDir(), "demo")
	if code != exitPass || stderr != "" {
		t.Fatalf("exit code %d, stderr %s", code, stderr)
	}
	plan, comment, ok := strings.Cut(stdout, "\nAnd this is the comment on the pull request:\n\n")
	if !ok {
		t.Fatalf("no comment:\n%s", stdout)
	}
	golden(t, "demo.txt", plan)
	if !strings.HasPrefix(comment, "<!-- gavel:report instance=default -->\n") {
		t.Errorf("the comment begins with %.80q", comment)
	}
	for _, want := range []string{
		"1 invalid definition, 1 regression, 2 improvements", "0.625 → 0.750", "5 of 12 cases rerun",
		"did you mean &#96;expected&#96;?", "take it back within 60 days", "Gate failed: 1 case regressed",
	} {
		if !strings.Contains(comment, want) {
			t.Errorf("the comment does not say %q:\n%s", want, comment)
		}
	}
}

// record makes the recordings from the replies that were written by hand, for
// both sides of the pull request.
func record(t *testing.T) {
	recordings, err := filepath.Abs("../../examples/domain/recordings")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"assistant.jsonl", "judge.jsonl"} {
		if err := os.Remove(filepath.Join(recordings, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	dir := demoFolder(t)
	main := t.TempDir()
	if err := os.CopyFS(main, os.DirFS("../../examples/domain")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(main, ".git"), os.DirFS(filepath.Join(dir, ".git"))); err != nil {
		t.Fatal(err)
	}
	for folder, replies := range map[string]string{main: "base.yaml", dir: "head.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../examples/replies", replies))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "by-hand.yaml"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := gavel(t, folder, "run", "--config", "by-hand.yaml", "--record="+recordings); code > exitUsage {
			t.Fatalf("record with %s: exit code %d\n%s\n%s", replies, code, stdout, stderr)
		}
	}
	t.Log("the recordings are new: run the test again without -update")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("-want +got; regenerate with -update:\n%s", diff)
	}
}

// TestDemoRepositoryWorksByHand does what the demo's last line suggests: a
// second run makes no call, and one changed byte of a reply changes a verdict.
func TestDemoRepositoryWorksByHand(t *testing.T) {
	dir := demoFolder(t)
	if _, stderr, code := gavel(t, dir, "run"); code != exitUsage {
		t.Fatalf("exit code %d, want %d for the invalid definition: %s", code, exitUsage, stderr)
	}
	stdout, _, _ := gavel(t, dir, "run")
	if !strings.Contains(stdout, "\n0 calls") {
		t.Errorf("the second run made calls:\n%s", stdout)
	}
	file := filepath.Join(dir, "recordings", "assistant.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(data, []byte(`is 540.\n540"`), []byte(`is 540.\n541"`), 1)
	if bytes.Equal(data, changed) {
		t.Fatal("the reply to change is not there")
	}
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	plan, _, _ := gavel(t, dir, "plan")
	if got := strings.Count(plan, "run      "); got != 1 || !strings.Contains(plan, "math/level_2/test_discount") {
		t.Errorf("a changed reply reruns %d cases:\n%s", got, plan)
	}
}
