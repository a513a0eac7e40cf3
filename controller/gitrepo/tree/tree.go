// Package tree compares two trees of git, and measures how much one has that
// the other does not.
//
// Most callers want [Compare]. They call [CheckBounds] first where the trees are a
// stranger's: twelve objects can represent more paths than a disk has bytes.
package tree

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// MaxDepth is how many folders a path may be deep at all.
const MaxDepth = 256

// ErrTooDeep says that a path is deeper than [MaxDepth].
var ErrTooDeep = fmt.Errorf("is more than %d folders deep", MaxDepth)

// An Entry is one name in a tree. The zero Entry represents a missing
// name.
type Entry struct {
	Name string
	Mode filemode.FileMode
	Hash plumbing.Hash
}

// IsDir reports whether the entry is a folder.
func (e Entry) IsDir() bool { return e.Mode == filemode.Dir }

// A Read gives the entries of a tree, sorted by name. They are not changed.
type Read func(tree plumbing.Hash) ([]Entry, error)

// entries returns none for the zero hash, which represents a missing folder.
func (r Read) entries(tree plumbing.Hash) ([]Entry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	return r(tree)
}

// Compare calls changed with the path of every file, link and submodule that
// differs between two trees. Folders whose hash is equal on both sides are not
// read, so its cost follows the difference. The error wraps [ErrTooDeep], or is
// that of read or of ctx.
func Compare(ctx context.Context, read Read, from, to plumbing.Hash, changed func(path string)) error {
	d := differ{read: read, changed: changed}
	return d.compare(ctx, "", from, to)
}

type differ struct {
	read    Read
	changed func(path string)
	depth   int
}

// compare walks two trees, of which one may be missing, side by side.
func (d *differ) compare(ctx context.Context, dir string, from, to plumbing.Hash) error {
	if from == to {
		return nil
	}
	if d.depth++; d.depth > MaxDepth {
		return fmt.Errorf("%s %w", dir, ErrTooDeep)
	}
	defer func() { d.depth-- }()
	return pairs(ctx, d.read, from, to, func(a, b Entry) error { return d.pair(ctx, dir, a, b) })
}

// pairs calls do with what two trees have under each name.
func pairs(ctx context.Context, read Read, from, to plumbing.Hash, do func(a, b Entry) error) error {
	old, err := read.entries(from)
	now, err2 := read.entries(to)
	if err := errors.Join(ctx.Err(), err, err2); err != nil {
		return err
	}
	for len(old) > 0 || len(now) > 0 {
		if err := do(step(&old, &now)); err != nil {
			return err
		}
	}
	return nil
}

// step takes the next name from the front of both lists; the side that does
// not have it gives the zero Entry.
func step(old, now *[]Entry) (a, b Entry) {
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

// folder is the tree of an entry, the zero hash for what is not a folder.
func (e Entry) folder() plumbing.Hash {
	if e.IsDir() {
		return e.Hash
	}
	return plumbing.ZeroHash
}

// isFile reports whether an entry is there and is not a folder.
func (e Entry) isFile() bool { return e.Mode != filemode.Empty && !e.IsDir() }

// pair compares what both sides have under one name. A file that became a
// folder is a removed file and added ones.
func (d *differ) pair(ctx context.Context, dir string, a, b Entry) error {
	if a == b {
		return nil
	}
	name := path.Join(dir, max(a.Name, b.Name)) // one may be empty
	if a.isFile() || b.isFile() {
		d.changed(name)
	}
	return d.compare(ctx, name, a.folder(), b.folder())
}
