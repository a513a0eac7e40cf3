// Package gitrepo reads a git repository: commits and the working tree as file systems,
// and the paths that differ between two of them.
//
// Most callers want [Open], then [Repository.Resolve] and [Repository.FS]. Existing
// commits are never checked out: only [Create], which makes a new repository, fills a
// working tree, and only with its caller's files. In the user's repository it only
// writes refs below refs/gavel and their objects, and what [Repository.CommitFiles]
// commits for a user. The content of a commit is a
// stranger's: links are never followed and submodules never entered, neither in a
// commit nor in the working tree.
//
// It is the only package that imports go-git.
package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

var (
	// ErrNoRepository reports a folder outside of any git repository.
	ErrNoRepository = errors.New("no git repository")
	// ErrBare reports a repository without a working tree.
	ErrBare = errors.New("the repository is bare and has no working tree")
	// ErrUnrelated reports two commits without a commit in common.
	ErrUnrelated = errors.New("no common ancestor")
	// ErrShallow reports that the needed history was not cloned.
	ErrShallow = errors.New("the clone is shallow: run git fetch --unshallow, or set fetch-depth: 0 in the checkout of a CI job")
	// ErrNoRemote reports a remote repository that does not exist, or is hidden from
	// the credential.
	ErrNoRemote = errors.New("the repository does not exist, or the credential may not see it")
	// ErrRefused reports a remote that asks for another credential, or for one at all.
	ErrRefused = errors.New("the remote asks for a credential that may read contents")
)

const gitDirName = ".git"

// A Repository is an open git repository. It is safe for concurrent use: its object
// store is not, so every access holds the lock.
type Repository struct {
	root  string // the working tree's root; empty in a bare repository
	gitIn string // the repository's own folder

	// lost is the first unreadable object; onLost is called for each.
	lost   atomic.Pointer[LostError]
	onLost func(object string) // may be nil; set before the first read
	// looking is called ahead of each look at the working tree, with lists for the list of a
	// folder; may be nil.
	looking func(name string, lists bool)

	mu sync.Mutex
	// The fields below are guarded by mu.
	git   *git.Repository
	store *filesystem.Storage
	// dirs are decoded trees by hash, shared by all commits; entries counts their
	// entries.
	dirs    map[plumbing.Hash][]entry
	entries int
	// cache has objects of the store.
	cache *cache.ObjectLRU
	// aside is the repository fetched next to this one, or nil; damage is this
	// repository's own damage.
	aside  *Mirror
	damage damage
}

// cached is the number of bytes of objects kept as bases of deltas. Small objects take
// several times that.
const cached = 8 * cache.MiByte

// Open opens the repository that contains dir. It supports linked worktrees, bare
// repositories, shallow clones and alternates. If dir is outside of any repository, the
// error wraps [ErrNoRepository]. The caller closes the repository.
func Open(dir string) (*Repository, error) {
	place, err := find(dir)
	if err != nil {
		return nil, err
	}
	common, err := commonDir(place.git)
	if err != nil {
		return nil, err
	}
	r := &Repository{root: place.work, gitIn: place.git, dirs: map[plumbing.Hash][]entry{}, cache: cache.NewObjectLRU(cached)}
	layout := dotgit.NewRepositoryFilesystem(newGitFS(place.git), newGitFS(common))
	r.store = filesystem.NewStorageWithOptions(layout, r.cache, filesystem.Options{
		// Reopening the pack for every object doubles the time of a full read.
		KeepDescriptors: true,
		AlternatesFS:    newGitFS(string(filepath.Separator)),
	})
	if r.git, err = git.Open(reading{r.store}, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the repository at %s: %w", dir, unsupported(err)), r.store.Close())
	}
	return r, nil
}

// Close releases the open pack files. File systems of the repository must not
// be used afterwards.
func (r *Repository) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.Close()
}

// Root returns the absolute path of the working tree, or of a bare repository itself.
func (r *Repository) Root() string {
	if r.root == "" {
		return r.gitIn
	}
	return r.root
}

