package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// maxTreeDepth bounds the depth of any path.
const maxTreeDepth = 256

// ErrTooDeep reports a path deeper than [maxTreeDepth].
var ErrTooDeep = fmt.Errorf("is more than %d folders deep", maxTreeDepth)

// A treeEntry is one name in a tree. The zero treeEntry represents a missing
// name.
type treeEntry struct {
	Name string
	Mode filemode.FileMode
	Hash plumbing.Hash
}

// IsDir reports whether the entry is a folder.
func (e treeEntry) IsDir() bool { return e.Mode == filemode.Dir }

// A readTree returns the entries of a tree, sorted by name. Callers do not change them.
type readTree func(tree plumbing.Hash) ([]treeEntry, error)

// entries returns none for the zero hash, which represents a missing folder.
func (r readTree) entries(tree plumbing.Hash) ([]treeEntry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	return r(tree)
}

// compareTrees calls changed with the path of every file, link and submodule that
// differs between two trees. Folders with equal hashes are not read, so the cost
// follows the difference. The error wraps [ErrTooDeep], or comes from read or ctx.
func compareTrees(ctx context.Context, read readTree, from, to plumbing.Hash, changed func(path string)) error {
	d := differ{read: read, changed: changed}
	return d.compare(ctx, "", from, to)
}

type differ struct {
	read    readTree
	changed func(path string)
	depth   int
}

// compare walks two trees in parallel, one of which may be missing.
func (d *differ) compare(ctx context.Context, dir string, from, to plumbing.Hash) error {
	if from == to {
		return nil
	}
	if d.depth++; d.depth > maxTreeDepth {
		return fmt.Errorf("%s %w", dir, ErrTooDeep)
	}
	defer func() { d.depth-- }()
	return treePairs(ctx, d.read, from, to, func(a, b treeEntry) error { return d.pair(ctx, dir, a, b) })
}

// treePairs calls do with both trees' entries of each name.
func treePairs(ctx context.Context, read readTree, from, to plumbing.Hash, do func(a, b treeEntry) error) error {
	old, err := read.entries(from)
	now, err2 := read.entries(to)
	if err := errors.Join(ctx.Err(), err, err2); err != nil {
		return err
	}
	for len(old) > 0 || len(now) > 0 {
		if err := do(stepTrees(&old, &now)); err != nil {
			return err
		}
	}
	return nil
}

// stepTrees takes the next name from the front of both lists; a side without it gives
// the zero treeEntry.
func stepTrees(old, now *[]treeEntry) (a, b treeEntry) {
	order := 0
	switch {
	case len(*old) == 0:
		order = 1
	case len(*now) == 0:
		order = -1
	default:
		order = strings.Compare((*old)[0].Name, (*now)[0].Name)
	}
	if order <= 0 {
		a, *old = (*old)[0], (*old)[1:]
	}
	if order >= 0 {
		b, *now = (*now)[0], (*now)[1:]
	}
	return a, b
}

// folder returns the tree of an entry, or the zero hash if it is not a folder.
func (e treeEntry) folder() plumbing.Hash {
	if e.IsDir() {
		return e.Hash
	}
	return plumbing.ZeroHash
}

// isFile reports whether an entry exists and is not a folder.
func (e treeEntry) isFile() bool { return e.Mode != filemode.Empty && !e.IsDir() }

// pair compares both sides' entries of a name. A file that became a folder is a removed
// file and added ones.
func (d *differ) pair(ctx context.Context, dir string, a, b treeEntry) error {
	if a == b {
		return nil
	}
	name := path.Join(dir, max(a.Name, b.Name)) // one may be empty
	if a.isFile() || b.isFile() {
		d.changed(name)
	}
	return d.compare(ctx, name, a.folder(), b.folder())
}
