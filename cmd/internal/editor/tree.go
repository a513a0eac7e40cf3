// Package editor lets people change definitions by forms and by requests of an API. It
// has forms for the formats domain, testcase, promptval and evalcase, and an editor of
// text for all others.
//
// Most callers want [New]. The files of the repository are the only store. A change is
// checked like gavel validate checks it, refused if it has errors, and written as a
// whole or not at all, even if the process is killed.
package editor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// The kinds of definitions.
const (
	kindDomain    = "domain"
	kindLevel     = "level"
	kindTest      = "test"
	kindEvaluator = "evaluator"
	kindTool      = "tool"
	// kindTestcase is a case of the testcase format, which no tree has.
	kindTestcase = "testcase"
)

// definitionOf names the CUE definition of each kind.
var definitionOf = map[string]string{
	kindDomain: "#Domain", kindLevel: "#Level", kindTest: "#Test", kindEvaluator: "#Evaluator", kindTool: "#Tool",
	kindTestcase: "#Testcase",
}

// Fields are the fields of a definition.
type Fields = definition.Fields

// An Entry is one definition with its file.
type Entry struct {
	Kind   string
	ID     string
	Domain string // the folder of a domain, level or test
	Level  int    // of a test or level
	File   string
	Fields Fields
	// Version changes with the file.
	Version string
	// Several says that the file also has other tests.
	Several bool
	// Problem says why the file cannot be read; the fields are empty then.
	Problem string
	// text is the file that would be written or was; nil for a definition that was read.
	text []byte
}

var levelFolder = lazyregexp.New(`^level_([1-9][0-9]{0,3})$`)

// A tree is all definitions of the format.
type tree struct {
	entries []Entry
	files   *memory
	// unread is the first error of reading a folder, or a fault of reading a file: entries
	// are incomplete then.
	unread error
}

// A wish is which tests are read, by domain and level, or which kind; empty and 0 mean all.
type wish struct {
	domain, kind string
	level        int
}

// read reads the definitions below the folders, of all kinds. Callers do not change them.
func (s *Store) read(ctx context.Context, folders []string, w wish) (*tree, error) {
	return remember(s, fmt.Sprintf("tree %q %+v", folders, w), func() (*tree, error) { return s.readFiles(ctx, folders, w) })
}

func (s *Store) readFiles(ctx context.Context, folders []string, w wish) (*tree, error) {
	t, fsys := &tree{files: s.known}, s.files
	for _, folder := range folders {
		folder = path.Clean(folder)
		list := t.list(fsys, folder) // gavel validate reports a missing folder
		parts := make([]*tree, len(list))
		var reading errgroup.Group
		reading.SetLimit(runtime.GOMAXPROCS(0))
		for i, e := range list {
			part, dir := &tree{files: s.known}, path.Join(folder, e.Name())
			parts[i] = part
			reading.Go(func() error {
				switch {
				case !e.IsDir() || ctx.Err() != nil:
				case e.Name() == "evaluators":
					part.folder(fsys, dir, Entry{Kind: kindEvaluator})
				case e.Name() == "tools":
					part.folder(fsys, dir, Entry{Kind: kindTool})
				case w.kind == "" || w.kind == kindDomain || w.kind == kindTest:
					part.domain(fsys, dir, w)
				}
				return ctx.Err()
			})
		}
		if err := reading.Wait(); err != nil {
			return nil, err
		}
		size := 0
		for _, part := range parts {
			size += len(part.entries)
		}
		t.entries = slices.Grow(t.entries, size)
		for _, part := range parts {
			t.entries = append(t.entries, part.entries...)
			t.fail(part.unread)
		}
	}
	return t, t.unread
}

// list lists a folder; it is empty for what does not exist or is not a folder.
func (t *tree) list(fsys fs.FS, dir string) []fs.DirEntry {
	list, err := fs.ReadDir(fsys, dir)
	if err == nil {
		return list
	}
	if info, unseen := fs.Stat(fsys, dir); !schema.IsFault(err) && (errors.Is(err, fs.ErrNotExist) || unseen == nil && !info.IsDir()) {
		return nil
	}
	t.fail(fmt.Errorf("the definitions in %s cannot be read: %w", dir, err))
	return nil
}

