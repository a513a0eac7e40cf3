//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// deep makes folders inside of each other, with a file in the last one.
func deep(t *testing.T, dir, name string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	for range levels {
		if err != nil {
			t.Fatal(err)
		}
		if err = unix.Mkdirat(at, name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, failed := unix.Openat(at, name, unix.O_DIRECTORY, 0)
		err = errors.Join(failed, unix.Close(at))
		at = below
	}
	file, failed := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if failed == nil {
		_, failed = unix.Write(file, make([]byte, 4096))
	}
	if err := errors.Join(err, failed, unix.Close(at), unix.Close(file)); err != nil {
		t.Fatal(err)
	}
}

// TestWalk visits everything once, through no link, and says which bound is passed.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	deep(t, dir, "a", 3)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "big"), nil, 0o644), os.Truncate(filepath.Join(dir, "big"), 1<<30),
		os.Symlink("/", filepath.Join(dir, "root")), os.Symlink("a", filepath.Join(dir, "again")),
	); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		within Bounds
		want   string
	}{
		{Bounds{Depth: 3, Files: 7, Bytes: 1<<30 + 4096, Names: 100}, ""},
		{Bounds{Depth: 2, Files: 7}, `more than 2 folders inside of each other, in "a/a/a"`},
		{Bounds{Depth: 3, Files: 6}, "more than 6 files and folders"},
		{Bounds{Depth: 3, Files: 7, Bytes: 1<<30 + 4095}, `more than 1073745919 bytes, holes included, up to "big"`},
		{Bounds{Depth: 3, Files: 7, Names: 20}, "longer than 20 bytes together"},
	} {
		var got []string
		err := Walk(t.Context(), dir, tt.within, func(e Entry) error {
			got = append(got, e.Path)
			return nil
		})
		var passed *Exceeded
		if tt.want == "" {
			if diff := cmp.Diff([]string{"a", "a/a", "a/a/a", "a/a/a/file", "again", "big", "root"}, got); diff != "" || err != nil {
				t.Errorf("the walk ends with %v (-want +got):\n%s", err, diff)
			}
		} else if !errors.As(err, &passed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.within, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := Walk(ctx, dir, Bounds{Depth: 3, Files: 7}, func(Entry) error { seen++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("after it was ended the walk sees %d entries and ends with %v", seen, err)
	}
}

// TestAbuseFoldersWithoutEnd: what takes disk is seen however deep it is, and in folders
// that a program closed. All of it is removed, within few descriptors. (abuse 41)
func TestAbuseFoldersWithoutEnd(t *testing.T) {
	name := strings.Repeat("d", 200)
	f, err := NewFolder(t.TempDir(), "workspace")
	if err != nil {
		t.Fatal(err)
	}
	deep(t, f.Path, name, 60) // far below the longest path
	if bytes, err := folderSize(t.Context(), f.Path, Bounds{Depth: maxDepth, Files: 100}); bytes < 4096 || err != nil {
		t.Errorf("below the longest path %d bytes are seen, %v", bytes, err)
	}
	closed := filepath.Join(f.Path, "closed")
	if err := errors.Join(os.Mkdir(closed, 0o755), os.WriteFile(filepath.Join(closed, "file"), make([]byte, 3<<20), 0o644), os.Chmod(closed, 0o300)); err != nil {
		t.Fatal(err)
	}
	if bytes, err := folderSize(t.Context(), f.Path, Bounds{Depth: maxDepth, Files: 100}); bytes < 3<<20+4096 || err != nil {
		t.Errorf("%d bytes are seen, %v", bytes, err)
	}
	if found, err := os.Stat(closed); err != nil || found.Mode().Perm() != 0o300 {
		t.Errorf("the closed folder is %v, %v", found, err)
	}
	if _, err := folderSize(t.Context(), f.Path, Bounds{Depth: maxDepth, Files: 50}); err == nil || !strings.Contains(err.Error(), "more than 50 files") {
		t.Errorf("50 files: %v", err)
	}
	deep(t, f.Path, "e", 5000)
	for i := range 2000 {
		deep(t, f.Path, fmt.Sprint(i), 2)
	}
	var passed *Exceeded
	if _, err := folderSize(t.Context(), f.Path, Bounds{Depth: maxDepth, Files: 100_000}); !errors.As(err, &passed) {
		t.Errorf("5000 folders inside of each other: %v", err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = 100
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	err = f.Remove()
	if err := errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestRemovalEnds when there is no more time, and continues with the rest.
func TestRemovalEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	deep(t, dir, "a", 3)
	if err := removeAll(dir, time.Now().Add(-time.Second)); err == nil || !strings.Contains(err.Error(), "the next sandbox goes on") {
		t.Errorf("without time: %v", err)
	}
	if err := errors.Join(removeAll(dir, time.Now().Add(time.Minute)), removeAll(dir, time.Now().Add(time.Minute))); err != nil {
		t.Error(err)
	}
}
