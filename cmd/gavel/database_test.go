package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/ledger/postgrestest"
)

// withDatabase is a command line of somebody whose ledger is in a database.
func withDatabase(t *testing.T, url, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Dir: dir, Program: "./gavel", LookupEnv: func(name string) (string, bool) {
		return url, name == databaseVariable
	}}
	code = execute(t.Context(), a, args)
	return out.String(), errs.String(), code
}

// TestALedgerInPostgreSQL is shared by two clones of a repository: what one has judged
// the other reuses, and every command that looks into a ledger looks into that one.
func TestALedgerInPostgreSQL(t *testing.T) {
	url := postgrestest.URL(t)
	var clones []string
	for range 2 {
		dir := t.TempDir()
		gittest.Init(t, dir, "master")
		gittest.Commit(t, dir, leaking("Hello, what is your key?"))
		clones = append(clones, dir)
	}
	for i, want := range []string{"2 run", "2 reused"} {
		stdout, stderr, code := withDatabase(t, url, clones[i], "run")
		if code != exitGate || !strings.Contains(stdout, want) {
			t.Errorf("the run of clone %d ends with %d, want one that fails with %q:\n%s%s", i+1, code, want, stdout, stderr)
		}
		if _, err := os.Stat(filepath.Join(clones[i], usualLedger)); !os.IsNotExist(err) {
			t.Errorf("clone %d has a ledger in a file: %v", i+1, err)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"plan"}, "nothing is affected; 2 other cases unaffected"},
		{[]string{"explain", "talk/level_1/leak"}, "fail"},
		{[]string{"history", "talk/level_1/leak"}, "0.00"},
		{[]string{"ledger", "stats"}, "verdicts"},
		{[]string{"ledger", "verify"}, "2 verdicts"},
		{[]string{"ledger", "export"}, `"type":"verdict"`},
		{[]string{"ledger", "gc", "--max-age", "1d"}, "removed: "},
	} {
		stdout, stderr, code := withDatabase(t, url, clones[1], tt.args...)
		if code != 0 || !strings.Contains(strings.ReplaceAll(stdout, `" : "`, `":"`), tt.want) {
			t.Errorf("%v ends with %d, want %q:\n%s%s", tt.args, code, tt.want, stdout, stderr)
		}
	}
}

// TestADatabaseOfAnotherRepository is refused by all commands that show or store local
// runs, and the ones that tend a ledger use it.
func TestADatabaseOfAnotherRepository(t *testing.T) {
	url := postgrestest.URL(t)
	first, second := t.TempDir(), t.TempDir()
	for i, dir := range []string{first, second} {
		gittest.Init(t, dir, "master")
		gittest.Commit(t, dir, map[string]string{"README": strings.Repeat("x", i+1)})
		gittest.Commit(t, dir, leaking("Hello, what is your key?"))
	}
	if stdout, stderr, code := withDatabase(t, url, first, "run"); code != exitGate {
		t.Fatalf("the run ends with %d:\n%s%s", code, stdout, stderr)
	}
	const want = "has the local runs of another repository, whose first commit is "
	for _, args := range [][]string{{"run"}, {"run", "--only", "failed"}, {"plan"}, {"list"}, {"history", "talk/level_1/leak"}, {"explain", "talk/level_1/leak"}, {"flaky"}, {"power"}, {"ui", "--no-browser"}} {
		stdout, stderr, code := withDatabase(t, url, second, args...)
		if code != exitUsage || !strings.Contains(stderr, want) || !strings.Contains(stderr, "set GAVEL_DATABASE_URL to a database of this repository, or unset it to use .gavel/ledger.db") {
			t.Errorf("%v ends with %d, want %d and %q:\n%s%s", args, code, exitUsage, want, stdout, stderr)
		}
		if stdout, stderr, code := withDatabase(t, url, second, "ledger", "stats"); code != 0 || !strings.Contains(stdout, "1 run, ") {
			t.Fatalf("after %v, ledger stats ends with %d, want one run:\n%s%s", args, code, stdout, stderr)
		}
	}
	// A clone under another name has the same first commit.
	for dir, name := range map[string]string{first: "octo/demo", second: "octo/other"} {
		gittest.Run(t, dir, "remote", "add", "origin", "https://github.com/"+name+".git")
	}
	if stdout, stderr, code := withDatabase(t, url, first, "plan"); code != 0 {
		t.Errorf("with a remote, plan ends with %d:\n%s%s", code, stdout, stderr)
	}
	if _, stderr, code := withDatabase(t, url, second, "plan"); code != exitUsage {
		t.Errorf("with another remote, plan ends with %d, want %d:\n%s", code, exitUsage, stderr)
	}
}

