//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAbuseFoldersOfAKilledProcess leaves folders as a process does that was
// killed: the next sandbox removes them, and no folder that somebody uses.
func TestAbuseFoldersOfAKilledProcess(t *testing.T) {
	parent := t.TempDir()
	old := time.Now().Add(-time.Hour)
	folder := func(kind string, when time.Time) *Folder {
		t.Helper()
		f, err := NewFolder(parent, kind)
		if err == nil {
			err = os.MkdirAll(filepath.Join(f.Path, "sub"), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(f.Path, "sub", "file"), []byte("x"), 0o644)
		}
		if err == nil {
			err = os.Chmod(filepath.Join(f.Path, "sub"), 0o500)
		}
		if err == nil {
			err = os.Chtimes(f.Path, when, when)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	killed := func(f *Folder) *Folder {
		t.Helper()
		if err := f.hold.Close(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	foreign := filepath.Join(parent, "gavel-other-1")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(foreign, old, old); err != nil {
		t.Fatal(err)
	}
	used := folder("scratch", old)
	want := map[string]bool{
		used.Path: true, foreign: true, killed(folder("tree", time.Now())).Path: true,
		killed(folder("scratch", old)).Path: false, killed(folder("canary", old)).Path: false, killed(folder("tree", old)).Path: false,
	}
	if _, err := Open(t.Context(), Policy{Accept: Off, Scratch: parent}); err != nil {
		t.Fatal(err)
	}
	for path, stays := range want {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s stays: %v, want %v", filepath.Base(path), err == nil, stays)
		}
	}
	if err := used.Remove(); err != nil {
		t.Error(err)
	}
}
