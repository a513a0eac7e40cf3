package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A head is a commit whose statuses may say that something is under way, or
// those of its groups nothing, or whose check run somebody wants anew.
type head struct {
	Repository int64  `json:"repository"`
	Pull       int    `json:"pull,omitempty"`
	Branch     string `json:"branch,omitempty"`
	SHA        string `json:"sha"`
	Anew       bool   `json:"anew,omitempty"`
	// Asked means that only the check run is wanted anew.
	Asked bool `json:"asked,omitempty"`
	// Seen is when it was first looked at.
	Seen time.Time `json:"seen,omitzero"`
	// Groups are the contexts of its groups, as far as they are known.
	Groups []string `json:"groups,omitempty"`
}

func (h head) key() Key {
	if h.Asked {
		return Key{Repository: h.Repository, Commit: h.SHA}
	}
	return Key{Repository: h.Repository, Pull: h.Pull, Branch: h.Branch, Anew: h.Anew}
}

// unfinished is a folder with a file for each of them: a process that dies
// leaves them to the next one, which finds heads there that nothing else names
// any more.
type unfinished struct{ dir string }

func (u unfinished) path(h head) string {
	kind := ""
	switch {
	case h.Anew:
		kind = "-anew"
	case h.Asked:
		kind = "-asked"
	}
	return filepath.Join(u.dir, fmt.Sprintf("%d-%d-%s%s.json", h.Repository, h.Pull, h.SHA, kind))
}

func (u unfinished) add(h head) error {
	if err := writeFile(u.path(h), h); err != nil {
		return fmt.Errorf("note the head %.12s: %w", h.SHA, err)
	}
	return nil
}

func (u unfinished) remove(h head) error {
	err := os.Remove(u.path(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// known is a head with what is noted of it.
func (u unfinished) known(h head) head {
	noted := h
	if data, err := os.ReadFile(u.path(h)); err != nil || json.Unmarshal(data, &noted) != nil {
		return h
	}
	return noted
}

// rename gives the heads that were noted under the id of a forge to the repository
// that was reached there.
func (u unfinished) rename(from, to int64) error {
	if from == to || from == 0 {
		return nil
	}
	heads, err := u.list(from)
	for _, was := range heads {
		h := was
		h.Repository = to
		err = errors.Join(err, u.add(h), u.remove(was))
	}
	return err
}

// list gives the heads of a repository.
func (u unfinished) list(repository int64) ([]head, error) {
	names, err := filepath.Glob(filepath.Join(u.dir, fmt.Sprintf("%d-*.json", repository)))
	if err != nil {
		return nil, err
	}
	var found []head
	for _, name := range names {
		data, err := os.ReadFile(name)
		var h head
		if err == nil && json.Unmarshal(data, &h) == nil && h.Repository == repository {
			found = append(found, h)
		}
	}
	return found, nil
}

// underWay gives the heads of a repository that are judged now.
func (s *Server) underWay(repository int64) map[Key]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	heads := map[Key]string{}
	for key, head := range s.heads {
		if key.Repository == repository {
			heads[key] = head
		}
	}
	return heads
}
