package gitrepo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	"github.com/google/go-cmp/cmp"
)

func TestChanged(t *testing.T) {
	b := newBuilder(t)
	entry := func(name string, mode filemode.FileMode, hash plumbing.Hash) object.TreeEntry {
		return object.TreeEntry{Name: name, Mode: mode, Hash: hash}
	}
	module := plumbing.NewHash(strings.Repeat("1", 40))
	base := b.commit(b.tree(
		b.file("same", "1"), b.file("edited", "1"), b.file("gone", "1"),
		b.folder("d", b.file("same", "1"), b.folder("e", b.file("edited", "1"))),
		b.folder("d-removed", b.file("a", "1"), b.folder("b", b.file("c", "1"))),
		b.file("file-to-folder", "1"), b.folder("folder-to-file", b.file("x", "1")),
		b.file("to-link", "1"), b.file("to-exec", "1"),
		entry("module", filemode.Submodule, module),
	))
	head := b.commit(b.tree(
		b.file("same", "1"), b.file("edited", "2"), b.file("added", "1"),
		b.folder("d", b.file("same", "1"), b.folder("e", b.file("edited", "2"), b.file("new", "1"))),
		b.folder("file-to-folder", b.file("y", "1")), b.file("folder-to-file", "1"),
		entry("to-link", filemode.Symlink, b.blob("1")), entry("to-exec", filemode.Executable, b.blob("1")),
		entry("module", filemode.Submodule, plumbing.NewHash(strings.Repeat("2", 40))),
	))
	r := b.open()
	want := []string{
		"added", "d-removed/a", "d-removed/b/c", "d/e/edited", "d/e/new", "edited",
		"file-to-folder", "file-to-folder/y", "folder-to-file", "folder-to-file/x",
		"gone", "module", "to-exec", "to-link",
	}
	for _, pair := range [][2]string{{base, head}, {head, base}} {
		got, err := r.Changed(t.Context(), pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Changed(-want +got):\n%s", diff)
		}
	}
	if got, err := r.Changed(t.Context(), base, base); err != nil || got != nil {
		t.Errorf("Changed of equal commits = %v, %v", got, err)
	}
}

func TestChangedLooksOnlyWhereHashesDiffer(t *testing.T) {
	b := newBuilder(t)
	// The tree of "untouched" is not in the store: reading it would fail.
	untouched := object.TreeEntry{Name: "untouched", Mode: filemode.Dir, Hash: plumbing.NewHash(strings.Repeat("3", 40))}
	base := b.commit(b.tree(untouched, b.file("a", "1")))
	head := b.commit(b.tree(untouched, b.file("a", "2")))
	got, err := b.open().Changed(t.Context(), base, head)
	if err != nil || fmt.Sprint(got) != "[a]" {
		t.Errorf("Changed = %v, %v; want a", got, err)
	}
}

func TestChangedWork(t *testing.T) {
	b := newBuilder(t)
	base := b.commit(b.tree(
		b.folder("defs", b.file("same", "1"), b.file("edited", "1"), b.file("gone", "1")),
		b.folder("left", b.file("all", "1")),
		b.folder("other", b.file("edited", "1")),
	))
	for _, tt := range []struct{ name, text string }{
		{"defs/same", "1"}, {"defs/edited", "2"}, {"defs/new", "1"}, {"other/edited", "2"}, {"right/new", "1"},
	} {
		b.write(tt.name, tt.text)
	}
	if err := os.Symlink("defs", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := b.open()
	for _, test := range []struct{ folders, want string }{
		{"link/same", "[]"},
		{"link", "[link]"},
		{"defs", "[defs/edited defs/gone defs/new]"},
		{"left", "[left/all]"},
		{"right right/", "[right/new]"},
		{"nowhere", "[]"},
		{"defs/edited", "[defs/edited]"},
		{".", "[defs/edited defs/gone defs/new left/all link other/edited right/new]"},
	} {
		got, err := r.ChangedWork(t.Context(), base, strings.Fields(test.folders))
		if err != nil || fmt.Sprint(got) != test.want {
			t.Errorf("ChangedWork(%s) = %v, %v; want %s", test.folders, got, err, test.want)
		}
	}
	if got, err := r.ChangedWork(t.Context(), base, []string{"../x"}); err == nil {
		t.Errorf("ChangedWork outside the repository = %v; want an error", got)
	}
}

// grow makes a repository of n files, packed as a clone is, and a second
// commit that changes one of them.
func grow(b *testing.B, n int) (dir, base, head string) {
	b.Helper()
	w := newBuilder(b)
	var levels, last []object.TreeEntry
	for d := range n / 100 {
		var files []object.TreeEntry
		for f := range 100 {
			files = append(files, w.file(fmt.Sprintf("test_%d.json", f), fmt.Sprintf(`{"id": "%d-%d"}`, d, f)))
		}
		levels = append(levels, w.folder("level_"+strconv.Itoa(d), files...))
		if d == n/200 {
			last = slices.DeleteFunc(files, func(e object.TreeEntry) bool { return e.Name == "test_99.json" })
		}
	}
	tree := func(levels []object.TreeEntry) plumbing.Hash {
		return w.tree(w.folder("test_definitions", levels...))
	}
	base = w.commit(tree(slices.Clone(levels)))
	levels[n/200] = w.folder(levels[n/200].Name, append(last, w.file("test_99.json", `{"id": "changed"}`))...)
	head = w.commit(tree(levels), base)
	w.ref("refs/heads/main", head)

	packed := newBuilder(b)
	objects, err := revlist.Objects(w.git.Storer, []plumbing.Hash{plumbing.NewHash(head)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	in, out := io.Pipe()
	go func() {
		_, err := packfile.NewEncoder(out, w.git.Storer, false).Encode(objects, 0)
		out.CloseWithError(err)
	}()
	if err := packfile.UpdateObjectStorage(packed.git.Storer, in); err != nil {
		b.Fatal(err)
	}
	packed.ref("refs/heads/main", head)
	return packed.dir, base, head
}

const manyFiles = 100_000

// BenchmarkChanged finds the one changed file among 100,000. The aim is 5 ms
// when the repository is open, 100 ms when it is opened for it.
func BenchmarkChanged(b *testing.B) {
	dir, base, head := grow(b, manyFiles)
	look := func(b *testing.B, r *Repository) {
		if got, err := r.Changed(b.Context(), base, head); err != nil || len(got) != 1 {
			b.Fatal(len(got), err)
		}
	}
	b.Run("open", func(b *testing.B) {
		r, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close()
		for b.Loop() {
			clear(r.dirs) // every look reads the trees again
			look(b, r)
		}
	})
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			r, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			look(b, r)
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
