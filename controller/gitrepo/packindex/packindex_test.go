package packindex_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/gitrepo/packindex"
)

// TestOpen reads an index as it is, and knows its size.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	want := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	if err := os.WriteFile(filepath.Join(dir, "pack-1.idx"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := packindex.FS{BoundOS: osfs.New(dir, osfs.WithBoundOS()).(*osfs.BoundOS)}.Open("pack-1.idx")
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
		r, err := gitrepo.Open(dir)
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
