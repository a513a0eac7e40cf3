//go:build unix

package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tree is a work tree of git with a file that nobody may change, and links to it.
func tree(t *testing.T) (dir, own string) {
	t.Helper()
	dir = t.TempDir()
	own = filepath.Join(dir, ".git", "hooks", "pre-commit")
	err := errors.Join(
		os.MkdirAll(filepath.Dir(own), 0o755), os.WriteFile(own, []byte("own"), 0o755),
		os.MkdirAll(filepath.Join(dir, "d", "folder"), 0o755), os.WriteFile(filepath.Join(dir, "d", "plain"), []byte("old"), 0o600),
		os.Symlink("../.git/hooks/pre-commit", filepath.Join(dir, "d", "link")),
		os.Symlink("../.git/hooks/made", filepath.Join(dir, "d", "dangling")),
		os.Symlink(".git/hooks", filepath.Join(dir, "hooks")),
		syscall.Mkfifo(filepath.Join(dir, "d", "pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return dir, own
}

// TestNothingLeavesTheWorkTree holds for each way to write a file.
func TestNothingLeavesTheWorkTree(t *testing.T) {
	for _, name := range []string{
		"d/link", "d/dangling", "d/pipe", "d/folder", "hooks/pre-commit", "hooks/made", ".git/config", ".GIT/config", "d/.git/x", ".git./x", "d/plain/x", "hooks/deep/made",
	} {
		ways := map[string]func(string) error{
			"WriteFile": func(path string) error { return WriteFile(path, []byte("new"), 0o644) },
			"Probe":     Probe,
			"OpenFile": func(path string) error {
				f, err := OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err == nil {
					_, err = f.WriteString("new")
					return errors.Join(err, f.Close())
				}
				return err
			},
		}
		for way, write := range ways {
			dir, own := tree(t)
			err := write(filepath.Join(dir, filepath.FromSlash(name)))
			var why *Refusal
			if !errors.As(err, &why) {
				t.Errorf("%s %s: %v, want a refusal", way, name, err)
			}
			if data, err := os.ReadFile(own); string(data) != "own" {
				t.Errorf("%s %s: the hook has %q, %v", way, name, data, err)
			}
			if list, _ := os.ReadDir(filepath.Dir(own)); len(list) != 1 {
				t.Errorf("%s %s: the hooks are %v", way, name, list)
			}
			if list, _ := os.ReadDir(filepath.Join(dir, "d")); len(list) != 5 {
				t.Errorf("%s %s: something is left in %v", way, name, list)
			}
		}
	}
}

// TestCreate makes new files with their folders, and none through a link.
func TestCreate(t *testing.T) {
	dir, _ := tree(t)
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var why *Refusal
	for _, name := range []string{"hooks/made", ".git/made", "d/plain/x"} {
		if err := f.Create(name, nil, 0o644); !errors.As(err, &why) {
			t.Errorf("Create(%s): %v, want a refusal", name, err)
		}
	}
	for _, name := range []string{"d/plain", "d/link", "d/dangling"} {
		if err := f.Create(name, nil, 0o644); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create(%s): %v, want that it exists", name, err)
		}
	}
	if err := f.Create("a/b/c", []byte("new"), 0o644); err != nil {
		t.Error(err)
	}
}

// TestFilesAreReplaced within a work tree and elsewhere, where a link is the person's.
func TestFilesAreReplaced(t *testing.T) {
	dir, _ := tree(t)
	elsewhere := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(elsewhere, "to"), []byte("old"), 0o600), os.Symlink("to", filepath.Join(elsewhere, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "d/plain"), filepath.Join(dir, "new/folder/file"), filepath.Join(elsewhere, "link"), filepath.Join(elsewhere, "new/file")} {
		if err := WriteFile(path, []byte("new"), 0o644); err != nil {
			t.Error(err)
		}
		if data, err := os.ReadFile(path); string(data) != "new" {
			t.Errorf("%s has %q, %v", path, data, err)
		}
	}
	if found, err := os.Stat(filepath.Join(dir, "d/plain")); err != nil || found.Mode().Perm() != 0o600 {
		t.Errorf("the file has another mode: %v, %v", found, err)
	}
	if err := WriteFile(filepath.Join(dir, "d/plain"), nil, 0o644); err != nil {
		t.Error(err)
	}
	if err := Replace(filepath.Join(dir, "d/plain"), 0o644, func(*os.File) error { return fs.ErrInvalid }); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
	list, _ := os.ReadDir(filepath.Join(dir, "d"))
	for _, e := range list {
		if strings.HasSuffix(e.Name(), DraftSuffix) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// TestALinkFromOutside leads into a work tree, whose rules hold.
func TestALinkFromOutside(t *testing.T) {
	dir, own := tree(t)
	outside := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "d"), outside); err != nil {
		t.Fatal(err)
	}
	var why *Refusal
	if err := WriteFile(filepath.Join(outside, "link"), []byte("new"), 0o644); !errors.As(err, &why) {
		t.Error(err)
	}
	if data, _ := os.ReadFile(own); string(data) != "own" {
		t.Errorf("the hook has %q", data)
	}
}
