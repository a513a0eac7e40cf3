package gitrepo

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Reach asks for the refs of what a mirror would be made of, and fetches
// nothing. An error says that it cannot be read, or that it has no such ref.
func Reach(ctx context.Context, cfg MirrorConfig, ref string) error {
	m, err := NewMirror(cfg)
	if err != nil {
		return err
	}
	origin := git.NewRemote(memory.NewStorage(), &config.RemoteConfig{Name: git.DefaultRemoteName, URLs: []string{m.from.url}})
	var refs []*plumbing.Reference
	err = cfg.Token.with(ctx, m.from, func(auth transport.AuthMethod) error {
		var err error
		refs, err = origin.ListContext(ctx, &git.ListOptions{Auth: auth})
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the refs of %s: %w", m.from.show, err)
	}
	if !slices.ContainsFunc(refs, func(r *plumbing.Reference) bool { return r.Name().String() == ref }) {
		return fmt.Errorf("%s has no %s", m.from.show, ref)
	}
	return nil
}