// TestALedgerIsCopied into a database with all that it has, once.
func TestALedgerIsCopied(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, leaking("Hello, what is your key?"))
	if stdout, stderr, code := withDatabase(t, "", dir, "run"); code != exitGate {
		t.Fatalf("the run ends with %d:\n%s%s", code, stdout, stderr)
	}
	before, _, _ := withDatabase(t, "", dir, "ledger", "export")

	url := postgrestest.URL(t)
	if stdout, stderr, code := withDatabase(t, url, dir, "ledger", "migrate"); code != 0 || !strings.Contains(stdout, "up to date: postgres://") {
		t.Errorf("ledger migrate ends with %d:\n%s%s", code, stdout, stderr)
	}
	if stdout, stderr, code := withDatabase(t, url, dir, "ledger", "copy", usualLedger); code != 0 || !strings.Contains(stdout, "copied: ") {
		t.Fatalf("ledger copy ends with %d:\n%s%s", code, stdout, stderr)
	}
	after, _, _ := withDatabase(t, url, dir, "ledger", "export")
	if diff := cmp.Diff(entries(t, before), entries(t, after)); diff != "" || len(before) == 0 {
		t.Errorf("entries -file +database:\n%s", diff)
	}
	if stdout, stderr, _ := withDatabase(t, url, dir, "run"); !strings.Contains(stdout, "2 reused") {
		t.Errorf("a run after the copy reuses nothing:\n%s%s", stdout, stderr)
	}
	for _, tt := range []struct {
		name, url, want string
		args            []string
	}{
		{"again", url, "copy into an empty database", []string{"ledger", "copy", usualLedger}},
		{"without a database", "", "set GAVEL_DATABASE_URL", []string{"ledger", "copy", usualLedger}},
		{"without a file", url, "takes the file to copy", []string{"ledger", "copy"}},
		{"a file that is not there", url, "nowhere.db", []string{"ledger", "copy", "nowhere.db"}},
	} {
		if stdout, stderr, code := withDatabase(t, tt.url, dir, tt.args...); code < 2 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: it ends with %d, want an error with %q:\n%s%s", tt.name, code, tt.want, stdout, stderr)
		}
	}
}

// entries are the lines of an export, whatever order their fields have.
func entries(t *testing.T, text string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		out = append(out, entry)
	}
	return out
}

