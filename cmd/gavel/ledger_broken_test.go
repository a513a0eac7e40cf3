package main

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
)

// future has a ledger say that a newer version of gavel wrote it.
func future(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"PRAGMA application_id = 1734440556", "PRAGMA user_version = 999"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// ruin overwrites a file with other content than a ledger.
func ruin(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("nothing that can be read ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAbuseABrokenLedgerInAJob: the head gets its verdict with base's ledger, and a
// note about it; if no ledger is available, its statuses say so.
func TestAbuseABrokenLedgerInAJob(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	dir := t.TempDir()
	own, base := filepath.Join(dir, "own.db"), filepath.Join(dir, "base.db")
	if _, stderr, code := j.call(t, "pr", "--repo", "octo/demo", "--pr", "1", "--ledger", base); code != exitUsage {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	ruin(t, own)
	_, stderr, _ := j.call(t, "pr", "--repo", "octo/demo", "--pr", "1", "--ledger", own, "--base-ledger", base)
	if !strings.Contains(stderr, "the ledger was damaged and is kept as own.db.damaged-") || !strings.Contains(stderr, "from base") {
		t.Errorf("stderr %s", stderr)
	}
	j.wantComments(t, 1)
	if body := j.forge.Comments(1)[0].Body; !strings.Contains(body, "the ledger was damaged and is kept as own.db.damaged-") {
		t.Errorf("the comment does not tell:\n%s", body)
	}

	j = newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	later := filepath.Join(t.TempDir(), "later.db")
	future(t, later)
	_, stderr, code := j.call(t, "pr", "--repo", "octo/demo", "--pr", "1", "--ledger", later)
	if code != exitInternal || !strings.Contains(stderr, "newer version of gavel (schema 999") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, context := range []string{"gavel/validate", "gavel/verdict"} {
		if got, want := j.states()[context], "error: the ledger cannot be used; see the log of the job"; got != want {
			t.Errorf("%s is %q, want %q", context, got, want)
		}
	}
	if aside, err := filepath.Glob(later + ".damaged*"); err != nil || len(aside) > 0 {
		t.Errorf("it was moved: %v, %v", aside, err)
	}
}

// TestAbuseALedgerThatVanishesInAJob removes it before requests to the forge: the
// head gets its verdict with another one, and where that vanishes too, its statuses
// say so.
func TestAbuseALedgerThatVanishesInAJob(t *testing.T) {
	for _, tt := range []struct {
		most, code int
		states     map[string]string
	}{
		{1, exitUsage, map[string]string{"gavel/validate": "failure: 1 invalid definition", "gavel/verdict": "failure: 1 invalid definition · 1 regression"}},
		{1000, exitInternal, map[string]string{"gavel/validate": "error: the ledger cannot be used; see the log of the job", "gavel/verdict": "error: the ledger cannot be used; see the log of the job"}},
	} {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		store, removed := filepath.Join(t.TempDir(), "own.db"), 0
		j.forge.Inject(forgetest.Fault{Status: http.StatusBadGateway, Times: -1, While: func() bool {
			if removed < tt.most && os.Remove(store) == nil {
				removed++
			}
			return false // the forge answers as always
		}})
		_, stderr, code := j.run(t, "--ledger", store)
		if code != tt.code || removed == 0 || !strings.Contains(stderr, "the ledger was removed or replaced while it was in use") {
			t.Errorf("exit code %d, the ledger was removed %d times\n%s", code, removed, stderr)
		}
		if tt.most == 1 {
			j.wantComments(t, 1)
		}
		for context, want := range tt.states {
			if got := j.states()[context]; !strings.HasPrefix(got, want) {
				t.Errorf("%s is %q, want %q", context, got, want)
			}
		}
	}
}

// TestAbuseABrokenLedgerOfAServer: a damaged one is put aside, at the start
// and while the server runs, as is one that vanished.
func TestAbuseABrokenLedgerOfAServer(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	store := filepath.Join(filepath.Dir(file), "data", "ledger.db")
	ruin(t, store)
	base, log, end := j.serving(t, file)
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if aside, err := filepath.Glob(store + ".damaged-*Z"); err != nil || len(aside) != 1 {
		t.Errorf("put aside: %v, %v", aside, err)
	}
	if body := j.forge.Comments(1)[0].Body; !strings.Contains(body, "the ledger was damaged and is kept as ledger.db.damaged-") {
		t.Errorf("the comment does not tell:\n%s", body)
	}
	if err := os.Remove(store); err != nil {
		t.Fatal(err)
	}
	j.move(t, j.base)
	// The server may have noticed by itself, and be away to begin again.
	if status, err := tryToDeliver(t, base+"/hooks", hookSecret); err == nil && status != http.StatusAccepted {
		t.Errorf("a delivery = %d, want %d", status, http.StatusAccepted)
	}
	log.await(t, "the ledger is broken; the next one takes its place")
	log.await(t, `"serving"`)
	// Both are of the same commit now.
	for looked := map[bool]bool{}; len(looked) < 2; {
		line := log.await(t, `"looked at"`)
		looked[strings.Contains(line, `demo#1"`)] = true
	}
	if _, err := os.Stat(store); err != nil {
		t.Error(err)
	}
	if code := end(); code != exitPass {
		t.Errorf("exit code %d", code)
	}
	j.head = j.base
	if got := j.states()["gavel/verdict"]; !strings.HasPrefix(got, "success: ") && !strings.HasPrefix(got, "failure: ") {
		t.Errorf("the verdict is %q", got)
	}
}

// TestAbuseAServerWithoutALedger ends, and leaves no head open.
func TestAbuseAServerWithoutALedger(t *testing.T) {
	j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
	file := operatorsFile(t, j, "")
	_, log, end := j.serving(t, file)
	log.await(t, `"repo":"octo/demo#1","duration"`)
	if code := end(); code != exitPass {
		t.Errorf("exit code %d", code)
	}
	data := filepath.Join(filepath.Dir(file), "data")
	// As a server that was killed leaves it.
	j.forge.AddStatus(forgetest.Status{SHA: j.head, Context: "gavel/verdict", State: "pending"})
	validate := j.states()["gavel/validate"]
	future(t, filepath.Join(data, "ledger.db"))
	if _, stderr, code := j.call(t, "serve", "--config", file); code != exitInternal || !strings.Contains(stderr, "newer version of gavel") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if got, want := j.states()["gavel/verdict"], "error: the server cannot use its ledger; see its log"; got != want {
		t.Errorf("the verdict is %q, want %q", got, want)
	}
	if got := j.states()["gavel/validate"]; got != validate {
		t.Errorf("gavel/validate, which was not pending, is %q, want %q as before", got, validate)
	}
}
