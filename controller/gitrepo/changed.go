package gitrepo

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

var (
	// added bounds a commit's additions relative to the compared one.
	added = treeBounds{Are: "added or changed", Paths: 200_000, Bytes: 64 << 20, Depth: 64}
	// removed bounds the removals, and whole a commit that is compared with nothing: a
	// person with write access has accepted both.
	removed = treeBounds{Are: "removed", Paths: 4_000_000, Bytes: 1 << 30, Depth: maxTreeDepth}
	whole   = treeBounds{Are: "in the commit", Paths: 4_000_000, Bytes: 1 << 30, Depth: maxTreeDepth}
)

// Changed lists the paths of files, links and submodules that differ between two
// commits: added, removed, or with other bytes or another mode. The list is sorted, or
// nil if nothing differs. Folders with equal hashes are skipped, so the cost follows
// the change and not the size of the repository. The error wraps a [pack.ExcessError]
// if the error of [Repository.CheckBounds] does, or if too much is removed.
func (r *Repository) Changed(ctx context.Context, base, head string) ([]string, error) {
	from, err := r.rootTree(base)
	if err != nil {
		return nil, err
	}
	to, err := r.rootTree(head)
	if err != nil {
		return nil, err
	}
	var paths []string
	if err = checkTreeBounds(ctx, r.dir, from, to, added); err == nil {
		err = checkTreeBounds(ctx, r.dir, to, from, removed)
	}
	if err == nil {
		err = compareTrees(ctx, r.dir, from, to, func(name string) { paths = append(paths, name) })
	}
	if err != nil {
		return nil, fmt.Errorf("comparing %.12s with %.12s: %w", base, head, err)
	}
	slices.Sort(paths)
	return paths, nil
}

// CheckBounds returns an error that wraps a [pack.ExcessError] if a commit has too
// many, too long or too deep paths that base lacks. An empty base compares the commit
// with nothing. It reads no blobs, and each differing folder once.
func (r *Repository) CheckBounds(ctx context.Context, base, head string) error {
	to, err := r.rootTree(head)
	if err != nil {
		return err
	}
	from, most := plumbing.ZeroHash, whole
	if base != "" {
		most = added
		if from, err = r.rootTree(base); err != nil {
			return err
		}
	}
	if err := checkTreeBounds(ctx, r.dir, from, to, most); err != nil {
		return fmt.Errorf("measuring %.12s: %w", head, err)
	}
	return nil
}
