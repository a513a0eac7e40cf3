package editor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gavel-evals/gavel/schema"
)

// failing has a file or folder that cannot be read.
type failing struct {
	fs.FS
	name string
	err  error
}

func (f failing) fails(op, name string) error {
	if f.err == nil || name != f.name {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: f.err}
}

func (f failing) Open(name string) (fs.File, error) {
	if err := f.fails("open", name); err != nil {
		return nil, err
	}
	return f.FS.Open(name)
}

func (f failing) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.fails("readdir", name); err != nil {
		return nil, err
	}
	return fs.ReadDir(f.FS, name)
}

// TestUnreadableDefinitions are an error that names their place, never a shorter list, and
// are read again by the next view of the same version.
func TestUnreadableDefinitions(t *testing.T) {
	dir := benchTree(t, size{domains: 2, tests: 3, lists: 1, cases: 3})
	all, err := (&Store{known: newMemory(time.Now), files: os.DirFS(dir)}).readFiles(t.Context(), []string{"test_definitions"}, wish{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		fails error
	}{
		{"test_definitions", syscall.EIO},
		{"test_definitions", syscall.EMFILE},
		{"test_definitions/domain_1", syscall.EMFILE},
		{"test_definitions/domain_1", fs.ErrPermission},
		{"test_definitions/domain_1/level_1", syscall.EIO},
		{"test_definitions/domain_1/domain.json", syscall.EMFILE},
	} {
		fails := tt.fails
		store := New(Config{
			Open: func(context.Context) (fs.FS, func() error, error) {
				return failing{os.DirFS(dir), tt.name, fails}, func() error { return nil }, nil
			},
			Version: func() (uint64, bool) { return 1, true },
			Settings: func(context.Context, fs.FS) (schema.Settings, error) {
				return schema.Settings{Definitions: []string{"test_definitions"}}, nil
			},
		})
		if list, err := store.list(t.Context(), wish{}); !errors.Is(err, tt.fails) || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s: %v: %d entries, %v", tt.name, tt.fails, len(list), err)
		}
		fails = nil
		if list, err := store.list(t.Context(), wish{}); err != nil || len(list) != len(all.entries) {
			t.Errorf("%s: read again after %v: %d entries, %v", tt.name, tt.fails, len(list), err)
		}
	}
}

// TestUnreadableFileIsReadAgain keeps no error of reading a file.
func TestUnreadableFileIsReadAgain(t *testing.T) {
	m, files := newMemory(func() time.Time { return time.Unix(2000, 0) }), fstest.MapFS{"a.json": {Data: []byte(`{"id": "a"}`), ModTime: time.Unix(1000, 0)}}
	list, err := fs.ReadDir(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.read(failing{files, "a.json", fs.ErrPermission}, "a.json", list[0]); got.Problem == "" {
		t.Errorf("the file has no problem: %+v", got)
	}
	if got := m.read(files, "a.json", list[0]); got.Problem != "" {
		t.Errorf("the file has the problem %q", got.Problem)
	}
}

// TestOverlayOfAnUnreadableFolder has the folder's error, not only what is changed in it.
func TestOverlayOfAnUnreadableFolder(t *testing.T) {
	files := newOverlay(failing{fstest.MapFS{"defs/a.json": {Data: []byte("{}")}}, "defs", syscall.EIO}, Change{"defs/b.json": []byte("{}")})
	if list, err := fs.ReadDir(files, "defs"); !errors.Is(err, syscall.EIO) {
		t.Errorf("ReadDir = %v, %v", list, err)
	}
}

// TestListOfACommit: the entries of a folder of a commit, which has no time, have a mark.
func TestListOfACommit(t *testing.T) {
	m := newMemory(nil)
	one := m.noteOutside(fstest.MapFS{"more/a.txt": {}}, "more/")
	two := m.noteOutside(fstest.MapFS{"more/a.txt": {}, "more/b.txt": {}}, "more/")
	if len(one) != 1 || len(two) != 1 || !one[0].isSettled || one[0].isSame(two[0]) || !one[0].isSame(m.noteOutside(fstest.MapFS{"more/a.txt": {}}, "more/")[0]) {
		t.Errorf("the marks are %+v and %+v", one, two)
	}
	if gone := m.noteOutside(fstest.MapFS{}, "more/"); len(gone) > 0 {
		t.Errorf("a missing folder has %+v", gone)
	}
}
