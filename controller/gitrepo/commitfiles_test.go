package gitrepo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// ownTree makes a repository with an author and no other configuration.
func ownTree(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "-q", "-b", "main")
	gittest.Run(t, dir, "config", "user.name", "Ada")
	gittest.Run(t, dir, "config", "user.email", "ada@example.com")
	return dir
}

// put writes files of a folder.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// commitNow commits files on the tip of a working tree.
func commitNow(t *testing.T, dir string, files map[string][]byte) (string, error) {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tip, err := r.Tip(t.Context())
	if err != nil {
		return "", err
	}
	return r.CommitFiles(t.Context(), tip, Commit{Files: files, Message: "change tests\n\n", At: time.Now()})
}

// TestCommitFiles commits files among others that are staged in every way. Everything else
// stays as it is, and git finds nothing wrong.
func TestCommitFiles(t *testing.T) {
	for _, version := range []string{"2", "3"} {
		dir := ownTree(t)
		put(t, dir, map[string]string{
			"tests/a.json": "1", "tests/run.sh": "1", "tests/gone.json": "1", "staged": "1", "unstaged": "1", "both": "1", "deleted": "1",
			"assumed": "1", "sparse": "1", "tests/z/deep.json": "1",
		})
		gittest.Run(t, dir, "add", ".")
		gittest.Run(t, dir, "update-index", "--chmod=+x", "tests/run.sh")
		gittest.Run(t, dir, "commit", "-qm", "first")
		put(t, dir, map[string]string{"staged": "2", "both": "2", "tests/a.json": "half", "added": "1"})
		gittest.Run(t, dir, "add", "staged", "both", "added", "tests/a.json")
		gittest.Run(t, dir, "rm", "-q", "--cached", "deleted")
		gittest.Run(t, dir, "update-index", "--assume-unchanged", "assumed")
		if version == "3" {
			gittest.Run(t, dir, "update-index", "--skip-worktree", "sparse")
			put(t, dir, map[string]string{"intended": "1"})
			gittest.Run(t, dir, "add", "-N", "intended")
		}
		put(t, dir, map[string]string{"unstaged": "2", "both": "3", "tests/a.json": "2", "tests/new/b.json": "2", "tests/run.sh": "2"})
		if err := errors.Join(os.Remove(filepath.Join(dir, "tests/gone.json")), os.Chmod(filepath.Join(dir, "tests/run.sh"), 0o700)); err != nil {
			t.Fatal(err)
		}
		before, flags := gittest.Run(t, dir, "status", "--porcelain", "--no-renames"), gittest.Run(t, dir, "ls-files", "-v")
		id, err := commitNow(t, dir, map[string][]byte{
			"tests/a.json": []byte("2"), "tests/new/b.json": []byte("2"), "tests/run.sh": []byte("2"), "tests/gone.json": nil,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := gittest.Run(t, dir, "rev-parse", "main"); got != id {
			t.Errorf("main is at %s, want %s", got, id)
		}
		got := gittest.Run(t, dir, "show", "--format=%an <%ae> %cn <%ce>%n%B", "--name-status", "--no-renames", id)
		want := "Ada <ada@example.com> Ada <ada@example.com>\nchange tests\n\n\nM\ttests/a.json\nD\ttests/gone.json\nA\ttests/new/b.json\nM\ttests/run.sh"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the commit differs (-want +got):\n%s", diff)
		}
		if got := gittest.Run(t, dir, "ls-tree", id, "tests/run.sh"); !strings.HasPrefix(got, "100755") {
			t.Errorf("the mode of a program is lost: %s", got)
		}
		var rest []string
		for line := range strings.Lines(before) {
			if !strings.Contains(line, "tests/") {
				rest = append(rest, strings.TrimSpace(line))
			}
		}
		after := strings.Split(gittest.Run(t, dir, "status", "--porcelain", "--no-renames"), "\n")
		for i := range after {
			after[i] = strings.TrimSpace(after[i])
		}
		if diff := cmp.Diff(rest, after); diff != "" {
			t.Errorf("version %s: the other files differ (-before +after):\n%s", version, diff)
		}
		for line := range strings.Lines(flags) {
			if now := gittest.Run(t, dir, "ls-files", "-v"); !strings.Contains(line, "tests/") && !strings.Contains(now+"\n", line) {
				t.Errorf("version %s: the index had %q and has\n%s", version, line, now)
			}
		}
		gittest.Run(t, dir, "fsck", "--strict")
		if got := gittest.Run(t, dir, "reflog", "-1", "--format=%H %gs"); got != id+" commit: change tests" {
			t.Errorf("git's log of HEAD ends with %q", got)
		}
	}
}

// TestCommitFilesFirst makes the first commit of a branch.
func TestCommitFilesFirst(t *testing.T) {
	dir := ownTree(t)
	id, err := commitNow(t, dir, map[string][]byte{"a.json": []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"a.json": "1"})
	if got := gittest.Run(t, dir, "log", "--format=%H") + gittest.Run(t, dir, "status", "--porcelain"); got != id {
		t.Errorf("log and status are %q, want %s alone", got, id)
	}
}

// TestCommitFilesInALinkedTree commits in a linked working tree, whose branch is packed.
func TestCommitFilesInALinkedTree(t *testing.T) {
	dir := ownTree(t)
	gittest.Commit(t, dir, map[string]string{"a.json": "1"})
	linked := filepath.Join(t.TempDir(), "linked")
	gittest.Run(t, dir, "worktree", "add", "-q", "-b", "team/side", linked)
	gittest.Run(t, dir, "pack-refs", "--all")
	main := gittest.Resolve(t, dir, "main")
	put(t, linked, map[string]string{"a.json": "2"})
	id, err := commitNow(t, linked, map[string][]byte{"a.json": []byte("2")})
	if err != nil {
		t.Fatal(err)
	}
	if got := gittest.Run(t, dir, "rev-parse", "team/side"); got != id {
		t.Errorf("the branch is at %s, want %s", got, id)
	}
	if gittest.Run(t, dir, "rev-parse", "main") != main || gittest.Run(t, linked, "status", "--porcelain") != "" {
		t.Error("another branch or file has changed")
	}
}

// TestCommitFilesRefuses what git would do in another way, or not at all. Nothing changes.
func TestCommitFilesRefuses(t *testing.T) {
	run := func(args ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { gittest.Run(t, dir, args...) }
	}
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { put(t, dir, map[string]string{name: text}) }
	}
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, dir string)
		file string // defaults to tests/a.json
		text string // defaults to a line
		want string // empty if it is committed
	}{
		{name: "detached", do: run("checkout", "-q", "--detach"), want: "git switch -c NAME"},
		{name: "merge", do: write(".git/MERGE_HEAD", "x"), want: "git merge --abort"},
		{name: "rebase", do: write(".git/rebase-merge/x", "x"), want: "git rebase --continue"},
		{name: "cherry-pick", do: write(".git/CHERRY_PICK_HEAD", "x"), want: "git cherry-pick --continue"},
		{name: "locked", do: write(".git/index.lock", ""), want: "index.lock"},
		{name: "locked branch", do: write(".git/refs/heads/main.lock", ""), want: "main.lock"},
		{name: "no author", do: run("config", "--unset", "user.email"), want: "git config user.email"},
		{name: "author elsewhere", do: func(t *testing.T, dir string) {
			gittest.Run(t, dir, "config", "--unset", "user.email")
			gittest.Run(t, dir, "config", "include.path", "more")
		}, want: "includes other files"},
		{name: "version 4", do: run("update-index", "--index-version", "4"), want: "--index-version 2"},
		{name: "split index", do: run("update-index", "--split-index"), want: "--no-split-index"},
		{name: "conflict", do: func(t *testing.T, dir string) {
			gittest.Run(t, dir, "read-tree", "-i", "-m", "HEAD~1", "HEAD", "side")
		}, want: "has a conflict"},
		{name: "ignored", do: write(".gitignore", "/out/\n"), file: "out/b.json", want: "git ignores out/b.json"},
		{name: "ignored and tracked", do: write(".gitignore", "tests/\n")},
		{name: "link", do: func(t *testing.T, dir string) {
			if err := os.Symlink("a.json", filepath.Join(dir, "tests/link.json")); err != nil {
				t.Fatal(err)
			}
			gittest.Run(t, dir, "add", ".")
			gittest.Run(t, dir, "commit", "-qm", "link")
		}, file: "tests/link.json", want: "is a link"},
		{name: "folder in the index", do: func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"b/c": "1"})
			gittest.Run(t, dir, "add", ".")
		}, file: "b", want: "git's index has b/c"},
		{name: "own folder", file: ".git/hooks/pre-commit", want: "not a file of the repository"},
		{name: "filter", do: write(".gitattributes", "*.json filter=lfs diff=lfs merge=lfs -text\n"), want: "attribute filter"},
		{name: "filter by a folder", do: write(".gitattributes", "tests/** filter=lfs\n"), want: "attribute filter"},
		{name: "filter of another folder", do: write(".gitattributes", "data/** filter=lfs\n*.[pP][nN][gG] filter=lfs\na/ filter=lfs\n")},
		{name: "filter in the folder", do: write("tests/.gitattributes", "/a.json filter=lfs\n"), want: "attribute filter"},
		{name: "filter by a macro", do: write(".gitattributes", "*.json big\n[attr]big filter=lfs\n"), want: "attribute filter"},
		{name: "filter by a macro of itself", do: write(".gitattributes", "*.json big\n[attr]big big filter=lfs\n"), want: "attribute filter"},
		{name: "filter of the clone", do: write(".git/info/attributes", "a.js* ident\n"), want: "attribute ident"},
		{name: "text", do: write(".gitattributes", "* text=auto eol=lf\n")},
		{name: "text with CRLF", do: write(".gitattributes", "* text=auto\n"), text: "1\r\n", want: "Windows line ends"},
		{name: "CRLF", text: "1\r\n"},
		{name: "autocrlf", do: run("config", "core.autocrlf", "true"), text: "1\r\n", want: "core.autocrlf"},
		{name: "autocrlf for all", do: func(t *testing.T, _ string) {
			put(t, os.Getenv("HOME"), map[string]string{".gitconfig": "[core]\n\tautocrlf = input\n"})
		}, text: "1\r\n", want: "core.autocrlf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := ownTree(t)
			gittest.Commit(t, dir, map[string]string{"tests/a.json": "1\n"})
			gittest.Run(t, dir, "checkout", "-q", "-b", "side")
			gittest.Commit(t, dir, map[string]string{"tests/a.json": "side\n"})
			gittest.Run(t, dir, "checkout", "-q", "main")
			gittest.Commit(t, dir, map[string]string{"tests/a.json": "main\n"})
			if tt.do != nil {
				tt.do(t, dir)
			}
			file, text := tt.file, tt.text
			if file == "" {
				file = "tests/a.json"
			}
			if text == "" {
				text = "2\n"
			}
			if file != ".git/hooks/pre-commit" && file != "b" && file != "tests/link.json" {
				put(t, dir, map[string]string{file: text})
			}
			head := gittest.Resolve(t, dir, "HEAD")
			index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = commitNow(t, dir, map[string][]byte{file: []byte(text)})
			if tt.want == "" {
				if err != nil || strings.Contains(gittest.Run(t, dir, "diff", "HEAD", "--", file), "+") {
					t.Errorf("it is not committed as git would: %v", err)
				}
				return
			}
			var why *UserError
			if !errors.As(err, &why) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("the error is %v, want one with %q", err, tt.want)
			}
			after, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil || string(after) != string(index) || gittest.Resolve(t, dir, "HEAD") != head {
				t.Errorf("HEAD or the index has changed (%v)", err)
			}
		})
	}
}

// TestCommitFilesOnAnotherTip refuses a commit on a branch that has moved since it was read.
func TestCommitFilesOnAnotherTip(t *testing.T) {
	dir := ownTree(t)
	gittest.Commit(t, dir, map[string]string{"a.json": "1"})
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tip, err := r.Tip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Commit(t, dir, map[string]string{"b.json": "1"})
	_, err = r.CommitFiles(t.Context(), tip, Commit{Files: map[string][]byte{"a.json": []byte("2")}, Message: "x", At: time.Now()})
	if err == nil || !strings.Contains(err.Error(), "another commit than before") {
		t.Errorf("the error is %v", err)
	}
}
