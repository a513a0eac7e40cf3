package editor

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
	"github.com/gavel-evals/gavel/schema/testcase"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// A catalog lists the definitions of a repository in all formats. It is not changed.
type catalog struct {
	Files []formatFile
	// Cases are the cases of the testcase format, sorted by key.
	Cases []*schema.CaseInfo
	// Reader reads the definitions of the cases from the files that callers have open,
	// and remembers them.
	Reader *testcase.Reader
}

// A formatFile is a file of definitions.
type formatFile struct {
	// Format is empty for a file that is not a definition.
	File, Format string
	Tests        []*schema.CaseInfo
	// Said are the beginnings of what the tests say to their targets, in small letters.
	Said []string
	// Problem is the first error of the file; empty for none.
	Problem string
}

// newFormatFile returns a loaded file with the first of its errors.
func newFormatFile(d *load.Definition, errs map[string]string) formatFile {
	out := formatFile{File: d.File, Format: d.Dialect, Problem: errs[d.File]}
	for _, c := range d.Cases {
		info := c.CaseInfo
		out.Tests, out.Said = append(out.Tests, &info), append(out.Said, saidBy(c))
	}
	return out
}

// mostSaid bounds what is remembered of the messages of a case, in bytes.
const mostSaid = 1000

// saidBy returns the beginning of a case's messages of the user, in small letters.
func saidBy(c *schema.Case) string {
	var out strings.Builder
	for _, messages := range append([][]schema.Message{c.Drive.Messages}, c.Drive.Openings...) {
		for _, m := range messages {
			if room := mostSaid - out.Len(); m.Role == schema.RoleUser && room > 0 {
				out.WriteString(strings.ToLower(strings.ToValidUTF8(m.Content[:min(len(m.Content), room)], "")) + "\n")
			}
		}
	}
	return out.String()
}

// firstErrors returns the first error of each file.
func firstErrors(found *load.Result) map[string]string {
	out := map[string]string{}
	for _, p := range found.Problems {
		if p.Severity == schema.Error && out[p.File] == "" {
			out[p.File] = placed(p)
		}
	}
	return out
}

// formatsOf returns the formats of the files of a result. It is empty for a file that is not
// a definition of any.
func formatsOf(found *load.Result) map[string]string {
	out := map[string]string{}
	for _, d := range found.Definitions {
		out[d.File] = d.Dialect
	}
	return out
}

// catalogCache remembers the catalog of the last state of a repository. It is safe for
// concurrent use. Its zero value is empty.
type catalogCache struct {
	mu    sync.Mutex       // held while definitions are loaded: the next one may need no loading
	last  *catalog         // guarded by mu; nil at first
	state *repositoryState // guarded by mu; the state of last
	parts *catalogParts    // guarded by mu; of last
}

// load loads the definitions of a repository, or returns the last catalog if no file in
// the definition folders, and none that they build on, has changed. If few files have
// changed, it loads only these. m marks the files.
func (c *catalogCache) load(ctx context.Context, m *memory, fsys fs.FS, settings schema.Settings) (*catalog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began, read := m.now(), &outsideFS{FS: fsys, within: settings.Definitions}
	now, err := m.state(ctx, fsys, settings, c.parts.outsideFiles())
	if err != nil {
		return nil, err
	}
	changed, comparable := now.changedSince(c.state)
	if c.last != nil && comparable && len(changed) == 0 {
		return c.last, nil
	}
	var out *catalog
	if comparable && c.parts.replaceable(changed) {
		found, err := load.Load(ctx, read, load.Options{Settings: settings, Files: changed, Search: fsys})
		if err != nil {
			return nil, err
		}
		out = c.parts.replace(c.last, changed, found)
	}
	if out == nil {
		found, err := load.Load(ctx, read, load.Options{Settings: settings, Search: fsys})
		if err != nil {
			return nil, err
		}
		c.parts, out = newCatalogParts(found)
	}
	c.parts.outside = read.sorted(c.parts.outside)
	after, err := m.state(ctx, fsys, settings, c.parts.outside)
	if err != nil {
		return nil, err
	}
	now.adopt(after, c.parts.outside, began)
	if c.last, c.state = out, now; !now.isEqual(after) {
		c.last, c.state, c.parts = nil, nil, nil // a file was changed while it was read
	}
	return out, nil
}

// mostReplaced bounds the changed files that are loaded without all others.
const mostReplaced = 100

// catalogParts has the definitions of a repository by file.
type catalogParts struct {
	files map[string]part
	// owners maps each key and each id of a test to its file.
	owners map[string]string
	// isClear reports whether no key and no id is in two places.
	isClear bool
	// outside are the files in no definition folder that were read for the definitions, or
	// would have been if they were there, and the folders that were listed, see outsideFS;
	// sorted.
	outside []string
}

// outsideFiles returns them; none for nil.
func (p *catalogParts) outsideFiles() []string {
	if p == nil {
		return nil
	}
	return p.outside
}

// A part has the definitions of one file.
type part struct {
	format string
	names  []string // all keys and ids
}

