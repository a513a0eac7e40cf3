package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestNoCommandWritesThroughALink: each file that a command writes into a repository is
// a link to a hook of git there, or is below a link to the folder of the hooks, as the
// author of a branch can make it.
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
		hooks := filepath.Join(dir, ".git", "hooks")
		hook := filepath.Join(hooks, "pre-commit")
		link, to := filepath.Join(dir, tt.link), hook
		if strings.HasSuffix(tt.link, "/") {
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
		before := filesOf(t, hooks)
		_, stderr, code := gavel(t, dir, tt.args...)
		what := tt.link + " " + strings.Join(tt.args, " ")
		if code == exitPass || code == exitGate || !strings.Contains(stderr, "link") {
			t.Errorf("%s: exit code %d, want an error that names the link: %s", what, code, stderr)
		}
		if data, err := os.ReadFile(hook); string(data) != "own" {
			t.Errorf("%s: the hook has %q, %v", what, data, err)
		}
		if after := filesOf(t, hooks); after != before {
			t.Errorf("%s: the hooks are %s, were %s", what, after, before)
		}
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
