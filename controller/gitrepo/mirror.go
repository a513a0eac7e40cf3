package gitrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
)

// A MirrorConfig says of what there is a clone, and where.
type MirrorConfig struct {
	// Dir is the folder of the bare repository. It belongs to the Mirror, which
	// removes it when it is corrupt.
	Dir string
	// URL is where it is cloned from: http, https, ssh, or a path.
	URL string
	// Token gives the credential for http and https; nil for none.
	Token Credential
	// Timeout bounds one fetch. Defaults to 5 minutes.
	Timeout time.Duration
}

// A Mirror is a bare clone that a server keeps. It holds the refs that were
// asked for and nothing is ever checked out of it. One that vanished or was
// corrupted is cloned again, also where that showed when what Fetch returned was
// read: the next Fetch clones. Fetches of one Mirror must not overlap. A folder of
// this machine is not cloned but read where it is.
type Mirror struct {
	cfg    MirrorConfig
	from   remote
	damage damage
}

// NewMirror refuses an address that git may not be sent to. It fetches nothing.
func NewMirror(cfg MirrorConfig) (*Mirror, error) {
	from, err := parseRemote(cfg.URL, string(filepath.Separator))
	if err != nil {
		return nil, err
	}
	return &Mirror{cfg: cfg, from: from}, nil
}

// Fetch brings refs with all history below them, as far as that is within bounds.
// It gives the repository, which the caller closes, and the commits by ref, in the
// order of refs. The error wraps an [excess.Error] where the new objects are not
// within the bounds, and then none of them is kept. A folder that is read in
// place has no bounds.
func (m *Mirror) Fetch(ctx context.Context, most Bounds, refs ...string) (*Repository, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.cfg.Timeout, fetchTimeout))
	defer cancel()
	if m.from.scheme == fileScheme {
		return m.fetchHere(ctx, refs)
	}
	specs, err := refSpecs(refs)
	if err != nil {
		return nil, nil, fmt.Errorf("fetching from %s: %w", m.from.show, err)
	}
	return m.fetch(ctx, most, specs)
}

// fetch is Fetch into the folder of the mirror.
func (m *Mirror) fetch(ctx context.Context, most Bounds, specs []config.RefSpec) (*Repository, []string, error) {
	if m.damage.due() {
		if err := m.remove(); err != nil {
			return nil, nil, err
		}
	}
	repo, commits, err := m.fetchBounded(ctx, most, specs)
	if err == nil || ctx.Err() != nil || sound(m.cfg.Dir) {
		return repo, commits, err
	}
	if err := m.remove(); err != nil {
		return nil, nil, err
	}
	return m.fetchBounded(ctx, most, specs)
}

// remove removes the clone: everything in it came from the remote and can be fetched again.
func (m *Mirror) remove() error {
	if err := os.RemoveAll(m.cfg.Dir); err != nil {
		return fmt.Errorf("removing the corrupt clone of %s: %w", m.from.show, err)
	}
	return nil
}

func (m *Mirror) fetchBounded(ctx context.Context, most Bounds, specs []config.RefSpec) (*Repository, []string, error) {
	if err := os.MkdirAll(m.cfg.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making the clone of %s: %w", m.from.show, err)
	}
	if _, err := git.PlainInit(m.cfg.Dir, true); err != nil && !errors.Is(err, git.ErrRepositoryAlreadyExists) {
		return nil, nil, fmt.Errorf("making the clone of %s: %w", m.from.show, err)
	}
	repo, commits, err := fetchInto(ctx, m.cfg.Dir, m.from, Source{Token: m.cfg.Token, Most: most}, specs)
	if err != nil {
		return nil, nil, err
	}
	if err := repo.holds(commits); err != nil {
		return nil, nil, errors.Join(err, repo.Close())
	}
	m.damage.watch(repo)
	return repo, commits, nil
}

// sound reports whether what a clone holds can be read, so that an error is
// the remote's.
func sound(dir string) bool {
	repo, err := Open(dir)
	if err != nil {
		return false
	}
	defer repo.Close()
	commits, err := repo.mirrored()
	return err == nil && repo.holds(commits) == nil
}

// mirrored are the commits of the refs that were fetched before.
func (r *Repository) mirrored() ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	refs, err := r.store.IterReferences()
	if err != nil {
		return nil, err
	}
	var commits []string
	for {
		ref, err := refs.Next()
		if err != nil {
			break // the end
		}
		if !ref.Hash().IsZero() {
			commits = append(commits, ref.Hash().String())
		}
	}
	return commits, nil
}

// holds reads the commits and the listing of their folders: a clone whose
// process died in the middle has refs without objects.
func (r *Repository) holds(commits []string) error {
	for _, commit := range commits {
		tree, err := r.rootTree(commit)
		if err != nil {
			return err
		}
		if _, err := r.dir(tree); err != nil {
			return err
		}
	}
	return nil
}
