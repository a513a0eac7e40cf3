package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestNoCommandWritesThroughALink: each file that a command writes into a repository is
// a link to a hook of git there, or is below a link to the folder of the hooks, as the
// author of a branch can make it. (abuse 42)
func TestNoCommandWritesThroughALink(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		link string // its name ends with / for a folder
		args []string
	}{
		{"report.xml", []string{"run", "--junit", "report.xml"}},
		{"out/", []string{"run", "--junit", "out/report.xml"}},
		{"comment.md", []string{"run", "--markdown", "comment.md"}},
		{"report.html", []string{"run", "--html", "report.html"}},
		{"results.jsonl", []string{"run", "--results", "results.jsonl"}},
		{"summary.json", []string{"run", "--summary", "summary.json"}},
		{"recordings/bot.jsonl", []string{"run", "--record"}},
		{"recordings/", []string{"run", "--record"}},
		{"ledger.db", []string{"run", "--ledger", "ledger.db"}},
		{"ledger.db-runs", []string{"run", "--ledger", "ledger.db"}},
		{"ledger.db-wal", []string{"run", "--ledger", "ledger.db"}},
		{"state/", []string{"run", "--ledger", "state/ledger.db"}},
		{".gavel/", []string{"run"}},
		{"diff.md", []string{"diff", "HEAD", "HEAD", "--markdown", "diff.md"}},
		{"export.json", []string{"export", "--output", "export.json"}},
		{"pages/", []string{"man", "--into", "pages"}},
		{"test_definitions/shop/", []string{"new", "shop/level_1/asks"}},
		{"test_definitions/shop/", []string{"new", "--format", "domain", "shop/level_1/asks"}},
	} {
		dir := t.TempDir()
		gittest.Init(t, dir, "master")
		gittest.Commit(t, dir, withFailures("{fail_on: any_failure}"))
		hooks, before := hooked(t, dir, tt.link)
		_, stderr, code := gavel(t, dir, tt.args...)
		what := tt.link + " " + strings.Join(tt.args, " ")
		if code == exitPass || code == exitGate || !strings.Contains(stderr, "link") {
			t.Errorf("%s: exit code %d, want an error that names the link: %s", what, code, stderr)
		}
		unchanged(t, hooks, what)
		if after := filesOf(t, hooks); after != before {
			t.Errorf("%s: the hooks are %s, were %s", what, after, before)
		}
	}
}

// TestScaffoldsAreNotWrittenThroughALink: init and import make many files, none of them
// below a link.
func TestScaffoldsAreNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	shop := t.TempDir()
	gittest.Init(t, shop, "master")
	gittest.Commit(t, shop, withFailures("{fail_on: any_failure}"))
	exported := filepath.Join(t.TempDir(), "tests.json")
	if _, stderr, code := gavel(t, shop, "export", "--output", exported); code != exitPass {
		t.Fatalf("export ends with %d: %s", code, stderr)
	}
	for _, tt := range []struct {
		link string
		args []string
	}{
		{"gavel.yaml", []string{"init", "--command", "sh agent.sh"}},
		{".github/", []string{"init", "--command", "sh agent.sh"}},
		{".vscode/", []string{"init", "--command", "sh agent.sh"}},
		{"test_definitions/", []string{"init", "--command", "sh agent.sh"}},
		{"test_definitions/", []string{"import", "evonic", exported}},
		{"test_definitions/shop/", []string{"import", "evonic", exported}},
		{"test_definitions/shop/domain.json", []string{"import", "evonic", exported}},
	} {
		dir := t.TempDir()
		gittest.Init(t, dir, "master")
		gittest.Commit(t, dir, map[string]string{"agent.sh": "echo word\n"})
		hooks, before := hooked(t, dir, tt.link)
		_, stderr, code := gavel(t, dir, tt.args...)
		if after := filesOf(t, hooks); after != before {
			t.Errorf("%s %v: exit code %d, the hooks are %s, were %s: %s", tt.link, tt.args, code, after, before, stderr)
		}
		unchanged(t, hooks, tt.link)
		if found, err := os.Lstat(filepath.Join(dir, tt.link)); err != nil || found.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s %v: the link is %v, %v", tt.link, tt.args, found, err)
		}
	}
}

// TestSnapshotsAreNotWrittenThroughALink, without which a run goes on.
func TestSnapshotsAreNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		link string
		args []string
	}{{".gavel/definitions", []string{"run"}}, {".gavel/settings-lock", []string{"run"}}, {"ledger.db.definitions", []string{"run", "--ledger", "ledger.db"}}} {
		dir := t.TempDir()
		gittest.Init(t, dir, "master")
		gittest.Commit(t, dir, withFailures("{fail_on: any_failure}"))
		hooks, before := hooked(t, dir, tt.link)
		if _, stderr, code := gavel(t, dir, tt.args...); code != exitGate {
			t.Errorf("%s: the run ends with %d: %s", tt.link, code, stderr)
		}
		if after := filesOf(t, hooks); after != before {
			t.Errorf("%s: the hooks are %s, were %s", tt.link, after, before)
		}
		unchanged(t, hooks, tt.link)
	}
}

// TestJobsWriteThroughNoLink: the files that a job names are links of the checkout. (abuse 42)
func TestJobsWriteThroughNoLink(t *testing.T) {
	for _, tt := range []struct {
		link, variable string
		args           []string
	}{
		{"page.html", "", []string{"--html", "page.html"}},
		{"out/", "", []string{"--html", "out/page.html"}},
		{"summary.md", "GITHUB_STEP_SUMMARY", nil},
		{"output", "GITHUB_OUTPUT", []string{"--html", "page.html"}},
	} {
		j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
		hooks, before := hooked(t, j.checkout, tt.link)
		if tt.variable != "" {
			j.env[tt.variable] = filepath.Join(j.checkout, tt.link)
		}
		_, stderr, code := j.run(t, tt.args...)
		if !strings.Contains(stderr, "link") {
			t.Errorf("%s %s: exit code %d, want the link to be named: %s", tt.link, tt.variable, code, stderr)
		}
		if after := filesOf(t, hooks); after != before {
			t.Errorf("%s: the hooks are %s, were %s", tt.link, after, before)
		}
		unchanged(t, hooks, tt.link)
	}
}

// hooked makes a hook of git, and a link to it; to its folder for a name with a / at its
// end.
func hooked(t *testing.T, dir, name string) (hooks, files string) {
	t.Helper()
	hooks = filepath.Join(dir, ".git", "hooks")
	hook, link := filepath.Join(hooks, "pre-commit"), filepath.Join(dir, name)
	to := hook
	if strings.HasSuffix(name, "/") {
		to = hooks
	}
	to, err := filepath.Rel(filepath.Dir(link), to) // as git keeps a link that works in every clone
	for _, err := range []error{
		err, os.MkdirAll(hooks, 0o755), os.WriteFile(hook, []byte("own"), 0o755),
		os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return hooks, filesOf(t, hooks)
}

// unchanged demands that the hook is as [hooked] made it.
func unchanged(t *testing.T, hooks, what string) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(hooks, "pre-commit")); string(data) != "own" {
		t.Errorf("%s: the hook has %q, %v", what, data, err)
	}
}

// filesOf names the files below a folder.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}
