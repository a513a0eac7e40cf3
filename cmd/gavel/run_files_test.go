package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestTheVerdictIsToldWhateverBecomesOfTheFiles: a disk that is full when the report is
// written changes the exit code, but not the output and the stored results.
func TestTheVerdictIsToldWhateverBecomesOfTheFiles(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full, whose writes always fail")
	}
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	files := withFailures("{fail_on: any_failure}")
	delete(files, "test_definitions/greetings.json")
	gittest.Commit(t, dir, files)
	comment := filepath.Join(dir, "comment.md")
	stdout, stderr, code := gavel(t, dir, "run", "--junit", "/dev/full", "--markdown", comment)
	if code != exitInternal || !strings.Contains(stderr, "--junit: write /dev/full: ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if !strings.Contains(stdout, "gate fail: 1 case fails (fail_on: any_failure)") {
		t.Errorf("the verdict is not told: %s", stdout)
	}
	if text, err := os.ReadFile(comment); err != nil || !strings.Contains(string(text), "1 of 2 cases fails") {
		t.Errorf("the other file: %s, %v", text, err)
	}
	if stdout, _, code = gavel(t, dir, "run", "--junit", dir); code != exitUsage || stdout != "" {
		t.Errorf("a path that cannot be written: exit code %d, %s", code, stdout)
	}
	if stdout, _, code = gavel(t, dir, "run"); code != exitGate || !strings.Contains(stdout, "2 reused") {
		t.Errorf("what was judged is not stored: exit code %d, %s", code, stdout)
	}
}
