package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// sweep ends what stays pending on commits that are not the head of anything
// any more, and what was left open of their groups. Those that are have a key of
// their own, as have those whose check run is wanted anew.
func (s *Server) sweep(ctx context.Context, repo *repository) error {
	heads, err := s.open.list(repo.id)
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range heads {
		errs = append(errs, s.sweepHead(ctx, repo, h))
	}
	return errors.Join(errs...)
}

// Abandon says on all heads that an earlier server left open why nobody judges
// them. It asks nothing of a ledger.
func Abandon(ctx context.Context, cfg Config, why string) error {
	s := newServer(withDefaults(cfg))
	s.memory = new(memory)
	var errs []error
	for _, r := range cfg.Repositories {
		repo, err := s.repository(ctx, r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		heads, err := s.open.list(repo.id)
		errs = append(errs, err)
		for _, h := range heads {
			if !h.Asked && repo.Client != nil {
				errs = append(errs, s.settle(ctx, repo, h, why))
			}
		}
	}
	return errors.Join(errs...)
}

// A swept is a commit of a repository that the sweep is at.
type swept struct {
	repository int64
	sha        string
}

// sweepHead ends one that is not under way and does not come to be meanwhile.
func (s *Server) sweepHead(ctx context.Context, repo *repository, h head) error {
	at, done := swept{h.Repository, h.SHA}, make(chan struct{})
	s.mu.Lock()
	if s.heads[h.key()] == h.SHA {
		s.mu.Unlock()
		return nil
	}
	s.swept[at] = done
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.swept, at)
		close(done)
	}()
	if h.Asked {
		s.loop.AddPatiently(h.key())
		return nil
	}
	reason, err := s.passed(ctx, h.key(), h.SHA)
	if err != nil || reason == "" {
		return err
	}
	return s.settle(ctx, repo, h, reason)
}

// settle says on a head why nobody waits for it any more.
func (s *Server) settle(ctx context.Context, repo *repository, h head, reason string) error {
	var err error
	if h.Anew {
		err = repo.reviewer.SettleAnew(ctx, h.SHA, reason)
	} else {
		err = repo.reviewer.Settle(ctx, h.key().number(), h.SHA, reason, h.Groups...)
	}
	if err != nil {
		return err
	}
	return s.open.remove(h)
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
