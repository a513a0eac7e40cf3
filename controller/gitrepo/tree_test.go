package gitrepo

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"
)

func TestFS(t *testing.T) {
	b := newBuilder(t)
	commit := b.commit(b.tree(
		b.file("a.json", "{}"),
		b.folder("defs", b.file("one.yaml", "1"), b.folder("sub", b.file("two.yaml", "22"))),
		// Git sorts the folder "defs" behind the file "defs.txt"; fs.FS before.
		b.file("defs.txt", "x"),
		object.TreeEntry{Name: "run.sh", Mode: filemode.Executable, Hash: b.blob("#!")},
	))
	fsys, err := b.open().FS(commit)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(fsys, "a.json", "defs/one.yaml", "defs/sub/two.yaml", "defs.txt", "run.sh"); err != nil {
		t.Error(err)
	}
	if got, err := fsys.ReadFile("defs/sub/two.yaml"); err != nil || string(got) != "22" {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
	if info, err := fsys.Stat("defs/sub/two.yaml"); err != nil || info.Size() != 2 || info.Mode() != 0o644 {
		t.Errorf("Stat = %v, %v", info, err)
	}
	want := plumbing.ComputeHash(plumbing.BlobObject, []byte("22")).String()
	if got, err := fsys.Hash("defs/sub/two.yaml"); err != nil || got != want {
		t.Errorf("Hash = %s, %v; want %s", got, err, want)
	}
}

// TestForget reads the same files after the cache was emptied.
func TestForget(t *testing.T) {
	b := newBuilder(t)
	tree := b.tree(b.file("a.json", "{}"), b.folder("defs", b.file("one.yaml", "1")))
	commit := b.commit(tree)
	repo := b.open()
	files, err := repo.FS(commit)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if text, err := fs.ReadFile(files, "defs/one.yaml"); err != nil || string(text) != "1" {
			t.Fatalf("%q, %v", text, err)
		}
		if _, kept := repo.cache.Get(tree); !kept {
			t.Error("the tree that was read is not in the cache, so that nothing is tested")
		}
		files.(treeFS).Forget()
		if _, kept := repo.cache.Get(tree); kept {
			t.Error("the tree is kept")
		}
		clear(repo.dirs)
	}
}

func TestAbuseFSFollowsNothing(t *testing.T) {
	b := newBuilder(t)
	commit := b.commit(b.tree(
		object.TreeEntry{Name: "link", Mode: filemode.Symlink, Hash: b.blob("/etc/passwd")},
		b.folder("real", b.file("x", "1")),
		object.TreeEntry{Name: "tolink", Mode: filemode.Symlink, Hash: b.blob("real")},
		object.TreeEntry{Name: "sub", Mode: filemode.Submodule, Hash: plumbing.NewHash(strings.Repeat("1", 40))},
	))
	fsys, err := b.open().FS(commit)
	if err != nil {
		t.Fatal(err)
	}
	list, err := fsys.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	for _, e := range list {
		got[e.Name()] = e.Type()
	}
	want := map[string]fs.FileMode{"link": fs.ModeSymlink, "real": fs.ModeDir, "tolink": fs.ModeSymlink, "sub": fs.ModeIrregular}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct{ name, want string }{
		{"link", "symbolic link"}, {"tolink/x", "symbolic link"}, {"sub", "submodule"}, {"sub/x", "submodule"},
		{"real", "is a folder"}, {"real/x/y", "does not exist"}, {"nothing", "does not exist"},
		{"../x", "invalid argument"}, {"/link", "invalid argument"}, {"real/../link", "invalid argument"},
		{strings.Repeat("a/", 300) + "a", "deep"},
	} {
		if _, err := fsys.ReadFile(tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ReadFile(%.20q) = %v; want an error with %q", tt.name, err, tt.want)
		}
	}
	if _, err := fsys.Stat("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of nothing = %v; want fs.ErrNotExist", err)
	}
}

func TestAbuseNamesThatLeadOut(t *testing.T) {
	b := newBuilder(t)
	for _, name := range []string{"..", ".", "a/b"} {
		raw := "100644 " + name + "\x00" + string(make([]byte, 20))
		tree := b.store(b.git.Storer.NewEncodedObject(), func(o plumbing.EncodedObject) error {
			o.SetType(plumbing.TreeObject)
			w, err := o.Writer()
			if err == nil {
				_, err = w.Write([]byte(raw))
			}
			return err
		})
		fsys, err := b.open().FS(b.commit(tree))
		if err != nil {
			t.Fatal(err)
		}
		if list, err := fsys.ReadDir("."); err == nil {
			t.Errorf("ReadDir of a tree with %q = %v; want an error", name, list)
		}
	}
}

func TestFSOfNothing(t *testing.T) {
	b := newBuilder(t)
	r := b.open()
	for _, commit := range []string{"", "HEAD", strings.Repeat("1", 40), b.blob("x").String()} {
		if _, err := r.FS(commit); err == nil {
			t.Errorf("FS(%q) gave a file system; want an error", commit)
		}
	}
}
