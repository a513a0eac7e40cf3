package gitrepo

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"
)

func TestExport(t *testing.T) {
	b := newBuilder(t)
	commit := b.commit(b.tree(
		b.folder("agent", b.file("main.py", "print()"), object.TreeEntry{Name: "run", Mode: filemode.Executable, Hash: b.blob("#!")},
			b.folder("data", b.file("x", "1"))),
		b.file("other", "1"),
		object.TreeEntry{Name: "link", Mode: filemode.Symlink, Hash: b.blob("agent")},
		object.TreeEntry{Name: "module", Mode: filemode.Submodule, Hash: plumbing.NewHash(strings.Repeat("1", 40))},
		b.folder("odd", b.file("GIT~1", "1"), b.file("a\\b", "1"), b.folder(".Git.", b.file("config", "1"))),
	))
	below := func(prefix string) func(string) bool {
		return func(name string) bool { return strings.HasPrefix(name, prefix) }
	}
	r := b.open()
	dir := t.TempDir()
	if err := r.Export(t.Context(), commit, dir, Export{Match: below("agent/"), MaxFiles: 3, MaxBytes: 10}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(dir), name)
		got[name] = info.Mode().String() + " " + string(data)
		return err
	})
	want := map[string]string{"agent/main.py": "-rw-r--r-- print()", "agent/run": "-rwxr-xr-x #!", "agent/data/x": "-rw-r--r-- 1"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}

	for _, test := range []struct{ name, below, want string }{
		{"link", "link", "symbolic link"},
		{"submodule", "module", "submodule"},
		{"short name of git's folder", "odd/GIT", "not exported"},
		{"folder with a backslash", "odd/a", "not exported"},
		{"look-alike of git's folder", "odd/.Git", "not exported"},
	} {
		err := r.Export(t.Context(), commit, t.TempDir(), Export{Match: below(test.below), MaxFiles: 9, MaxBytes: 99})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Export = %v, want an error with %q", test.name, err, test.want)
		}
	}
	// A whole tree does without them.
	whole := t.TempDir()
	if err := r.Export(t.Context(), commit, whole, Export{MaxFiles: 4, MaxBytes: 99, LeaveOut: true}); err != nil {
		t.Error(err)
	}
	var files []string
	err = fs.WalkDir(os.DirFS(whole), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if diff := cmp.Diff([]string{"agent/data/x", "agent/main.py", "agent/run", "other"}, files); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, quota := range []Export{{MaxFiles: 2, MaxBytes: 99}, {MaxFiles: 9, MaxBytes: 9}} {
		quota.Match = below("agent/")
		if err := r.Export(t.Context(), commit, t.TempDir(), quota); !errors.Is(err, ErrQuota) {
			t.Errorf("Export with %d files and %d bytes = %v, want ErrQuota", quota.MaxFiles, quota.MaxBytes, err)
		}
	}
	// A link that waits in the folder does not lead out of it.
	trap, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, trap+"/agent"); err != nil {
		t.Fatal(err)
	}
	if err := r.Export(t.Context(), commit, trap, Export{Match: below("agent/"), MaxFiles: 9, MaxBytes: 99}); err == nil {
		t.Error("Export through a link gave no error")
	}
}