// MainRoot returns the root of the main working tree if this one is linked to it, as git
// worktree add does, or the bare repository that it is linked to. Otherwise it returns Root.
func (r *Repository) MainRoot() string {
	common, err := commonDir(r.gitIn)
	if err != nil || common == r.gitIn {
		return r.Root()
	}
	if main, err := locate(filepath.Dir(common)); err == nil && main.git == common {
		return main.work
	}
	return common
}

// OtherRoots returns the roots of the other working trees of the repository. Trees that were
// deleted without git are left out.
func (r *Repository) OtherRoots() ([]string, error) {
	common, err := commonDir(r.gitIn)
	if err != nil {
		return nil, err
	}
	roots := []string{r.MainRoot()}
	if main, err := locate(roots[0]); err != nil || main.work == "" {
		roots = nil // it is bare
	}
	const linked = "worktrees"
	entries, err := os.ReadDir(filepath.Join(common, linked))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing the working trees: %w", err)
	}
	for _, e := range entries {
		dot, err := pointer(filepath.Join(common, linked, e.Name(), "gitdir"), "")
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(dot); err == nil {
			roots = append(roots, filepath.Dir(dot))
		}
	}
	return slices.DeleteFunc(roots, func(root string) bool { return root == r.Root() }), nil
}

// Has reports whether there is an object of this name, 40 hex digits.
func (r *Repository) Has(commit string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.HasEncodedObject(plumbing.NewHash(commit)) == nil
}

// Shallow reports whether the clone lacks a part of its history.
func (r *Repository) Shallow() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	edge, err := r.store.Shallow()
	if err != nil {
		return false, fmt.Errorf("reading the edge of the shallow clone: %w", err)
	}
	return len(edge) > 0, nil
}

// A location is the place of a repository.
type location struct {
	git, work string // work is empty if it is bare
}

// find walks from dir upwards to the first folder that is a repository.
func find(dir string) (location, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return location{}, fmt.Errorf("finding the repository of %s: %w", dir, err)
	}
	// The folder may be reached through a link; its repository is at the real path.
	if start, err = filepath.EvalSymlinks(start); errors.Is(err, fs.ErrNotExist) {
		return location{}, fmt.Errorf("there is no folder %s (%w)", dir, fs.ErrNotExist)
	} else if err != nil {
		return location{}, fmt.Errorf("finding the repository of %s: %w", dir, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		found, err := locate(at)
		if err != nil || found.git != "" {
			return found, err
		}
		if at == filepath.Dir(at) {
			return location{}, fmt.Errorf("%s: %w here or in a folder above; run `git init` or name one", dir, ErrNoRepository)
		}
	}
}

// locate reports whether dir is the root of a working tree or a bare repository; the
// zero location means neither.
func locate(dir string) (location, error) {
	dot := filepath.Join(dir, gitDirName)
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		if isGitDir(dir) {
			return location{git: dir}, nil
		}
		return location{}, nil
	case err != nil:
		return location{}, fmt.Errorf("finding the repository of %s: %w", dir, err)
	case !info.IsDir():
		git, err := pointer(dot, "gitdir: ")
		return location{git: git, work: dir}, err
	case isGitDir(dot):
		return location{git: dot, work: dir}, nil
	}
	return location{}, nil
}

// isGitDir recognizes a repository by the three entries that git looks for.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// commonDir returns the folder with objects and refs: for a linked worktree the main
// one's, else the repository's own.
func commonDir(gitDir string) (string, error) {
	dir, err := pointer(filepath.Join(gitDir, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	return dir, err
}

// pointer reads a file that names a folder, relative to its own.
func pointer(file, prefix string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	path, ok := strings.CutPrefix(string(line), prefix)
	if path = filepath.FromSlash(strings.TrimSpace(path)); !ok || path == "" {
		return "", fmt.Errorf("reading %s: it does not name a git folder", file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return path, nil
}
