package filewatch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Reads are the files and folders that a process has looked at. They tell whether one of
// them may have changed since, without looking at any again.
//
// A caller takes a version, calls Note ahead of each look, and remembers the result. The
// result is current as long as [Reads.Version] returns the same version. It knows every
// change whose system call has returned, also of other processes. Only a change through a
// memory mapping, through a hard link in another folder, or of what nobody notes, such as the
// user's settings of git, is known a minute later.
//
// It is safe for concurrent use. It holds nothing open before the first version.
type Reads struct {
	root string
	also []string
	open func() (queue, error)
	now  func() time.Time

	mu sync.Mutex
	// The fields below are guarded by mu.
	queue   queue // nil if changes are not reported
	version uint64
	begun   time.Time   // when the queue was opened
	is      os.FileInfo // the root at that time
	// unsure means that changes of a folder are not reported.
	unsure bool
	closed bool
	// names are the paths that were looked at, and listed are the folders whose entries
	// were listed.
	names, listed map[string]bool
	// folders are the watched ones, by path and by their ids in the queue.
	folders map[string]bool
	ids     map[int]string
}

// A queue has the changes in folders, in order. A change is in it before the system call
// that made it returns.
type queue interface {
	// add watches a folder without the folders in it. It returns an error if the folder
	// does not exist, or if not all changes in it would be reported.
	add(folder string) (id int, err error)
	// read returns the changes since the last call. The error is [errLost] if some are
	// missing, or if a folder is not watched any more.
	read() ([]change, error)
	close() error
}

// A change is an event in a folder. Name is empty for the folder itself.
type change struct {
	folder int
	name   string
	// comes says that the name was added or removed.
	comes bool
}

// errLost means that changes may have been missed.
var errLost = errors.New("changes were lost")

// trusted is how long a queue is trusted. Some changes are not reported.
const trusted = time.Minute

// mostNames bounds the remembered paths.
const mostNames = 2_000_000

// NewReads returns the reads of a folder and of the files also, which are absolute paths
// and always count as read. The caller closes it. now is the clock.
func NewReads(root string, also []string, now func() time.Time) *Reads {
	return &Reads{root: root, also: also, open: openQueue, now: now}
}

// Note notes a look ahead of it: at a file or folder, which need not exist, or at the
// list of a folder's entries. Paths are relative to the root and slash-separated.
func (r *Reads) Note(name string, lists bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(name, lists)
}

// NoteFile is Note for a file that need not be below the root.
func (r *Reads) NoteFile(file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if absolute, err := filepath.Abs(file); err == nil {
		file = absolute
	}
	r.noteFile(file)
}

// noteFile notes a file at its real place, in whose folder its changes are reported. A link
// below the root is noted, too.
func (r *Reads) noteFile(file string) {
	if name := r.name(file); !filepath.IsAbs(name) {
		r.note(name, false)
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(dir, filepath.Base(file))
	}
	r.note(r.name(file), false)
	if at, err := filepath.EvalSymlinks(file); err == nil && at != file {
		r.note(r.name(at), false)
	}
}

func (r *Reads) note(name string, lists bool) {
	if r.queue == nil || r.unsure {
		return
	}
	if r.unsure = len(r.names) > mostNames; lists {
		r.listed[name] = true
		r.watch(name)
	}
	r.names[name] = true
	r.watch(parent(name))
}

// watch watches a folder, and the names of the folders above it. A folder that does not
// exist is noticed by its name.
func (r *Reads) watch(dir string) {
	if r.folders[dir] {
		return
	}
	if dir != "." && !filepath.IsAbs(dir) {
		r.names[dir] = true
		r.watch(parent(dir))
	}
	id, err := r.queue.add(r.full(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return
	case err != nil, r.ids[id] != "":
		r.unsure = true // the same folder at two places has one id
		return
	}
	r.folders[dir], r.ids[id] = true, dir
}

func (r *Reads) full(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.root, filepath.FromSlash(name))
}

// Version returns a number that changes if anything that was looked at may have changed.
// ok is false if that is not known.
func (r *Reads) Version() (version uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, false
	}
	is, err := os.Stat(r.root)
	if r.queue == nil || err != nil || !os.SameFile(is, r.is) || r.now().Sub(r.begun) >= trusted {
		r.begin(is)
	} else if changes, err := r.queue.read(); err != nil {
		r.begin(is)
	} else {
		for _, c := range changes {
			if r.concerns(c) {
				r.version++
				break
			}
		}
	}
	return r.version, err == nil && r.queue != nil && !r.unsure
}

// Forget begins a version, after a look that depends on more than files.
func (r *Reads) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version++
}

// begin forgets everything, and opens a queue.
func (r *Reads) begin(is os.FileInfo) {
	r.end()
	r.version++
	r.begun, r.is, r.unsure = r.now(), is, false
	r.names, r.listed, r.folders, r.ids = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[int]string{}
	queue, err := r.open()
	if err != nil {
		return // the next call tries again
	}
	r.queue = queue
	for _, file := range r.also {
		r.noteFile(file)
	}
}

// name returns the path of a file relative to the root, or the absolute path of a file
// elsewhere.
func (r *Reads) name(file string) string {
	if rel, err := filepath.Rel(r.root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	return filepath.ToSlash(file)
}

// concerns reports whether a change may be one of what was looked at.
func (r *Reads) concerns(c change) bool {
	dir, isKnown := r.ids[c.folder]
	if !isKnown || c.name == "" {
		return true
	}
	return c.comes && r.listed[dir] || r.names[join(dir, c.name)]
}

func (r *Reads) end() {
	if r.queue != nil {
		_ = r.queue.close() // nothing was written
	}
	r.queue = nil
}

// Close ends watching. Afterwards no version is known.
func (r *Reads) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.end()
}
