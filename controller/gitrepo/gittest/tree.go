package gittest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Run has git itself do something in a folder, with nothing of what is
// configured on this machine, and gives what it printed without the white space
// around it.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	return feed(tb, dir, nil, args...)
}

// feed is Run with something to read for git.
func feed(tb testing.TB, dir string, in io.Reader, args ...string) string {
	tb.Helper()
	// A folder of a test is gone before maintenance would pay.
	cmd := exec.CommandContext(tb.Context(), "git", append([]string{"-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, in
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TEMPLATE_DIR=",
		"GIT_AUTHOR_NAME=Gavel", "GIT_AUTHOR_EMAIL=gavel@localhost", "GIT_COMMITTER_NAME=Gavel", "GIT_COMMITTER_EMAIL=gavel@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit writes files by their paths with slashes, commits all that is in the
// working tree, and gives the commit.
func Commit(tb testing.TB, dir string, files map[string]string) string {
	tb.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			tb.Fatal(err)
		}
	}
	Run(tb, dir, "add", "-A")
	Run(tb, dir, "commit", "-q", "--allow-empty", "-m", "change")
	return head(tb, dir)
}

// head is the commit of HEAD. Where it is a file of its own, git, which takes many times as
// long to start, is not asked.
func head(tb testing.TB, dir string) string {
	tb.Helper()
	at, err := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
	if branch, isBranch := strings.CutPrefix(string(at), "ref: "); err == nil && isBranch {
		if commit, err := os.ReadFile(filepath.Join(dir, ".git", strings.TrimSpace(branch))); err == nil {
			return strings.TrimSpace(string(commit))
		}
	}
	return Run(tb, dir, "rev-parse", "HEAD")
}
