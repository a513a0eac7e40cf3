package gitrepo

import (
	"crypto/sha1" //nolint:gosec // git names what files hold by it
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/diff"
	lines "github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// A DiffFile is a file with its old and new content. Was or Is is nil if the file does
// not exist on that side.
type DiffFile struct {
	Path    string
	Was, Is *DiffContent
}

// A DiffContent is a file's content.
type DiffContent struct {
	// Text is shown unless Binary is set.
	Text   string
	Binary bool
	// ID distinguishes contents.
	ID         string
	Executable bool
}

// Diff formats changes as git does, with three lines of context. A file that is binary
// on one side is only reported as different.
func Diff(files []DiffFile) (string, error) {
	var p patch
	for _, f := range files {
		p = append(p, diffFile(f))
	}
	var out strings.Builder
	if err := diff.NewUnifiedEncoder(&out, diff.DefaultContextLines).Encode(p); err != nil {
		return "", fmt.Errorf("show how files differ: %w", err)
	}
	return out.String(), nil
}

// diffFile returns the changed lines of a file.
func diffFile(f DiffFile) filePatch {
	var out filePatch
	was, is := "", ""
	if f.Was != nil {
		out.from, out.binary, was = file{f.Path, f.Was}, f.Was.Binary, f.Was.Text
	}
	if f.Is != nil {
		out.to, out.binary, is = file{f.Path, f.Is}, out.binary || f.Is.Binary, f.Is.Text
	}
	if out.binary {
		return out
	}
	for _, d := range lines.Do(was, is) {
		out.chunks = append(out.chunks, chunk{d})
	}
	return out
}

// A patch implements diff.Patch.
type patch []filePatch

func (p patch) Message() string { return "" }

func (p patch) FilePatches() []diff.FilePatch {
	out := make([]diff.FilePatch, len(p))
	for i := range p {
		out[i] = p[i]
	}
	return out
}

// A filePatch implements diff.FilePatch. from and to are nil without a file.
type filePatch struct {
	from, to diff.File
	binary   bool
	chunks   []diff.Chunk
}

func (p filePatch) IsBinary() bool              { return p.binary }
func (p filePatch) Files() (from, to diff.File) { return p.from, p.to }
func (p filePatch) Chunks() []diff.Chunk        { return p.chunks }

// A file implements diff.File.
type file struct {
	name string
	*DiffContent
}

func (f file) Path() string { return f.name }

// Hash distinguishes contents as their ID does; it is not git's own.
func (f file) Hash() plumbing.Hash { return sha1.Sum([]byte(f.ID)) } //nolint:gosec // it only tells files apart

func (f file) Mode() filemode.FileMode {
	if f.Executable {
		return filemode.Executable
	}
	return filemode.Regular
}

// A chunk implements diff.Chunk.
type chunk struct{ text diffmatchpatch.Diff }

func (c chunk) Content() string { return c.text.Text }

func (c chunk) Type() diff.Operation {
	switch c.text.Type {
	case diffmatchpatch.DiffInsert:
		return diff.Add
	case diffmatchpatch.DiffDelete:
		return diff.Delete
	}
	return diff.Equal
}
