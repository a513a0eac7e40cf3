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

// A LostError is an object that a commit has and that cannot be read: it was never
// fetched, as in a partial clone, or what is stored of it is damaged. Nothing is known
// of what it holds, so it never counts as absent.
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

// Unwrap returns what came of reading it.
func (e *LostError) Unwrap() error { return e.cause }

// Lost is true: the error is the repository's and not that of a file in it.
func (e *LostError) Lost() bool { return true }

// errHash is a damage that compression does not show.
var errHash = errors.New("its bytes are others than its name says")

// lose makes an error about an object a [LostError], unless it is about this process, and
// notes it.
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

// Lost returns the first object that could not be read, as a [LostError]; nil where all
// could that were asked for.
func (r *Repository) Lost() error {
	if lost := r.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// object reads an object as a whole, from a pack where its own file is damaged. The
// caller holds the lock.
func (r *Repository) object(kind plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, []byte, error) {
	o, data, err := r.readObject(kind, h)
	if err == nil || errors.Is(err, errTooLarge) {
		return o, data, err
	}
	// The cache keeps what was read in part. Once the packs are known, the store looks
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

// A damage says whether what was fetched has to be fetched again.
type damage struct {
	mu sync.Mutex
	// The fields below are guarded by mu.
	found      string          // an object that was lost
	tried      map[string]bool // objects that it was fetched again for
	generation int             // how often it was fetched again
}

// watch notes what is lost of a repository, as long as nothing was fetched again since.
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

// due reports whether to fetch again. It is due once for each object: what is lost again
// is not there to be fetched.
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
