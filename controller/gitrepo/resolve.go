package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// Resolve returns the 40 hex digits of the commit that ref names: a commit (or at least
// its first seven digits), HEAD, a branch, a tag, or one of these with ~n and ^n behind
// it. A branch that exists only at origin is found without "origin/". A name that git
// forbids, such as one that begins with a dash, is refused before the lookup.
func (r *Repository) Resolve(ctx context.Context, ref string) (string, error) {
	if err := checkRef(ref); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, name := range []string{ref, "refs/remotes/origin/" + ref} {
		var hash *plumbing.Hash
		if hash, err = r.git.ResolveRevision(plumbing.Revision(name)); err == nil {
			return hash.String(), nil
		}
	}
	return "", r.unresolved(ref, err)
}

// Unborn reports whether HEAD is a branch without a commit, as after git init.
func (r *Repository) Unborn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unborn()
}

// unborn is Unborn for callers that hold the lock.
func (r *Repository) unborn() bool {
	// Without the file there is no repository to report on.
	if _, err := os.Lstat(filepath.Join(r.gitIn, "HEAD")); err != nil {
		return false
	}
	_, err := r.git.Head()
	return errors.Is(err, plumbing.ErrReferenceNotFound)
}

func (r *Repository) unresolved(ref string, cause error) error {
	base := ref
	if i := strings.IndexAny(ref, "~^"); i >= 0 {
		base = ref[:i]
	}
	if err := r.lostRef(base); err != nil {
		return err
	}
	if base != ref {
		if _, err := r.git.ResolveRevision(plumbing.Revision(base)); err == nil {
			return r.missing(fmt.Errorf("%s: the history of %s does not go back that far", ref, base))
		}
	}
	if !errors.Is(cause, plumbing.ErrReferenceNotFound) && !errors.Is(cause, io.EOF) {
		return fmt.Errorf("resolving %s: %w", ref, cause)
	}
	if base == "HEAD" && r.unborn() {
		return errors.New("HEAD is not a commit: the repository does not have one yet; commit first, or leave --base out")
	}
	names, err := r.RefNames()
	if err != nil {
		return err
	}
	if hint := suggest.DidYouMean(base, append(names, "HEAD")); hint != "" {
		return r.missing(fmt.Errorf("no commit, branch or tag is called %q; %s", ref, hint))
	}
	if remote, branch, ok := strings.Cut(base, "/"); ok && branch != "" {
		if _, err := r.git.Remote(remote); err == nil {
			return r.missing(fmt.Errorf("no commit, branch or tag is called %q: run git fetch %s %s", ref, remote, branch))
		}
	}
	return r.missing(fmt.Errorf("no commit, branch or tag is called %q%s", ref, r.branches(base)))
}

// branches lists the first branches in the place of a name that is like none of them; empty
// for a name that looks like a commit.
func (r *Repository) branches(name string) string {
	const most = 5
	if len(name) >= 7 && strings.Trim(name, "0123456789abcdef") == "" {
		return ""
	}
	var names []string
	refs, err := r.store.IterReferences()
	if err == nil {
		err = refs.ForEach(func(ref *plumbing.Reference) error {
			if ref.Name().IsBranch() {
				names = append(names, ref.Name().Short())
			}
			return nil
		})
	}
	if err != nil || len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	more := ""
	if len(names) > most {
		names, more = names[:most], " …"
	}
	return "; the branches here are " + strings.Join(names, ", ") + more
}

// lostRef returns a [LostError] if a name is the name of an unreadable object.
func (r *Repository) lostRef(name string) error {
	for _, rule := range append(slices.Clone(plumbing.RefRevParseRules), "refs/remotes/origin/%s") {
		ref, err := storer.ResolveReference(r.store, plumbing.ReferenceName(fmt.Sprintf(rule, name)))
		if err != nil {
			continue
		}
		if _, _, err = r.object(plumbing.AnyObject, ref.Hash()); err != nil {
			return fmt.Errorf("resolving %s: %w", name, err)
		}
	}
	return nil
}

// missing adds that the clone is shallow to an error about absent history.
func (r *Repository) missing(err error) error {
	if edge, e := r.store.Shallow(); e == nil && len(edge) > 0 {
		return fmt.Errorf("%w; %w", err, ErrShallow)
	}
	return err
}

// RefNames returns the short names of all branches and tags.
func (r *Repository) RefNames() ([]string, error) {
	refs, err := r.store.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	var names []string
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		if n := ref.Name(); n.IsBranch() || n.IsRemote() || n.IsTag() {
			names = append(names, n.Short())
		}
		return nil
	})
	return names, err
}

// maxRef exceeds the longest branch name on any file system.
const maxRef = 512

// checkRef refuses names of refs that git forbids, and revision syntax beyond ~ and ^.
func checkRef(ref string) error {
	odd := func(c rune) bool {
		return unicode.IsSpace(c) || !unicode.IsPrint(c) || strings.ContainsRune(`:?*[\{}`, c)
	}
	switch {
	case ref == "":
		return errors.New("resolving a ref: the name is empty")
	case len(ref) > maxRef:
		return fmt.Errorf("resolving a ref: the name is longer than %d bytes", maxRef)
	case strings.HasPrefix(ref, "-"):
		return fmt.Errorf("ref %q begins with a dash", ref)
	case strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") || strings.Contains(ref, "//"):
		return fmt.Errorf("%q is not the name of a commit, branch or tag", ref)
	case strings.ContainsFunc(ref, odd) || strings.Contains(ref, ".."):
		return fmt.Errorf("ref %q holds characters that no branch, tag or commit has", ref)
	}
	return nil
}

// MergeBase returns the best common ancestor of two commits, named by 40 hex
// digits. If there are several, it is the latest. The error wraps [ErrUnrelated] if there
// is none, and [ErrShallow] if none was found but the clone lacks history.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	edge, err := r.store.Shallow()
	if err != nil {
		return "", fmt.Errorf("reading the edge of the shallow clone: %w", err)
	}
	best, err := bestAncestor(ctx, ancestry{Store: r.store, Edge: edge}, plumbing.NewHash(a), plumbing.NewHash(b))
	broken, isBroken := errors.AsType[*brokenError](err)
	switch {
	case isBroken:
		return "", fmt.Errorf("read the history of %.12s and %.12s: %w", a, b, r.lose(broken.Commit, broken.Unwrap()))
	case err != nil:
		return "", err
	case best.IsZero():
		return "", r.missing(fmt.Errorf("%.12s and %.12s have %w", a, b, ErrUnrelated))
	}
	return best.String(), nil
}

// ComparedWith returns the commit that head is compared with where it goes to a branch with
// this tip: their merge base or, without a commit in common, the tip, as forges compare.
// It returns the errors of MergeBase.
func (r *Repository) ComparedWith(ctx context.Context, tip, head string) (commit string, related bool, err error) {
	commit, err = r.MergeBase(ctx, tip, head)
	if errors.Is(err, ErrUnrelated) && !errors.Is(err, ErrShallow) {
		return tip, false, nil
	}
	return commit, true, err
}
