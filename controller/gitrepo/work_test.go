package gitrepo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

func (b *builder) work() *WorkTree {
	b.t.Helper()
	w, err := b.open().WorkFS()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { w.Close() })
	return w
}

func TestWorkFS(t *testing.T) {
	b := newBuilder(t)
	b.write("a.json", "{}")
	b.write("defs/sub/two.yaml", "22")
	w := b.work()
	if err := fstest.TestFS(w, "a.json", "defs/sub/two.yaml"); err != nil {
		t.Error(err)
	}
	want := plumbing.ComputeHash(plumbing.BlobObject, []byte("22")).String()
	if got, err := w.Hash("defs/sub/two.yaml"); err != nil || got != want {
		t.Errorf("Hash = %s, %v; want %s", got, err, want)
	}
}

// TestWorkFSOfAReplacedFolder reads files of a folder that another takes the place of.
func TestWorkFSOfAReplacedFolder(t *testing.T) {
	b := newBuilder(t)
	b.write("defs/first", "1")
	b.write("other/second", "2")
	w := b.work()
	read := func(name, want string) {
		t.Helper()
		if got, err := w.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("ReadFile(%s) = %q, %v; want %q", name, got, err, want)
		}
	}
	read("defs/first", "1")
	for _, move := range [][2]string{{"defs", "gone"}, {"other", "defs"}} {
		if err := os.Rename(filepath.Join(b.dir, move[0]), filepath.Join(b.dir, move[1])); err != nil {
			t.Fatal(err)
		}
	}
	read("defs/second", "2")
	read("gone/first", "1")
	if _, err := w.ReadFile("defs/first"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "defs/first") {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestWorkFSListsNamesFirst: an entry of a list is described when somebody asks, and a known
// folder that became a link is not listed.
func TestWorkFSListsNamesFirst(t *testing.T) {
	b := newBuilder(t)
	b.write("defs/b", "1")
	b.write("defs/a", "1")
	w := b.work()
	list, err := w.ReadDir("defs")
	if err != nil || len(list) != 2 || list[0].Name() != "a" || !list[1].Type().IsRegular() {
		t.Fatalf("ReadDir = %v, %v; want a and b", list, err)
	}
	b.write("defs/b", "longer")
	if info, err := list[1].Info(); err != nil || info.Size() != 6 {
		t.Errorf("b is %v, %v; want the size of now", info, err)
	}
	if err := os.Rename(filepath.Join(b.dir, "defs"), filepath.Join(b.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if _, err := list[0].Info(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a, which is gone, gives %v; want that it does not exist", err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(b.dir, "defs")); err != nil {
		t.Fatal(err)
	}
	if list, err := w.ReadDir("defs"); err == nil {
		t.Errorf("a link out of the working tree is listed: %v", list)
	}
}

func TestWorkFSFollowsNothing(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	b.write("real/x", "1")
	b.write("module/.git", "gitdir: ../.git/modules/module\n")
	b.write("module/x", "1")
	b.write("real/.GIT/x", "1")
	for _, tt := range []struct{ link, to string }{
		{"tofile", "real/x"}, {"tofolder", "real"}, {"loop", "loop"}, {"out", outside}, {"up", ".."},
	} {
		if err := os.Symlink(tt.to, filepath.Join(b.dir, tt.link)); err != nil {
			t.Fatal(err)
		}
	}
	w := b.work()
	list, err := w.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	for _, e := range list {
		got[e.Name()] = e.Type()
	}
	want := map[string]fs.FileMode{
		"real": fs.ModeDir, "module": fs.ModeIrregular,
		"tofile": fs.ModeSymlink, "tofolder": fs.ModeSymlink, "loop": fs.ModeSymlink, "out": fs.ModeSymlink, "up": fs.ModeSymlink,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct{ name, want string }{
		{"tofile", "symbolic link"}, {"tofolder/x", "symbolic link"}, {"loop", "symbolic link"}, {"loop/x", "symbolic link"},
		{"out/x", "symbolic link"}, {"up/x", "symbolic link"},
		{"module", "submodule"}, {"module/x", "submodule"}, {".git/HEAD", "not exist"}, {"real/.GIT/x", "not exist"},
		{"real", "is a folder"}, {"real/x/y", "not exist"}, {"nothing", "no such file"},
		{"../x", "invalid argument"}, {"/etc/passwd", "invalid argument"},
		{strings.Repeat("a/", 300) + "a", "deep"},
	} {
		if _, err := w.ReadFile(tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ReadFile(%.20q) = %v; want an error with %q", tt.name, err, tt.want)
		}
	}
	if list, err := w.ReadDir("real"); err != nil || len(list) != 1 {
		t.Errorf("ReadDir(real) = %v, %v; want x alone", list, err)
	}
	if info, err := w.Stat("module"); err != nil || info.Mode() != fs.ModeIrregular {
		t.Errorf("Stat(module) = %v, %v; want a submodule", info, err)
	}
}

func TestOpen(t *testing.T) {
	b := newBuilder(t)
	commit := b.commit(b.tree(b.file("a", "1")))
	b.ref("refs/heads/main", commit)
	b.write("deep/er/x", "1")
	root, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		t.Fatal(err)
	}

	linked := t.TempDir()
	b.write(".git/worktrees/l/commondir", "../..\n")
	b.write(".git/worktrees/l/HEAD", commit+"\n")
	if err := os.WriteFile(filepath.Join(linked, ".git"), []byte("gitdir: "+filepath.Join(root, ".git/worktrees/l")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, dir, root string }{
		{"root", b.dir, root},
		{"folder inside", filepath.Join(b.dir, "deep", "er"), root},
		{"git folder", filepath.Join(b.dir, ".git"), filepath.Join(root, ".git")},
		{"linked worktree", linked, linked},
	} {
		r, err := Open(test.dir)
		if err != nil {
			t.Errorf("%s: error %v", test.name, err)
			continue
		}
		if got, err := r.Resolve(t.Context(), "HEAD"); err != nil || got != commit {
			t.Errorf("%s: HEAD = %s, %v; want %s", test.name, got, err, commit)
		}
		if r.Root() != test.root {
			t.Errorf("%s: Root = %s; want %s", test.name, r.Root(), test.root)
		}
		if test.name == "linked worktree" && r.MainRoot() != root || test.name != "linked worktree" && r.MainRoot() != r.Root() {
			t.Errorf("%s: MainRoot = %s", test.name, r.MainRoot())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenBare(t *testing.T) {
	dir := t.TempDir()
	if _, err := git.PlainInit(dir, true); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.WorkFS(); !errors.Is(err, ErrBare) {
		t.Errorf("WorkFS of a bare repository = %v; want ErrBare", err)
	}
}

func TestOpenNothing(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), "git init") {
		t.Errorf("Open of a plain folder = %v; want ErrNoRepository with a hint", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a missing folder = %v; want fs.ErrNotExist", err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, ".git"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(broken); err == nil || !strings.Contains(err.Error(), "does not name a git folder") {
		t.Errorf("Open of a broken .git file = %v", err)
	}
}

// TestFolderThatCannotBeLookedAt stays a folder of its list, so that reading it is an error:
// as a submodule, which nobody enters, or left out, it would be a shorter list.
func TestFolderThatCannotBeLookedAt(t *testing.T) {
	b := newBuilder(t)
	b.write("defs/sub/two.yaml", "22")
	list, err := os.ReadDir(filepath.Join(b.dir, "defs"))
	if err != nil {
		t.Fatal(err)
	}
	w := b.work()
	w.Close() // each look fails from here on, as with too many open files
	e := w.entry("defs/sub", list[0])
	if !e.IsDir() {
		t.Errorf("the folder is %v", e)
	}
	if list, err := w.ReadDir("defs/sub"); err == nil {
		t.Errorf("ReadDir = %v", list)
	}
}
