package gitrepo

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestAsBoundOS compares its reads with those of osfs.BoundOS, over links, out of the
// folder and at missing files.
func TestAsBoundOS(t *testing.T) {
	dir, outside := filepath.Join(t.TempDir(), "inside"), t.TempDir()
	for _, f := range []struct{ name, content string }{
		{filepath.Join(dir, "HEAD"), "ref: refs/heads/main"},
		{filepath.Join(dir, "refs", "heads", "main"), "inside"},
		{filepath.Join(outside, "secret"), "outside"},
		{filepath.Join(filepath.Dir(dir), "secret"), "outside"},
		{filepath.Join(dir, "objects", "ab", "cd"), "inside"},
		{filepath.Join(dir, "objects", "pack", "x.idx"), "index"},
	} {
		if err := os.MkdirAll(filepath.Dir(f.name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.name, []byte(f.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []struct{ name, target string }{
		{"file", filepath.Join(outside, "secret")},
		{"up", filepath.Join("..", "secret")},
		{"folder", outside},
		{"refs/linked", filepath.Join("heads", "main")},
		{"refs/tags", "heads"},
		{"broken", "nothing"},
		{"round", "round"},
	} {
		err := os.Symlink(link.target, filepath.Join(dir, filepath.FromSlash(link.name)))
		if err != nil && runtime.GOOS != "windows" { // which has no links for everybody
			t.Fatal(err)
		}
	}
	files, bound := newGitFS(dir), osfs.New(dir, osfs.WithBoundOS())
	for _, name := range []string{
		"HEAD", "./HEAD", "refs/heads/main", "refs//heads/../heads/main", "objects/ab/cd", "objects/pack/x.idx",
		"file", "up", "folder/secret", "refs/linked", "refs/tags/main", "broken", "round", "round/x",
		"../secret", "refs/../../secret", "/HEAD", "nothing", "objects/ff/00", "HEAD/x", "refs/heads/main/x", "",
		filepath.Join(dir, "HEAD"), filepath.Join(outside, "secret"),
	} {
		for range 2 { // the second time from memory
			want, wantErr := content(bound, name)
			if got, err := content(files, name); got != want || (err == nil) != (wantErr == nil) || os.IsNotExist(err) != os.IsNotExist(wantErr) {
				t.Errorf("%q is read as %q, %v; want %q, %v", name, got, err, want, wantErr)
			}
			if want == "outside" {
				t.Errorf("%q leads out of the folder", name)
			}
			wantInfo, wantErr := bound.Stat(name)
			info, err := files.Stat(name)
			if (err == nil) != (wantErr == nil) || err == nil && !os.SameFile(info, wantInfo) {
				t.Errorf("%q is %v, %v; want %v, %v", name, info, err, wantInfo, wantErr)
			}
		}
	}
	for _, name := range []string{"", ".", "refs", "refs/heads", "refs/tags", "folder", "..", "nothing", "HEAD", "objects/ab"} {
		want, wantErr := names(bound, name)
		if got, err := names(files, name); !slices.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%q holds %q, %v; want %q, %v", name, got, err, want, wantErr)
		}
	}
}

func content(from billy.Filesystem, name string) (string, error) {
	f, err := from.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return "a folder", nil
	}
	return string(data), nil
}

func names(from billy.Filesystem, name string) (found []string, err error) {
	infos, err := from.ReadDir(name)
	for _, info := range infos {
		found = append(found, info.Name())
	}
	return found, err
}

// TestAFolderThatGoesAndComes is read as it is, though it is remembered.
func TestAFolderThatGoesAndComes(t *testing.T) {
	dir := t.TempDir()
	files, name := newGitFS(dir), filepath.Join("objects", "ab", "cd")
	for i, want := range []string{"", "first", "", "second"} {
		if err := os.RemoveAll(filepath.Join(dir, "objects")); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			if err := os.MkdirAll(filepath.Join(dir, "objects", "ab"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := content(files, name)
		if got != want || os.IsNotExist(err) != (want == "") {
			t.Errorf("in turn %d it is read as %q, %v; want %q", i+1, got, err, want)
		}
	}
}

// TestIndexOfAPack reads an index as it is, and knows its size.
func TestIndexOfAPack(t *testing.T) {
	dir := t.TempDir()
	want := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	if err := os.WriteFile(filepath.Join(dir, "pack-1.idx"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := newGitFS(dir).Open("pack-1.idx")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("it reads %d bytes (%v), want the %d of the file", len(got), err, len(want))
	}
	sized, ok := f.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		t.Fatal("it has no size, which go-git holds an index to")
	}
	if info, err := sized.Stat(); err != nil || info.Size() != int64(len(want)) {
		t.Errorf("its size is that of %+v (%v), want %d", info, err, len(want))
	}
}

// BenchmarkOpenedWithManyPacks looks a commit up in a repository that was fetched into 50
// times.
func BenchmarkOpenedWithManyPacks(b *testing.B) {
	dir := b.TempDir()
	gittest.Init(b, dir, "master")
	for i := range 50 {
		gittest.Commit(b, dir, map[string]string{"file": fmt.Sprint(i)})
		gittest.Run(b, dir, "repack", "-q", "-d")
	}
	for b.Loop() {
		r, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Resolve(b.Context(), "HEAD"); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
