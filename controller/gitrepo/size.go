package gitrepo

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
)

// objectSize returns the size of an object. The caller holds the lock. The method of
// go-git leaves a file open for every loose object, and ignores alternates.
func (r *Repository) objectSize(h plumbing.Hash) (int64, error) {
	size, err := r.looseSize(h)
	if err == nil {
		return size, nil
	}
	return r.packedSize(h, err)
}

// packedSize returns the size of an object whose own file could not be read, with the
// reason. The caller holds the lock.
func (r *Repository) packedSize(h plumbing.Hash, loose error) (int64, error) {
	if errors.Is(loose, fs.ErrNotExist) {
		if size, err := r.store.EncodedObjectSize(h); err == nil {
			return size, nil
		}
	}
	o, _, err := r.object(plumbing.AnyObject, h)
	if err != nil {
		return 0, err
	}
	return o.Size(), nil
}

// looseSize reads the header of a loose object. The error wraps [fs.ErrNotExist] if
// there is none.
func (r *Repository) looseSize(h plumbing.Hash) (size int64, err error) {
	err = r.readLoose(h, func(_ plumbing.ObjectType, length int64, _ *objfile.Reader) error {
		size = length
		return nil
	})
	return size, err
}

// looseBlob reads a loose blob at one opening of its file. The data are nil if it has
// more than most bytes. It needs no lock.
func (r *Repository) looseBlob(h plumbing.Hash, most int64) (data []byte, size int64, err error) {
	err = r.readLoose(h, func(kind plumbing.ObjectType, length int64, in *objfile.Reader) error {
		size = length
		switch {
		case kind != plumbing.BlobObject:
			return plumbing.ErrObjectNotFound
		case size > most:
			return nil
		}
		data = make([]byte, size)
		if _, err := io.ReadFull(in, data); err != nil {
			return err
		}
		if in.Hash() != h {
			return errHash
		}
		return nil
	})
	return data, size, err
}

// buffers keep the memory through which loose objects are read.
var buffers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// readLoose passes the header of a loose object to do, with a reader of its content.
func (r *Repository) readLoose(h plumbing.Hash, do func(kind plumbing.ObjectType, size int64, in *objfile.Reader) error) (err error) {
	name := h.String()
	f, err := r.store.Filesystem().Open(path.Join("objects", name[:2], name[2:]))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := buffers.Get().(*bufio.Reader)
	buffered.Reset(f)
	defer buffers.Put(buffered)
	in, err := objfile.NewReader(buffered)
	if err != nil {
		return err
	}
	kind, size, err := in.Header()
	if err == nil {
		err = do(kind, size, in)
	}
	return errors.Join(err, in.Close())
}