// fail keeps the first error.
func (t *tree) fail(err error) {
	if t.unread == nil {
		t.unread = err
	}
}

// domain reads a domain with its levels.
func (t *tree) domain(fsys fs.FS, dir string, w wish) {
	name := path.Base(dir)
	if w.domain != "" && w.domain != name {
		return
	}
	list := t.list(fsys, dir)
	at := slices.IndexFunc(list, func(e fs.DirEntry) bool { return e.Name() == "domain.json" })
	if at < 0 {
		return
	}
	t.file(fsys, dir, list[at], Entry{Kind: kindDomain, Domain: name})
	for _, e := range list {
		number := levelFolder.FindStringSubmatch(e.Name())
		if number == nil || !e.IsDir() {
			continue
		}
		level, _ := strconv.Atoi(number[1]) // digits, by the pattern
		if w.level == 0 || w.level == level {
			t.folder(fsys, path.Join(dir, e.Name()), Entry{Kind: kindTest, Domain: name, Level: level})
		}
	}
}

// folder reads the files of a folder.
func (t *tree) folder(fsys fs.FS, dir string, as Entry) {
	list := t.list(fsys, dir)
	t.entries = slices.Grow(t.entries, len(list))
	for _, e := range list {
		if !e.Type().IsRegular() || !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(e.Name())) || strings.HasSuffix(e.Name(), checksSuffix) {
			continue
		}
		is := as
		if as.Kind == kindTest && strings.TrimSuffix(e.Name(), path.Ext(e.Name())) == "level" {
			is.Kind = kindLevel
		}
		t.file(fsys, dir, e, is)
	}
}

// file reads one file of a folder.
func (t *tree) file(fsys fs.FS, dir string, e fs.DirEntry, as Entry) {
	as.File, as.ID = dir+"/"+e.Name(), strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
	switch as.Kind {
	case kindDomain:
		as.ID = as.Domain
	case kindLevel:
		as.ID = levelID(as.Domain, as.Level)
	}
	found := t.files.read(fsys, as.File, e)
	if found.unread != nil && schema.IsFault(found.unread) {
		t.fail(fmt.Errorf("%s cannot be read: %w", as.File, found.unread))
	}
	as.Version, as.Several, as.Problem = found.Version, found.Several, found.Problem
	for i, fields := range found.List {
		one := as
		one.Fields = fields
		if id := found.IDs[i]; id != "" && as.Kind != kindLevel {
			one.ID = id
		}
		t.entries = append(t.entries, one)
	}
}

// entriesOf returns the entries of a kind.
func (t *tree) entriesOf(kind string) []Entry { return entriesOf(t.entries, kind) }

func entriesOf(entries []Entry, kind string) []Entry {
	var out []Entry
	for _, e := range entries {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// find returns the entry of a kind with an id.
func (t *tree) find(kind, id string) (Entry, error) {
	at := slices.IndexFunc(t.entries, func(e Entry) bool { return e.Kind == kind && e.ID == id })
	if at >= 0 {
		return t.entries[at], nil
	}
	var ids []string
	for _, e := range t.entriesOf(kind) {
		ids = append(ids, e.ID)
	}
	return Entry{}, missing(strings.TrimSuffix(fmt.Sprintf("%s %q does not exist; %s", kind, id, suggest.DidYouMean(id, ids)), "; "))
}

// document returns an entry in the form of an answer.
func (e Entry) document() map[string]any {
	out := map[string]any{}
	for name, value := range e.Fields {
		out[name] = value
	}
	out["id"], out["path"], out["version"] = e.ID, e.File, e.Version
	switch e.Kind {
	case kindLevel:
		delete(out, "id")
		fallthrough
	case kindTest:
		out["domain_id"], out["level"] = e.Domain, e.Level
	}
	if e.Problem != "" {
		out["error"] = e.Problem
	}
	return out
}
