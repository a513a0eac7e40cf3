package gitrepo

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

var (
	// added bounds what a commit has beyond the one that it is compared with.
	added = treeBounds{Are: "added or changed", Paths: 200_000, Bytes: 64 << 20, Depth: 64}
	// removed bounds what base has beyond it, and whole what is compared with
	// nothing: somebody who may write has accepted both.
	removed = treeBounds{Are: "removed", Paths: 4_000_000, Bytes: 1 << 30, Depth: maxTreeDepth}
	whole   = treeBounds{Are: "in the commit", Paths: 4_000_000, Bytes: 1 << 30, Depth: maxTreeDepth}
)

// Changed lists the paths of files, links and submodules that differ between
// two commits: added, removed, or with other bytes or another mode. It is
// sorted and nil when nothing differs. Folders whose hash is equal on both
// sides are not looked into, so its cost follows the change and not the size
// of the repository. The error wraps a [excess.Error] where that of
// [Repository.CheckBounds] does, or where too much is removed.
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

// CheckBounds returns an error that wraps a [excess.Error] where a commit has more
// paths, longer ones or deeper ones beyond what base has than is looked at. base
// is empty for a commit that is compared with nothing. It reads no blobs, and
// each folder that differs once.
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
