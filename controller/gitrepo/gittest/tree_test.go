package gittest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestCommitIsThatOfGit: git finds nothing to add to a commit, and nothing wrong with it.
func TestCommitIsThatOfGit(t *testing.T) {
	dir := t.TempDir()
	Init(t, dir, "main")
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	same := func(when string) {
		t.Helper()
		if got := Run(t, dir, "status", "--porcelain"); got != "" {
			t.Errorf("%s: git status says\n%s", when, got)
		}
		Run(t, dir, "add", "-A")
		if got, want := Run(t, dir, "rev-parse", "HEAD^{tree}"), Run(t, dir, "write-tree"); got != want {
			t.Errorf("%s: the tree of the commit is %s, want %s, which is git's", when, got, want)
		}
		Run(t, dir, "fsck", "--strict")
	}
	first := Commit(t, dir, map[string]string{
		"a.txt": "a", "a/b": "b", "a-b": "c", "run.sh": "exit 0\n", "kept/x.log": "1", "gone": "2", "folder/below": "3",
	})
	same("a first commit")
	files := ".gitignore\na-b\na.txt\na/b\nfolder\nkept/x.log\nrun.sh"
	err := errors.Join(os.Remove(in("gone")), os.RemoveAll(in("folder")))
	if runtime.GOOS != "windows" { // where files have no modes, and not everybody may make links
		files += "\nz-link"
		err = errors.Join(err, os.Chmod(in("run.sh"), 0o755), os.Symlink("a/b", in("z-link")))
	}
	if err != nil {
		t.Fatal(err)
	}
	second := Commit(t, dir, map[string]string{".gitignore": "*.log\n/build/\n", "a/b": "B", "a/new.log": "4", "build/out": "5", "folder": "a file"})
	same("a second commit")
	if got, want := Run(t, dir, "log", "--format=%H %s %an <%ae>"), second+" change Gavel <gavel@localhost>\n"+first+" change Gavel <gavel@localhost>"; got != want {
		t.Errorf("the log says\n%s\nwant\n%s", got, want)
	}
	if got := Run(t, dir, "ls-files"); got != files {
		t.Errorf("the files are\n%s\nwant\n%s", got, files)
	}
	Commit(t, dir, nil)
	same("a commit without a change")
}
