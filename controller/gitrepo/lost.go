package gitrepo

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git names objects by it
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
)

// A LostError is an unreadable object of a commit: it was never fetched, as in a
// partial clone, or its storage is damaged. Its content is unknown, so it never counts
// as absent.
type LostError struct {
	// Object is 40 hex digits.
	Object string
	cause  error
}

// Error names the object and the repair.
func (e *LostError) Error() string {
	if errors.Is(e.cause, plumbing.ErrObjectNotFound) {
		return fmt.Sprintf("git object %.12s is missing, as in a partial clone: run git fetch --refetch --no-filter, or clone again without --filter", e.Object)
	}
	return fmt.Sprintf("git object %.12s is damaged (%v): clone the repository again", e.Object, e.cause)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.cause }

// Lost returns true: the error is about the repository and not about one of its files.
func (e *LostError) Lost() bool { return true }

// errHash is a damage that compression does not detect.
var errHash = errors.New("its bytes are others than its name says")

// lose turns an error about an object into a [LostError] and records it, unless the
// error is about this process.
func (r *Repository) lose(h plumbing.Hash, err error) error {
	for _, kind := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, errTooLarge} {
		if errors.Is(err, kind) {
			return err
		}
	}
	lost := &LostError{h.String(), err}
	r.lost.CompareAndSwap(nil, lost)
	if r.onLost != nil {
		r.onLost(lost.Object)
	}
	return lost
}

// Lost returns the first object that could not be read, as a [LostError], or nil.
func (r *Repository) Lost() error {
	if lost := r.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// object reads a whole object, from a pack if its own file is damaged. The caller holds
// the lock.
func (r *Repository) object(kind plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, []byte, error) {
	o, data, err := r.readObject(kind, h)
	if err == nil || errors.Is(err, errTooLarge) {
		return o, data, err
	}
	// The cache keeps partly read objects. Once the packs are known, the store looks
	// there first.
	r.cache.Clear()
	_, _ = r.store.EncodedObjectSize(plumbing.ZeroHash)
	if o, data, again := r.readObject(kind, h); again == nil {
		return o, data, nil
	}
	r.cache.Clear()
	return nil, nil, r.lose(h, err)
}

func (r *Repository) readObject(kind plumbing.ObjectType, h plumbing.Hash) (o plumbing.EncodedObject, data []byte, err error) {
	if o, err = r.store.EncodedObject(kind, h); err != nil {
		return nil, nil, err
	}
	if o.Size() > MaxFile {
		return nil, nil, errTooLarge
	}
	in, err := o.Reader()
	if err != nil {
		return nil, nil, err
	}
	data = make([]byte, o.Size())
	_, err = io.ReadFull(in, data)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, nil, err
	}
	sum := sha1.New() //nolint:gosec // as git does
	fmt.Fprintf(sum, "%s %d\x00", o.Type(), len(data))
	sum.Write(data)
	if !bytes.Equal(sum.Sum(nil), h[:]) {
		return nil, nil, errHash
	}
	return o, data, nil
}

// A damage decides whether to fetch again.
type damage struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	found      string          // a lost object
	tried      map[string]bool // objects that a fetch was repeated for
	generation int             // counts repeated fetches
}

// watch records the lost objects of a repository until it is fetched again.
func (d *damage) watch(r *Repository) {
	d.mu.Lock()
	defer d.mu.Unlock()
	generation := d.generation
	r.onLost = func(object string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.generation == generation {
			d.found = object
		}
	}
}

// due reports whether to fetch again. It is due once per object: an object that is lost
// again is missing at the remote.
func (d *damage) due() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	object := d.found
	d.found = ""
	if object == "" || d.tried[object] {
		return false
	}
	if d.tried == nil {
		d.tried = map[string]bool{}
	}
	d.tried[object] = true
	d.generation++
	return true
}
