package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger/ledgertest"
)

// open is a folder that everybody may look into.
func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ledgertest.Show(t, dir)
	return dir
}

// gavelAsNobody runs the program as a user who may write nowhere in the test's
// folders.
func gavelAsNobody(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return gavelAsNobodyIn(t, nil, dir, args...)
}

// gavelAsNobodyIn is gavelAsNobody with variables of the environment.
func gavelAsNobodyIn(t *testing.T, env []string, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(open(t), "gavel")
	if err := os.Link(program, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), link)
	cmd.Args = append([]string{"gavel", "-C", dir}, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &out, &errs
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestWhatMayNotBeReadOrWritten: a definition that gavel may not read is named with
// chmod as the repair, in validate and in run; a folder that it may not write has
// another place for the ledger, which works.
func TestWhatMayNotBeReadOrWritten(t *testing.T) {
	dir := open(t)
	gittest.Init(t, dir, "main")
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": mistakeConfig, mistakeFile: mistakeCase, "test_definitions/other.yaml": mistakeCase})
	gittest.Run(t, dir, "repack", "-adq") // others may read the objects that git writes
	for _, tt := range []struct {
		name string
		mode os.FileMode
	}{{mistakeFile, 0o644}, {"gavel.yaml", 0o644}, {"test_definitions", 0o755}, {"test_definitions/other.yaml", 0o000}, {".", 0o555}} {
		if err := os.Chmod(filepath.Join(dir, tt.name), tt.mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) }) //nolint:errcheck // the test is over
	elsewhere := filepath.Join(open(t), "ledger")
	if err := os.MkdirAll(elsewhere, 0o777); err == nil {
		err = os.Chmod(elsewhere, 0o777)
		if err != nil {
			t.Fatal(err)
		}
	}
	elsewhere = filepath.Join(elsewhere, "own.db")
	for _, args := range [][]string{{"validate"}, {"run", "--ledger", elsewhere}} {
		stdout, stderr, code := gavelAsNobody(t, dir, args...)
		if said := stdout + stderr; code != exitUsage || !strings.Contains(said, "test_definitions/other.yaml cannot be read: permission denied; allow it with chmod -R u+rX test_definitions/other.yaml") {
			t.Errorf("gavel %v of a file that may not be read ends with %d\n%s", args, code, said)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "test_definitions/other.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"run", "plan"} {
		stdout, stderr, code := gavelAsNobody(t, dir, command)
		if command == "run" && (code != exitUsage || !strings.Contains(stderr, "--ledger")) {
			t.Errorf("gavel run in a folder that may not be written ends with %d\n%s%s", code, stdout, stderr)
		}
		if stdout, stderr, code := gavelAsNobody(t, dir, command, "--ledger", elsewhere); code != exitPass {
			t.Errorf("gavel %s --ledger ends with %d\n%s%s", command, code, stdout, stderr)
		}
	}
}

// TestAbuseAReadOnlyLedger can be looked at, and nothing is stored.
func TestAbuseAReadOnlyLedger(t *testing.T) {
	dir := example(t, "domain")
	if _, stderr, code := gavel(t, dir, "run"); code != exitGate {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o444)
		if d.IsDir() {
			mode = 0o555
			t.Cleanup(func() { os.Chmod(path, 0o755) }) //nolint:errcheck // the test is over
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
	const readOnly = "the ledger ledger.db cannot be written: it is only read, and nothing is stored"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"plan"}, "nothing is affected"},
		{[]string{"plan", "--json"}, `"reuse": 12`},
		{[]string{"explain", "math/level_1/test_sum"}, "test_sum"},
		{[]string{"ledger", "stats"}, "1 run, 12 verdicts"},
		{[]string{"ledger", "verify"}, "all holds"},
		{[]string{"ledger", "export"}, `"type":"verdict"`},
	} {
		stdout, stderr, code := gavelAsNobody(t, dir, tt.args...)
		if code != exitPass || !strings.Contains(stdout, tt.want) || !strings.Contains(stderr, readOnly) {
			t.Errorf("%v: exit code %d, want %q\n%s%s", tt.args, code, tt.want, stdout, stderr)
		}
	}
	if _, stderr, code := gavelAsNobody(t, dir, "run"); code == exitPass || !strings.Contains(stderr, "permission denied") {
		t.Errorf("run: exit code %d: %s", code, stderr)
	}
}

// TestAbuseAReadOnlyLedgerInAJob: nothing is judged that could not be kept, and
// the statuses say why.
func TestAbuseAReadOnlyLedgerInAJob(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	folder := open(t)
	store := filepath.Join(folder, "own.db")
	if _, stderr, code := j.run(t, "--ledger", store); code != exitUsage {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	j.git(t, "commit", "-q", "--allow-empty", "-m", "next")
	j.head = gittest.Resolve(t, j.folder, "HEAD")
	j.move(t, j.head)
	for _, lend := range []string{j.checkout, j.folder} {
		ledgertest.Show(t, lend)
	}
	err := filepath.WalkDir(j.checkout, func(path string, _ os.DirEntry, err error) error {
		if err != nil || os.Geteuid() != 0 {
			return err
		}
		return os.Lchown(path, 65534, 65534)
	})
	if err == nil {
		err = os.Chmod(store, 0o444)
	}
	if err == nil {
		err = os.Chmod(folder, 0o555)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(folder, 0o755) }) //nolint:errcheck // the test is over
	env := []string{"GITHUB_API_URL=" + j.forge.URL, "GITHUB_TOKEN=" + forgetest.TokenUser}
	stdout, stderr, code := gavelAsNobodyIn(t, env, j.checkout, "pr", "--repo", "octo/demo", "--pr", "1", "--ledger", store)
	if code != exitUsage || !strings.Contains(stderr, "own.db: permission denied; name another file with --ledger") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, context := range []string{"gavel/validate", "gavel/verdict"} {
		if got, want := j.states()[context], "error: the ledger cannot be used; see the log of the job"; got != want {
			t.Errorf("%s is %q, want %q", context, got, want)
		}
	}
}
