package gitrepo

import (
	"context"
	"fmt"
	"math/bits"
	"path"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/gavel-evals/gavel/controller/gitrepo/pack"
)

// treeBounds limit a tree's additions to another tree, place by place.
type treeBounds struct {
	// Are describes the paths in messages: added or changed.
	Are string
	// Paths bounds the entries of any name and kind, folders among them.
	Paths uint64
	// Bytes bounds the length of all paths together.
	Bytes uint64
	// Depth bounds the depth of a path.
	Depth int
}

// checkTreeBounds returns a [pack.ExcessError] if head has more entries that base lacks
// at the same place than the bounds allow. base may be the zero hash, which has
// nothing. Each tree is read once however often it occurs, so that the cost follows the
// objects and not the paths.
func checkTreeBounds(ctx context.Context, read readTree, base, head plumbing.Hash, most treeBounds) error {
	m := measure{read: read, most: most, known: map[[2]plumbing.Hash]extent{}}
	all, err := m.beyond(ctx, ".", base, head, 0)
	if err != nil {
		return err
	}
	var what string
	switch {
	case all.paths > most.Paths:
		what = fmt.Sprintf("%s paths are %s; the bound is %d", amount(all.paths), most.Are, most.Paths)
	case all.bytes > most.Bytes:
		what = fmt.Sprintf("paths of %s bytes are %s; the bound is %d bytes", amount(all.bytes), most.Are, most.Bytes)
	default:
		return nil
	}
	at, err := m.largest(ctx, base, head, all)
	if err != nil {
		return err
	}
	return &pack.ExcessError{Path: at, Message: what, Hint: "leave out what need not be in the repository, or spread it over several pull requests"}
}

// endless caps the numbers that are shown.
const endless = 1 << 50

func amount(n uint64) string {
	if n >= endless {
		return fmt.Sprintf("more than %d", uint64(endless))
	}
	return fmt.Sprint(n)
}

// An extent is the size of a folder's subtree. Its numbers stop at [endless].
type extent struct {
	paths, bytes uint64
	height       int
}

// add adds the subtree of a name, and own entries of that name: one, or none if base
// has a folder there, too.
func (x *extent) add(name string, own uint64, below extent) {
	x.paths = min(x.paths+own+below.paths, endless)
	// The name and a slash are a part of every path below it.
	hi, bytes := bits.Mul64(own+below.paths, uint64(len(name)+1))
	if hi > 0 {
		bytes = endless
	}
	x.bytes = min(x.bytes+min(bytes, endless)+below.bytes, endless)
	x.height = max(x.height, below.height+1)
}

// A measure computes the extent of each folder once.
type measure struct {
	read readTree
	most treeBounds
	// known are extents by the pair of trees in head and base.
	known map[[2]plumbing.Hash]extent
}

// beyond returns the extent of head's folder that base lacks.
func (m *measure) beyond(ctx context.Context, dir string, base, head plumbing.Hash, depth int) (extent, error) {
	if head.IsZero() || base == head {
		return extent{}, nil
	}
	x, known := m.known[[2]plumbing.Hash{base, head}]
	if depth+x.height > m.most.Depth {
		return x, m.tooDeep(dir)
	}
	if known {
		return x, nil
	}
	err := treePairs(ctx, m.read, base, head, func(a, b treeEntry) error {
		if a == b || b == (treeEntry{}) {
			return nil
		}
		below, err := m.beyond(ctx, path.Join(dir, b.Name), a.folder(), b.folder(), depth+1)
		own := uint64(1)
		if a.IsDir() && b.IsDir() {
			own = 0
		}
		x.add(b.Name, own, below)
		return err
	})
	m.known[[2]plumbing.Hash{base, head}] = x
	return x, err
}

func (m *measure) tooDeep(dir string) error {
	// A path may be as long as its folders are many.
	if len(dir) > 200 {
		dir = dir[:200] + "…"
	}
	return &pack.ExcessError{
		Path: dir, Message: fmt.Sprintf("folders are nested more than %d deep; that is the bound", m.most.Depth), Hint: "move what is in them up",
	}
}

// largest returns the folder that contributes most to the excess.
func (m *measure) largest(ctx context.Context, base, head plumbing.Hash, all extent) (string, error) {
	at := "."
	for {
		var next treeEntry
		var was plumbing.Hash
		err := treePairs(ctx, m.read, base, head, func(a, b treeEntry) error {
			x := m.known[[2]plumbing.Hash{a.folder(), b.folder()}]
			if a != b && b.IsDir() && (x.paths > all.paths/2 || x.bytes > all.bytes/2 && all.bytes > m.most.Bytes) {
				next, was = b, a.folder()
			}
			return nil
		})
		if err != nil || next.Name == "" || len(at) > 200 {
			return at, err
		}
		at, base, head = path.Join(at, next.Name), was, next.Hash
	}
}
