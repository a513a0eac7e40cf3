package parsed

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/ignore"
	"github.com/gavel-evals/gavel/schema/load"
)

// A Catalog is what a repository has in all formats. Nobody changes it.
type Catalog struct {
	Files []Named
	// Cases are those of the testcase format, sorted by key.
	Cases []*schema.CaseInfo
}

// A Named is a file of definitions with its format, empty for a file that is not one.
type Named struct{ File, Format string }

// Unknown are the files of a result that are not definitions of any format.
func Unknown(found *load.Result) []string {
	var out []string
	for _, d := range found.Definitions {
		if d.Dialect == "" {
			out = append(out, d.File)
		}
	}
	return out
}

// Catalogs remembers the catalog of the last state of a repository. It is safe for
// concurrent use; the zero value remembers nothing.
type Catalogs struct {
	mu    sync.Mutex
	marks []mark   // guarded by mu; of the state
	names []string // guarded by mu; the settings, and the files that marks are of
	last  *Catalog // guarded by mu; nil at first
}

// Catalog loads the definitions of a repository, or returns what it had while no file of
// the definition folders is changed. m marks the files.
func (c *Catalogs) Catalog(ctx context.Context, m *Memory, fsys fs.FS, settings schema.Settings) (*Catalog, error) {
	names, marks, ok := m.state(fsys, settings)
	c.mu.Lock()
	old, same := c.last, c.last != nil && slices.Equal(c.names, names) && slices.EqualFunc(c.marks, marks, mark.equal)
	c.mu.Unlock()
	if ok && same {
		return old, nil
	}
	found, err := load.Load(ctx, fsys, load.Options{Settings: settings})
	if err != nil {
		return nil, err
	}
	out := &Catalog{}
	for _, d := range found.Definitions {
		out.Files = append(out.Files, Named{d.File, d.Dialect})
	}
	for _, one := range found.Cases {
		if one.Dialect == schema.DialectTestcase {
			info := one.CaseInfo
			out.Cases = append(out.Cases, &info)
		}
	}
	after, still, settled := m.state(fsys, settings)
	if ok && settled && slices.Equal(names, after) && slices.EqualFunc(marks, still, mark.equal) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.names, c.marks, c.last = names, marks, out
	}
	return out, nil
}

// state are the settings and the files that definitions are in, and the marks of the
// files. ok is false where a change might not be seen.
func (m *Memory) state(fsys fs.FS, settings schema.Settings) (names []string, marks []mark, ok bool) {
	names, ok = []string{fmt.Sprintf("%+v", settings)}, true
	add := func(name string, e fs.DirEntry) {
		now, settled := m.markOf(fsys, name, e)
		names, marks, ok = append(names, name), append(marks, now), ok && settled
	}
	roots := append(slices.Clone(settings.RootFiles), ignore.File)
	for _, root := range append(roots, settings.Definitions...) {
		err := fs.WalkDir(fsys, path.Clean(root), func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				add(name, e)
			}
			return nil // what is not there or cannot be read has no mark
		})
		ok = ok && err == nil
	}
	return names, marks, ok
}
