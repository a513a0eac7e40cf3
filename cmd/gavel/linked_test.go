package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A linkedTree is one of several working trees of a repository.
type linkedTree struct {
	*testing.T
	dir string
}

// linkedTrees returns a working tree and one that is linked to it, with its own branch. The
// main one is a bare repository if bare is true, and the first tree is linked, too.
func linkedTrees(t *testing.T, bare bool) (main string, first, second linkedTree) {
	t.Helper()
	main = t.TempDir()
	gittest.Init(t, main, "main")
	gittest.Commit(t, main, map[string]string{"gavel.yaml": mistakeConfig, mistakeFile: listedFile})
	side := filepath.Join(t.TempDir(), "side")
	if !bare {
		gittest.Run(t, main, "worktree", "add", "-q", "-b", "side", side)
		return main, linkedTree{t, main}, linkedTree{t, side}
	}
	store, other := filepath.Join(t.TempDir(), "demo.git"), filepath.Join(t.TempDir(), "other")
	gittest.Run(t, main, "clone", "-q", "--bare", main, store)
	gittest.Run(t, store, "worktree", "add", "-q", other, "main")
	gittest.Run(t, store, "worktree", "add", "-q", "-b", "side", side)
	return store, linkedTree{t, other}, linkedTree{t, side}
}

// gavel runs a command whose output has to contain what is wanted.
func (l linkedTree) gavel(want string, args ...string) {
	l.Helper()
	if stdout, stderr, code := gavel(l.T, l.dir, args...); !strings.Contains(stdout+stderr, want) {
		l.Errorf("%s in %s ends with %d, want %q:\n%s%s", strings.Join(args, " "), filepath.Base(l.dir), code, want, stdout, stderr)
	}
}

func (l linkedTree) write(text string) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, mistakeFile), []byte(text), 0o644); err != nil {
		l.Fatal(err)
	}
}

// TestLinkedWorkingTrees share one ledger, in the main one: what one has judged takes no call in
// another. Each goes on with the results of its own branch, and no garbage collection in one
// removes what another needs.
func TestLinkedWorkingTrees(t *testing.T) {
	t.Parallel()
	for name, bare := range map[string]bool{"linked to a tree": false, "linked to a bare repository": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			main, first, second := linkedTrees(t, bare)
			first.gavel("1 call,", "run")
			second.gavel("0 calls,", "run")
			if _, err := os.Stat(filepath.Join(main, usualLedger)); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(second.dir, usualLedger)); !os.IsNotExist(err) {
				t.Errorf("the linked tree has a ledger of its own: %v", err)
			}

			edited := strings.ReplaceAll(listedFile, "input: hi, checks: [{contains: hello}]", "input: ho, checks: [{contains: bye}]")
			second.write(edited)
			second.gavel("1 call,", "run")
			second.gavel("2 cases: 0 passed, 2 failed", "run", "--only", "failed")
			first.gavel("1 case: 0 passed, 1 failed", "run", "--only", "failed")

			first.gavel("removed: 0 verdicts", "ledger", "gc", "--max-age", "1ns")
			second.gavel("0 calls,", "run")
			first.write(edited)
			first.gavel("0 calls,", "run")
			gittest.Run(t, main, "worktree", "remove", "--force", second.dir)
			first.write(listedFile)
			first.gavel("removed: 1 verdict, 1 sample", "ledger", "gc", "--max-age", "1ns")
		})
	}
}