// newCatalogParts splits loaded definitions into parts, and returns their catalog.
func newCatalogParts(found *load.Result) (*catalogParts, *catalog) {
	p, out := &catalogParts{files: map[string]part{}, owners: map[string]string{}, isClear: !hasDuplicates(found)}, &catalog{Reader: testcase.NewReader(nil)}
	errs := firstErrors(found)
	for i := range found.Definitions {
		d := &found.Definitions[i]
		p.put(d)
		file := newFormatFile(d, errs)
		out.Files, out.Cases = append(out.Files, file), append(out.Cases, file.testcases()...)
	}
	slices.SortFunc(out.Cases, byKey)
	return p, out
}

func byKey(a, b *schema.CaseInfo) int { return cmp.Compare(a.Key, b.Key) }

// testcases returns the cases of the testcase format.
func (f formatFile) testcases() []*schema.CaseInfo {
	var out []*schema.CaseInfo
	for _, c := range f.Tests {
		if c.Dialect == schema.DialectTestcase {
			out = append(out, c)
		}
	}
	return out
}

// namesOf returns the keys and ids that no other file may have.
func namesOf(d *load.Definition) []string {
	var out []string
	for _, c := range d.Cases {
		out = append(out, "key "+c.ID())
	}
	for _, id := range d.IDs {
		out = append(out, "id "+id.Name)
	}
	return out
}

func (p *catalogParts) put(d *load.Definition) {
	made := part{format: d.Dialect, names: namesOf(d)}
	for _, name := range made.names {
		p.owners[name] = d.File
	}
	p.files[d.File] = made
}

func hasDuplicates(found *load.Result) bool {
	return slices.ContainsFunc(found.Problems, func(p schema.Problem) bool { return p.Rule == "duplicate-id" || p.Rule == "duplicate-key" })
}

// isShared reports whether a file affects its neighbours.
func isShared(file string) bool {
	dir, base := path.Split(file)
	return slices.Contains([]string{"domain", "level"}, strings.TrimSuffix(base, path.Ext(base))) ||
		slices.Contains([]string{"evaluators", "tools"}, path.Base(dir))
}

// isKept reports whether files of a format affect no case of another file.
func isKept(format string) bool {
	return format == schema.DialectTestcase || format == schema.DialectDomain
}

// replaceable reports whether the changed files are few and affect no case of another
// file.
func (p *catalogParts) replaceable(changed []string) bool {
	if p == nil || !p.isClear || len(changed) > mostReplaced {
		return false
	}
	for _, file := range changed {
		_, hasLines := p.files[strings.TrimSuffix(file, path.Ext(file))+".jsonl"]
		old, isKnown := p.files[file]
		switch {
		case slices.Contains(p.outside, file), !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(file)), !strings.Contains(file, "/"), hasLines,
			isKnown && !isKept(old.format), isShared(file) && !isKnown:
			return false
		}
	}
	return true
}

// replace replaces the parts of the changed files and returns the new catalog. It returns
// nil and changes nothing if all files have to be loaded.
func (p *catalogParts) replace(last *catalog, changed []string, found *load.Result) *catalog {
	var defs []*load.Definition
	isThere := map[string]bool{}
	for i := range found.Definitions {
		if d := &found.Definitions[i]; slices.Contains(changed, d.File) {
			isOther := func(name string) bool {
				owner, taken := p.owners[name]
				return taken && !slices.Contains(changed, owner)
			}
			if !isKept(d.Dialect) || slices.ContainsFunc(namesOf(d), isOther) {
				return nil
			}
			defs, isThere[d.File] = append(defs, d), true
		}
	}
	if hasDuplicates(found) || slices.ContainsFunc(changed, func(file string) bool { return isShared(file) && !isThere[file] }) {
		return nil
	}
	for _, file := range changed {
		for _, name := range p.files[file].names {
			delete(p.owners, name)
		}
		delete(p.files, file)
	}
	out := &catalog{Reader: testcase.NewReader(nil), Files: make([]formatFile, 0, len(last.Files)+len(defs)), Cases: make([]*schema.CaseInfo, 0, len(last.Cases)+len(defs))}
	for _, f := range last.Files {
		if !slices.Contains(changed, f.File) {
			out.Files = append(out.Files, f)
		}
	}
	for _, c := range last.Cases {
		if !slices.Contains(changed, c.Origin.File) {
			out.Cases = append(out.Cases, c)
		}
	}
	errs := firstErrors(found)
	for _, d := range defs {
		p.put(d)
		file := newFormatFile(d, errs)
		at, _ := slices.BinarySearchFunc(out.Files, d.File, func(f formatFile, file string) int { return cmp.Compare(f.File, file) })
		out.Files = slices.Insert(out.Files, at, file)
		out.Cases = append(out.Cases, file.testcases()...)
	}
	slices.SortFunc(out.Cases, byKey) // nearly in order
	return out
}

// A repositoryState has the settings and files that a catalog was made from.
type repositoryState struct {
	settings string       // JSON, since each look has other pointers
	files    []markedFile // in the order in which they were found
}

// A markedFile is a file with its mark. It is settled if every later change has another
// mark.
type markedFile struct {
	name string
	fileMark
	isSettled bool
}

