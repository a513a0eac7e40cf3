package gitrepo

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// tick is coarser than the clock of any file system in use. A file written within a
// tick before git's index may have been written again after git read it, without a
// difference in its times.
const tick = 100 * time.Millisecond

// staged is git's index of the working tree, as of its last read. It saves reading
// files whose size and times have not changed since.
type staged struct {
	entries map[string]*index.Entry
	// before is the time that trusted files must be older than.
	before time.Time
}

// staged reads git's index. The result is empty, which costs only time, if there is no
// index, or if go-git does not support its format.
func (r *Repository) staged() staged {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(filepath.Join(r.gitIn, "index"))
	if err != nil {
		return staged{}
	}
	idx, err := r.store.Index()
	if err != nil {
		return staged{}
	}
	s := staged{entries: make(map[string]*index.Entry, len(idx.Entries)), before: info.ModTime().Add(-tick)}
	for _, e := range idx.Entries {
		s.entries[e.Name] = e
	}
	return s
}

// hash returns a file's recorded hash if the file cannot have changed since.
func (s staged) hash(name string, info fs.FileInfo) (plumbing.Hash, bool) {
	e, ok := s.entries[name]
	if !ok || e.Stage != 0 || e.IntentToAdd || e.SkipWorktree ||
		e.Mode != filemode.Regular && e.Mode != filemode.Executable {
		return plumbing.ZeroHash, false
	}
	// The index keeps sizes modulo 2³². Only the kernel sets the change time, so a copy
	// with an old modification time is detected.
	changed, known := changeTime(info)
	same := known && uint32(info.Size()) == e.Size && info.ModTime().Equal(e.ModifiedAt) && changed.Equal(e.CreatedAt)
	if !same || !changed.Before(s.before) || !info.ModTime().Before(s.before) {
		return plumbing.ZeroHash, false
	}
	return e.Hash, true
}
