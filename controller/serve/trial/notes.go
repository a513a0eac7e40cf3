package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// forgotten is how long a head is under suspicion that nobody looks at.
const forgotten = 90 * 24 * time.Hour

// A Head is a commit of a repository that is looked at for a pull request, or for
// a branch where Pull is 0.
type Head struct {
	Repository int64  `json:"repository"`
	Pull       int    `json:"pull,omitempty"`
	SHA        string `json:"sha"`
}

// A note is what is kept of a head.
type note struct {
	Head
	// Ended counts the children that looking at it has ended, the last one At.
	Ended int       `json:"ended,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// Notes are a folder with a file for each head that is looked at. A process that
// dies leaves them, and the next one suspects those heads and no others. They are
// safe for concurrent use.
type Notes struct {
	dir string

	mu sync.Mutex
	// The fields below are guarded by mu.
	suspects map[Head]note
	looking  map[Head]int // how many look at it in this process
}

// OpenNotes reads what an earlier process left. now is when.
func OpenNotes(dir string, now time.Time) (*Notes, error) {
	n := &Notes{dir: dir, suspects: map[Head]note{}, looking: map[Head]int{}}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read what was looked at: %w", err)
		}
		var kept note
		info, err := os.Stat(name)
		if err != nil || json.Unmarshal(data, &kept) != nil || kept.SHA == "" || now.Sub(info.ModTime()) > forgotten {
			_ = os.Remove(name) // it says nothing of a head, or of one that is long gone
			continue
		}
		n.suspects[kept.Head] = kept
	}
	return n, nil
}

func (n *Notes) path(h Head) string {
	return filepath.Join(n.dir, fmt.Sprintf("%d-%d-%s.json", h.Repository, h.Pull, h.SHA))
}

// write puts a note into its file, which has all of it or what it had before.
func (n *Notes) write(kept note) error {
	data, err := json.Marshal(kept)
	if err == nil {
		err = os.MkdirAll(n.dir, 0o700)
	}
	path := n.path(kept.Head)
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("note the head %.12s: %w", kept.SHA, err)
	}
	return nil
}

// Begin notes that a head is looked at. A process that dies before end is called
// has the next one suspect it.
func (n *Notes) Begin(h Head) (end func() error, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.write(note{Head: h}); err != nil {
		return nil, err
	}
	n.looking[h]++
	return sync.OnceValue(func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.looking[h]--; n.looking[h] > 0 {
			return nil
		}
		delete(n.looking, h)
		return n.remove(h)
	}), nil
}

func (n *Notes) remove(h Head) error {
	if err := os.Remove(n.path(h)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Suspected reports whether an earlier process died while it looked at a head, and
// how many children looking at it has ended since, the last one at a time.
func (n *Notes) Suspected(h Head) (suspected bool, ended int, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept, suspected := n.suspects[h]
	return suspected, kept.Ended, kept.At
}

// Count adds a child that looking at a head has ended.
func (n *Notes) Count(h Head, at time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := n.suspects[h]
	kept.Head, kept.At = h, at
	kept.Ended++
	n.suspects[h] = kept
	return n.write(kept)
}

// Forgive begins the count of a head again.
func (n *Notes) Forgive(h Head) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.suspects[h] = note{Head: h}
	return n.write(n.suspects[h])
}

// Clear ends the suspicion of a head.
func (n *Notes) Clear(h Head) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.suspects, h)
	if n.looking[h] > 0 {
		return nil
	}
	return n.remove(h)
}
