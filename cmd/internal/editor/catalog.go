package editor

import (
	"context"
	"io/fs"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/testcase"
)

// A catalog is what a repository has in all formats. Nobody changes it.
type catalog struct {
	Files []formatFile
	// Cases are those of the testcase format, sorted by key.
	Cases []*schema.CaseInfo
	// Reader reads the definitions of the cases, and remembers their files. Callers give
	// it the files that they have open.
	Reader *testcase.Reader
}

// A formatFile is a file of definitions with its format, empty for a file that is not one.
type formatFile struct{ File, Format string }

// unknownFiles are the files of a result that are not definitions of any format.
func unknownFiles(found *load.Result) []string {
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
	mu    sync.Mutex       // held while definitions are loaded: the next one may need no loading
	last  *catalog         // guarded by mu; nil at first
	state *repositoryState // guarded by mu; that of last
	parts *catalogParts    // guarded by mu; of last
}

// catalog loads the definitions of a repository, or returns what it had while no file of
// the definition folders is changed. Where few files are changed, only these are loaded. m
// marks the files.
func (c *Catalogs) Catalog(ctx context.Context, m *memory, fsys fs.FS, settings schema.Settings) (*catalog, error) {
	now := m.state(fsys, settings)
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, comparable := now.changedSince(c.state)
	if c.last != nil && comparable && len(changed) == 0 {
		return c.last, nil
	}
	var out *catalog
	if comparable && c.parts.replaceable(changed) {
		found, err := load.Load(ctx, fsys, load.Options{Settings: settings, Files: changed})
		if err != nil {
			return nil, err
		}
		out = c.parts.replace(c.last, changed, found)
	}
	if out == nil {
		found, err := load.Load(ctx, fsys, load.Options{Settings: settings})
		if err != nil {
			return nil, err
		}
		c.parts, out = newCatalogParts(found)
	}
	if c.last, c.state = out, now; !now.isEqual(m.state(fsys, settings)) {
		c.last, c.state, c.parts = nil, nil, nil // a file was changed while it was read
	}
	return out, nil
}
