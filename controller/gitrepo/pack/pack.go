// Package pack stores a remote's pack in a repository and builds its index in a bounded
// amount of memory: objects are hashed while they are inflated, and large bases of
// deltas are kept in a file. A pack beyond a bound is refused before it costs more than
// the bound.
//
// Callers make a [Writer] with [Create], write the pack to it and close it.
package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
)

// Bounds limit a pack.
type Bounds struct {
	// Bytes bounds the pack itself, Inflated the sum of its inflated objects, and
	// Object a single one.
	Bytes, Inflated, Object int64
	// Listed bounds a commit, a tag or a folder, which are read as a whole.
	Listed int64
	// Delta bounds an object that is stored as a delta, its base, and the sum of a
	// chain of deltas: a reader of the last one holds them in memory.
	Delta int64
	// Objects bounds the number of objects, Depth the length of a chain of deltas.
	Objects, Depth int
}

// ErrMalformed reports data that is not a git pack.
var ErrMalformed = errors.New("malformed pack")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// passed returns the error of a bound.
func passed(most int64, format string, args ...any) error {
	return &ExcessError{
		Path:    ".",
		Message: fmt.Sprintf(format, args...) + fmt.Sprintf("; the bound is %d", most),
		Hint:    "keep large files out of the repository, or bring them in by somebody who may write to it",
	}
}

// A Writer receives a pack. It is not safe for concurrent use.
type Writer struct {
	ctx  context.Context // the fetch's, which go-git does not pass on
	dir  string
	most Bounds
	file *os.File
	size int64
	bad  error // from Write; the pack is incomplete
}

// Create returns a Writer for a repository's pack folder, and creates the folder if it
// is missing. ctx also ends the indexing.
func Create(ctx context.Context, dir string, most Bounds) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "tmp_pack_")
	if err != nil {
		return nil, err
	}
	return &Writer{ctx: ctx, dir: dir, most: most, file: file}, nil
}

// Write takes the next bytes. The error is an [ExcessError] if the pack has too many.
func (w *Writer) Write(p []byte) (n int, err error) {
	if w.size+int64(len(p)) > w.most.Bytes {
		w.bad = passed(w.most.Bytes, "the new objects take more bytes than may be fetched")
		return 0, w.bad
	}
	n, err = w.file.Write(p)
	w.size += int64(n)
	w.bad = err
	return n, err
}

// Close builds the index and names the pack. If the pack is refused, or is not a pack,
// nothing of it remains. An error that is not about the pack wraps neither an
// [ExcessError] nor [ErrMalformed]. An empty stream is neither a pack nor an error.
func (w *Writer) Close() (err error) {
	defer func() { err = errors.Join(err, w.file.Close(), discard(w.file.Name())) }()
	if w.bad != nil || w.size == 0 {
		return nil // Write has returned the error already
	}
	ix, err := w.index()
	if err != nil {
		return err
	}
	name := filepath.Join(w.dir, "pack-"+ix.checksum.String())
	if _, err := os.Lstat(name + ".pack"); err == nil {
		return nil // it already exists
	}
	// A pack without an index hides all others from go-git: it comes last.
	if err := w.write(name+".idx", ix); err != nil {
		return err
	}
	if err := w.file.Chmod(0o444); err != nil {
		return err
	}
	return os.Rename(w.file.Name(), name+".pack")
}

func (w *Writer) index() (*indexer, error) {
	ix := &indexer{ctx: w.ctx, most: w.most, file: w.file, refs: map[plumbing.Hash][]int32{}}
	if err := ix.scan(); err != nil {
		return nil, err
	}
	scratch := &scratch{dir: w.dir}
	err := ix.resolve(scratch)
	return ix, errors.Join(err, scratch.close())
}

// write writes the index under its name.
func (w *Writer) write(name string, ix *indexer) error {
	tmp, err := os.CreateTemp(w.dir, "tmp_idx_")
	if err != nil {
		return err
	}
	err = errors.Join(ix.encode(tmp), tmp.Chmod(0o444), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	return errors.Join(err, discard(tmp.Name()))
}

// discard removes a file that may have been renamed.
func discard(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

var _ io.WriteCloser = (*Writer)(nil)
