package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// A mirror of a local folder reads the folder in place. It writes nothing there, and
// git itself need not be installed.

// open opens the mirrored repository.
func (m *Mirror) open() (*Repository, error) {
	dir := strings.TrimPrefix(m.from.url, "file://")
	// Open would take a parent's repository if this one is gone.
	if found, err := locate(dir); err != nil || found.git == "" {
		return nil, errors.Join(ErrNoRemote, err)
	}
	return Open(dir)
}

// fetchHere is [Mirror.Fetch] for a local folder.
func (m *Mirror) fetchHere(ctx context.Context, refs []string) (*Repository, []string, error) {
	if _, err := refSpecs(refs); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", m.from.show, err)
	}
	repo, err := m.open()
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", m.from.show, err)
	}
	commits := make([]string, len(refs))
	for i, ref := range refs {
		if commits[i], err = repo.Resolve(ctx, ref); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("reading %s: %w", m.from.show, err), repo.Close())
		}
	}
	return repo, commits, nil
}

func (m *Mirror) refsHere() ([]*plumbing.Reference, error) {
	repo, err := m.open()
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	repo.mu.Lock()
	defer repo.mu.Unlock()
	refs, err := repo.store.IterReferences()
	if err != nil {
		return nil, err
	}
	var list []*plumbing.Reference
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		list = append(list, ref)
		return nil
	})
	return list, err
}
