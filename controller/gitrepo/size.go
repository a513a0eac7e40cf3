package gitrepo

import (
	"errors"
	"io/fs"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
)

// objectSize returns the size of an object. The caller holds the lock. The method of
// go-git leaves a file open for every loose object, and ignores alternates.
func (r *Repository) objectSize(h plumbing.Hash) (int64, error) {
	size, err := r.looseSize(h)
	if errors.Is(err, fs.ErrNotExist) {
		size, err = r.store.EncodedObjectSize(h)
	}
	if err == nil {
		return size, nil
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
	name := h.String()
	f, err := r.store.Filesystem().Open(path.Join("objects", name[:2], name[2:]))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in, err := objfile.NewReader(f)
	if err != nil {
		return 0, err
	}
	_, size, err = in.Header()
	return size, errors.Join(err, in.Close())
}
