package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Reach lists the refs of a remote without fetching. An error means that it is
// unreadable or lacks the ref.
func Reach(ctx context.Context, cfg MirrorConfig, ref string) error {
	m, err := NewMirror(cfg)
	if err != nil {
		return err
	}
	refs, err := m.refs(ctx)
	if err != nil {
		return err
	}
	if _, there := refs[ref]; !there {
		return fmt.Errorf("%s has no %s", m.from.show, ref)
	}
	return nil
}

// branchRefs is the prefix of branches.
const branchRefs = "refs/heads/"

// Branches lists the current branches without fetching. It maps their names, without
// refs/heads/, to commits.
func (m *Mirror) Branches(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.cfg.Timeout, fetchTimeout))
	defer cancel()
	refs, err := m.refs(ctx)
	if err != nil {
		return nil, err
	}
	tips := map[string]string{}
	for ref, commit := range refs {
		if name, ok := strings.CutPrefix(ref, branchRefs); ok {
			tips[name] = commit
		}
	}
	return tips, nil
}

// refs lists all refs that point to an object.
func (m *Mirror) refs(ctx context.Context) (map[string]string, error) {
	var list []*plumbing.Reference
	var err error
	if m.from.scheme == fileScheme {
		list, err = m.refsHere()
	} else {
		origin := git.NewRemote(memory.NewStorage(), &config.RemoteConfig{Name: git.DefaultRemoteName, URLs: []string{m.from.url}})
		err = m.cfg.Token.authenticate(ctx, m.from, func(auth transport.AuthMethod) error {
			var err error
			if list, err = origin.ListContext(ctx, &git.ListOptions{Auth: auth}); errors.Is(err, transport.ErrEmptyRemoteRepository) {
				return nil
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading the refs of %s: %w", m.from.show, err)
	}
	refs := make(map[string]string, len(list))
	for _, ref := range list {
		if !ref.Hash().IsZero() {
			refs[ref.Name().String()] = ref.Hash().String()
		}
	}
	return refs, nil
}
