package gitrepo

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Changed lists the paths of files, links and submodules that differ between
// two commits: added, removed, or with other bytes or another mode. It is
// sorted and nil when nothing differs. Folders whose hash is equal on both
// sides are not looked into, so its cost follows the change and not the size
// of the repository.
func (r *Repository) Changed(ctx context.Context, base, head string) ([]string, error) {
	from, err := r.rootTree(base)
	if err != nil {
		return nil, err
	}
	to, err := r.rootTree(head)
	if err != nil {
		return nil, err
	}
	d := differ{repo: r}
	if err := d.compare(ctx, "", from, to); err != nil {
		return nil, fmt.Errorf("comparing %.12s with %.12s: %w", base, head, err)
	}
	slices.Sort(d.paths)
	return d.paths, nil
}

type differ struct {
	repo  *Repository
	paths []string
	depth int
}

// compare walks two trees, of which one may be missing, side by side.
func (d *differ) compare(ctx context.Context, dir string, from, to plumbing.Hash) error {
	if from == to {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.depth++; d.depth > maxDepth {
		return fmt.Errorf("%s %w", dir, errTooDeep)
	}
	defer func() { d.depth-- }()
	old, err := d.entries(from)
	if err != nil {
		return err
	}
	now, err := d.entries(to)
	if err != nil {
		return err
	}
	for len(old) > 0 || len(now) > 0 {
		a, b := step(&old, &now)
		if err := d.pair(ctx, dir, a, b); err != nil {
			return err
		}
	}
	return nil
}

// entries are none for the zero hash, which stands for a missing folder.
func (d *differ) entries(tree plumbing.Hash) ([]entry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	return d.repo.dir(tree)
}

// step takes the next name from the front of both lists; the side that does
// not have it gives the zero entry.
func step(old, now *[]entry) (a, b entry) {
	order := 0
	switch {
	case len(*old) == 0:
		order = 1
	case len(*now) == 0:
		order = -1
	default:
		order = strings.Compare((*old)[0].name, (*now)[0].name)
	}
	if order <= 0 {
		a, *old = (*old)[0], (*old)[1:]
	}
	if order >= 0 {
		b, *now = (*now)[0], (*now)[1:]
	}
	return a, b
}

// pair compares what stands under one name on both sides. A file that became a
// folder is a removed file and added ones.
func (d *differ) pair(ctx context.Context, dir string, a, b entry) error {
	if a == b {
		return nil
	}
	name := path.Join(dir, a.name)
	if a.name == "" {
		name = path.Join(dir, b.name)
	}
	var from, to plumbing.Hash
	file := false
	for _, side := range []struct {
		entry
		into *plumbing.Hash
	}{{a, &from}, {b, &to}} {
		if side.isDir() {
			*side.into = side.hash
		} else if side.mode != filemode.Empty {
			file = true
		}
	}
	if file {
		d.paths = append(d.paths, name)
	}
	return d.compare(ctx, name, from, to)
}
