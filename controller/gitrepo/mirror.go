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

// A MirrorConfig describes a clone.
type MirrorConfig struct {
	// Dir is the folder of the bare repository. It belongs to the Mirror, which
	// removes it when it is corrupt.
	Dir string
	// URL is the address to clone from: http, https, ssh, or a path.
	URL string
	// Token returns the credential for http and https; nil for none.
	Token Credential
	// Timeout bounds one fetch. Defaults to 5 minutes.
	Timeout time.Duration
}

// A Mirror is a server's bare clone. It holds the requested refs, and nothing is ever
// checked out of it. A clone that vanished or was corrupted is cloned again, even if
// the damage appeared only when a result of Fetch was read: then the next Fetch clones.
// Fetches of one Mirror must not overlap. A local folder is not cloned but read in
// place.
type Mirror struct {
	cfg    MirrorConfig
	from   remote
	damage damage
}

// NewMirror refuses addresses that git must not contact. It fetches nothing.
func NewMirror(cfg MirrorConfig) (*Mirror, error) {
	from, err := parseRemote(cfg.URL, string(filepath.Separator))
	if err != nil {
		return nil, err
	}
	return &Mirror{cfg: cfg, from: from}, nil
}

// Fetch fetches refs with their history within bounds. It returns the repository, which
// the caller closes, and the commits in the order of refs. If the new objects exceed
// the bounds, the error wraps a [pack.ExcessError], and none of them is kept. A folder
// that is read in place has no bounds.
func (m *Mirror) Fetch(ctx context.Context, most Bounds, refs ...string) (*Repository, []string, error) {
	return m.FetchSource(ctx, Source{Most: most, Refs: refs})
}

// FetchSource is Fetch as a source says, of which the mirror knows Token, Store and
// Timeout itself.
func (m *Mirror) FetchSource(ctx context.Context, src Source) (*Repository, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.cfg.Timeout, fetchTimeout))
	defer cancel()
	if m.from.scheme == fileScheme {
		return m.fetchHere(ctx, src.Refs)
	}
	specs, err := refSpecs(src.Refs)
	if err != nil {
		return nil, nil, fmt.Errorf("fetching from %s: %w", m.from.show, err)
	}
	src.Token = m.cfg.Token
	return m.fetch(ctx, src, specs)
}

// fetch is Fetch into the mirror's folder.
func (m *Mirror) fetch(ctx context.Context, src Source, specs []config.RefSpec) (*Repository, []string, error) {
	if m.damage.due() {
		if err := m.remove(); err != nil {
			return nil, nil, err
		}
	}
	repo, commits, err := m.fetchBounded(ctx, src, specs)
	if err == nil || ctx.Err() != nil || sound(m.cfg.Dir) {
		return repo, commits, err
	}
	if err := m.remove(); err != nil {
		return nil, nil, err
	}
	return m.fetchBounded(ctx, src, specs)
}

// remove removes the clone, since all of it came from the remote and can be fetched
// again.
func (m *Mirror) remove() error {
	if err := os.RemoveAll(m.cfg.Dir); err != nil {
		return fmt.Errorf("removing the corrupt clone of %s: %w", m.from.show, err)
	}
	return nil
}

func (m *Mirror) fetchBounded(ctx context.Context, src Source, specs []config.RefSpec) (*Repository, []string, error) {
	if err := os.MkdirAll(m.cfg.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making the clone of %s: %w", m.from.show, err)
	}
	if _, err := git.PlainInit(m.cfg.Dir, true); err != nil && !errors.Is(err, git.ErrRepositoryAlreadyExists) {
		return nil, nil, fmt.Errorf("making the clone of %s: %w", m.from.show, err)
	}
	repo, commits, err := fetchInto(ctx, m.cfg.Dir, m.from, src, specs)
	if err != nil {
		return nil, nil, err
	}
	if err := repo.holds(commits); err != nil {
		return nil, nil, errors.Join(err, repo.Close())
	}
	m.damage.watch(repo)
	return repo, commits, nil
}

// sound reports whether a clone is readable, so that an error is the remote's.
func sound(dir string) bool {
	repo, err := Open(dir)
	if err != nil {
		return false
	}
	defer repo.Close()
	commits, err := repo.mirrored()
	return err == nil && repo.holds(commits) == nil
}

// mirrored returns the commits of refs fetched before.
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

// holds reads the commits and their root folders: a clone whose process died in the
// middle has refs without objects.
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