// state returns the settings, the files with definitions, and outside of their folders some
// others, without missing and unreadable files.
func (m *memory) state(ctx context.Context, fsys fs.FS, settings schema.Settings, outside []string) (*repositoryState, error) {
	prompts := map[string]schema.Position{} // which the JSON of settings leaves out
	for name, target := range settings.Targets {
		prompts[name] = target.Prompt.At
	}
	text, _ := json.Marshal([]any{settings, prompts}) // without a text, no state is comparable
	out := &repositoryState{settings: string(text)}
	skills, err := load.SkillFiles(ctx, fsys, settings)
	if err != nil {
		return nil, err
	}
	var folders []string
	roots := slices.Concat(settings.RootFiles, []string{wildcard.IgnoreFile}, skills, settings.Definitions)
	for _, root := range roots {
		_ = fs.WalkDir(fsys, path.Clean(root), func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
			case !e.IsDir():
				out.files = append(out.files, m.note(fsys, name, e))
			case name != path.Clean(root):
				folders = append(folders, name)
				return fs.SkipDir
			}
			return nil
		})
	}
	found := make([][]markedFile, len(folders))
	var walking errgroup.Group
	walking.SetLimit(runtime.GOMAXPROCS(0))
	for i, folder := range folders {
		walking.Go(func() error {
			return fs.WalkDir(fsys, folder, func(name string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					found[i] = append(found[i], m.note(fsys, name, e))
				}
				return nil
			})
		})
	}
	_ = walking.Wait() // no walk returns an error
	out.files = append(out.files, slices.Concat(found...)...)
	for _, file := range outside {
		if !slices.Contains(roots, file) {
			out.files = append(out.files, m.noteOutside(fsys, file)...)
		}
	}
	return out, nil
}

func (m *memory) note(fsys fs.FS, name string, e fs.DirEntry) markedFile {
	now, isSettled := m.markOf(fsys, name, e)
	return markedFile{name, now, isSettled}
}

// noteOutside returns the mark of a file, of a folder that was looked for as a file, or of
// the entries of a folder; none if it does not exist.
func (m *memory) noteOutside(fsys fs.FS, name string) []markedFile {
	folder, isList := strings.CutSuffix(name, "/")
	info, err := fs.Stat(fsys, folder)
	switch {
	case err != nil || isList && !info.IsDir():
		return nil
	case !info.IsDir() || isList && !info.ModTime().IsZero():
		return []markedFile{m.note(fsys, name, fs.FileInfoToDirEntry(info))}
	case !isList:
		return []markedFile{{name: name, fileMark: fileMark{hash: "folder"}, isSettled: true}}
	}
	// A folder of a commit has no time.
	var entries strings.Builder
	list, err := fs.ReadDir(fsys, folder)
	for _, e := range list {
		entries.WriteString(e.Type().String() + " " + e.Name() + "\x00")
	}
	return []markedFile{{name: name, fileMark: fileMark{hash: contentVersion([]byte(entries.String()))}, isSettled: err == nil}}
}

// isSame reports whether two files have the same name and mark.
func (n markedFile) isSame(other markedFile) bool {
	return n.name == other.name && n.equal(other.fileMark)
}

// changedSince returns the files that are gone or may have changed since an earlier state.
// ok is false if the states cannot be compared.
func (s *repositoryState) changedSince(old *repositoryState) (changed []string, ok bool) {
	if old == nil || s.settings == "" || old.settings != s.settings {
		return nil, false
	}
	was := old.files
	if !slices.EqualFunc(s.files, was, func(a, b markedFile) bool { return a.name == b.name }) {
		was = old.arranged(s, &changed)
	}
	for i, now := range s.files {
		if !now.isSettled || !was[i].isSettled || !now.isSame(was[i]) {
			changed = append(changed, now.name)
		}
	}
	return changed, true
}

// arranged returns the files of a state in the order of another state, with an empty one
// for each missing file. It adds files that the other state lacks to gone.
func (s *repositoryState) arranged(as *repositoryState, gone *[]string) []markedFile {
	at := make(map[string]int, len(as.files))
	for i, f := range as.files {
		at[f.name] = i
	}
	out := make([]markedFile, len(as.files))
	for _, f := range s.files {
		if i, there := at[f.name]; there {
			out[i] = f
		} else {
			*gone = append(*gone, f.name)
		}
	}
	return out
}

// adopt adds the marks that a later state has of files which were found to be outside
// meanwhile. They count if the files are older than the look that began.
func (s *repositoryState) adopt(after *repositoryState, outside []string, began time.Time) {
	var gone []string
	files := s.arranged(after, &gone)
	if len(gone) > 0 {
		return
	}
	for i, f := range after.files {
		if _, is := slices.BinarySearch(outside, f.name); is && files[i].name == "" {
			f.isSettled = f.isSettled && (f.info == nil || f.info.ModTime().Before(began))
			files[i] = f
		}
	}
	s.files = files
}

// isEqual reports whether two states have the same marks.
func (s *repositoryState) isEqual(other *repositoryState) bool {
	return s.settings == other.settings && slices.EqualFunc(s.files, other.files, markedFile.isSame)
}