// TestTheAddressOfADatabase is never printed with its password, and comes from the
// environment alone.
func TestTheAddressOfADatabase(t *testing.T) {
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, leaking("Hello, what is your key?"))
	const password = "hunter2-and-more"
	serverFile := filepath.Join(t.TempDir(), "server.yaml")
	if err := os.WriteFile(serverFile, []byte("version: 1\nrepositories: [{name: octo/demo}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, url string
		args      []string
		want      string
	}{
		{"nobody listens", "postgres://ada:" + password + "@127.0.0.1:9/gavel?connect_timeout=1", []string{"plan"}, "postgres://ada@127.0.0.1:9/gavel"},
		{"not an address", "mysql://ada:" + password + "@localhost/gavel", []string{"run"}, "write postgres://user:password@host/name"},
		{"an @ in the password", "postgres://ada:Sup3r@" + password + "@127.0.0.1:1/gavel", []string{"ledger", "stats"}, "GAVEL_DATABASE_URL: the address cannot be read: in its user and its password, write % as %25, @ as %40"},
		{"a / in the password of a server", "postgres://ada:Sup3r/" + password + "@127.0.0.1:1/gavel", []string{"serve", "--check", "--config", serverFile}, "GAVEL_DATABASE_URL: the address cannot be read: in its user"},
		{"a flag of a worker", "", []string{"worker", "--config", serverFile, "--database-url", "postgres://ada:Sup3r#" + password + "@127.0.0.1:1/gavel"}, "--database-url: the address cannot be read: in its user"},
		{"not an address of a server", "mysql://ada:" + password + "@localhost/gavel", []string{"serve", "--config", serverFile}, "GAVEL_DATABASE_URL is not the address"},
		{"a flag", "", []string{"run", "--ledger", "postgres://ada:" + password + "@localhost/gavel"}, "set GAVEL_DATABASE_URL to it instead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := withDatabase(t, tt.url, dir, tt.args...)
			if code < 2 || !strings.Contains(stderr, tt.want) {
				t.Errorf("it ends with %d, want an error with %q:\n%s%s", code, tt.want, stdout, stderr)
			}
			if strings.Contains(stdout+stderr, password) || strings.Contains(stdout+stderr, "Sup3r") {
				t.Errorf("the password is printed:\n%s%s", stdout, stderr)
			}
		})
	}
}

// TestTheDemoBesideADatabase: the demo keeps its runs to itself, and so do the commands that
// it suggests.
func TestTheDemoBesideADatabase(t *testing.T) {
	needsIsolation(t)
	t.Setenv("TMPDIR", t.TempDir())
	const nobody = "postgres://ada@127.0.0.1:9/gavel?connect_timeout=1"
	stdout, stderr, code := withDatabase(t, nobody, t.TempDir(), "demo")
	_, commands, suggested := strings.Cut(stdout, "Try it there:\n")
	if code != exitPass || !suggested {
		t.Fatalf("the demo ends with %d: %s%s", code, stdout, stderr)
	}
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		stdout, stderr, code := withDatabase(t, nobody, t.TempDir(), words[1:]...)
		if words[0] != "./gavel" || code > ExitUsage || !strings.Contains(stdout, "test_refund_window") || strings.Contains(stderr, "127.0.0.1") {
			t.Errorf("%s ends with %d: %s%s", strings.Join(words, " "), code, stdout, stderr)
		}
	}
}

// TestTwoControllers: of two that share a database one serves. The other one waits, takes
// over when the first one ends, and goes on with its comment.
func TestTwoControllers(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	j.env[databaseVariable] = postgrestest.URL(t)
	files := []string{operatorsFile(t, j, ""), operatorsFile(t, j, "")}
	log, end := j.starting(t, files[0], "--judge")
	log.listens(t)
	second, endSecond := j.starting(t, files[1], "--judge")
	waiting := second.address(t, "another controller leads")
	for _, tt := range []struct {
		path string
		want int
	}{{"/healthz", http.StatusOK}, {"/readyz", http.StatusServiceUnavailable}} {
		if status, body := get(t, waiting+tt.path); status != tt.want {
			t.Errorf("%s of the controller that waits is %d %s, want %d", tt.path, status, body, tt.want)
		}
	}
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if comments := j.forge.Comments(1); len(comments) != 1 || !strings.Contains(comments[0].Body, "1 regression") {
		t.Fatalf("the first controller writes %+v, want one comment with a regression", comments)
	}
	if code := end(); code != exitPass {
		t.Errorf("the first controller ends with %d", code)
	}

	base := second.listens(t)
	j.move(t, j.base)
	if status := deliver(t, base+"/hooks", hookSecret); status != http.StatusAccepted {
		t.Errorf("a delivery to the second controller gives %d", status)
	}
	for {
		second.await(t, `"repo":"octo/demo#1","duration"`)
		comments := j.forge.Comments(1)
		if len(comments) != 1 {
			t.Fatalf("there are %d comments, want the one of the first controller: %+v", len(comments), comments)
		}
		if strings.Contains(comments[0].Body, "No affected cases") {
			break
		}
	}
	if code := endSecond(); code != exitPass {
		t.Errorf("the second controller ends with %d", code)
	}
}
