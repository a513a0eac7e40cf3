package evalcase

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// maxFragmentFile bounds a suite, in bytes. A larger one is not read as a definition either.
const maxFragmentFile = 1 << 20

// A FragmentFinder finds the files with tests that a suite names, so that they do not count as definitions of
// their own. It remembers the suites of each folder, and is safe for concurrent use.
type FragmentFinder struct {
	files fs.FS
	mu    sync.Mutex
	// suites are the suites of a folder that name files.
	suites map[string][]namedSuite
	// found are the suites that were found, by file.
	found map[string]string
}

type namedSuite struct {
	file  string
	names []string // of files or globs, relative to the repository root
}

// NewFragmentFinder returns a finder for a repository.
func NewFragmentFinder(files fs.FS) *FragmentFinder {
	return &FragmentFinder{files: files, suites: map[string][]namedSuite{}, found: map[string]string{}}
}

// Suite returns the suite, from the folder of the file or one above, that names a file
// as a part. It is empty without one, or if the document has more than tests.
func (f *FragmentFinder) Suite(doc *document.Document) string {
	if !isFragment(doc) {
		return ""
	}
	for dir := path.Dir(doc.File); ; dir = path.Dir(dir) {
		for _, s := range f.in(dir) {
			if s.file != doc.File && s.has(doc.File) {
				f.mu.Lock()
				f.found[doc.File] = s.file
				f.mu.Unlock()
				return s.file
			}
		}
		if dir == "." || dir == "/" {
			return ""
		}
	}
}

// Named returns the suite that [FragmentFinder.Suite] found for a file, or nothing. A nil finder knows
// none.
func (f *FragmentFinder) Named(file string) string {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found[file]
}

// isFragment reports whether a document has only tests, or is a scenario.
func isFragment(doc *document.Document) bool {
	if !doc.IsObject() {
		return true
	}
	keys := doc.Keys()
	if slices.Contains(keys, "tests") || slices.Contains(keys, "config") {
		return !slices.ContainsFunc(keys, func(key string) bool { return key != "tests" && key != "config" && key != "description" })
	}
	return path.Base(doc.File) == "case.yaml" || path.Base(doc.File) == "case.yml"
}

func (s namedSuite) has(file string) bool {
	for _, name := range s.names {
		if name == file || strings.HasPrefix(file, name+"/") || wildcard.Match(name, file) {
			return true
		}
	}
	return false
}

// in returns the suites in a folder that name files.
func (f *FragmentFinder) in(dir string) []namedSuite {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.suites[dir]; ok {
		return known
	}
	var out []namedSuite
	entries, err := fs.ReadDir(f.files, dir)
	if err != nil {
		entries = nil // loading reports it
	}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); ext != ".yaml" && ext != ".yml" || !e.Type().IsRegular() {
			continue
		}
		if s := f.read(path.Join(dir, e.Name())); len(s.names) > 0 {
			out = append(out, s)
		}
	}
	f.suites[dir] = out
	return out
}

// named and listed match a file that may name others as its tests, so that most files are not parsed.
var (
	named  = lazyregexp.New(`(?m)^["']?(?:tests|scenarios)["']?[ \t]*:[ \t]*(["']?[\w./]|\[)`)
	listed = lazyregexp.New(`(?m)^[ \t]*-[ \t]*(["']?[\w.:/*-]+\.(ya?ml|jsonl?|csv)["']?[ \t]*$|["']?[\w.:/-]+/["']?[ \t]*$|\{?[ \t]*include:)`)
)

// read returns a file with the files that it names as tests.
func (f *FragmentFinder) read(file string) namedSuite {
	out := namedSuite{file: file}
	info, err := fs.Stat(f.files, file)
	if err != nil || info.Size() > maxFragmentFile {
		return out
	}
	data, err := fs.ReadFile(f.files, file)
	if err != nil || !named.Match(data) && !((bytes.Contains(data, []byte("tests")) || bytes.Contains(data, []byte("scenarios"))) && listed.Match(data)) {
		return out
	}
	doc, _ := document.Parse(file, data)
	if doc == nil {
		return out
	}
	whole := document.Place{Doc: doc}
	for _, p := range append(slices.Concat(whole.List("tests"), whole.List("scenarios")), whole.Sub("tests"), whole.Sub("scenarios")) {
		name := p.Text()
		if name == "" {
			name = p.Text("include")
		}
		if name != "" {
			out.names = append(out.names, path.Join(path.Dir(file), strings.TrimPrefix(name, "file://")))
		}
	}
	return out
}

// A fragment is the set of files that a name of tests selects: a glob or a folder.
type fragment struct {
	// Files are absolute paths of the repository, sorted.
	Files []string
	// Folders are read again when a file is added to them.
	Folders []string
	// Problems are errors, such as too many files; then there are no Files.
	Problems []schema.Problem
}

// inputs are the folders as inputs of a role.
func (f fragment) inputs(role string) []schema.Input {
	var all []schema.Input
	for _, folder := range f.Folders {
		all = append(all, schema.Input{File: folder, Role: role})
	}
	return all
}

// expandFragment finds the files of a glob, or the case.yaml of each folder in a folder. It reports
// false for the name of one file. written is the position of the name.
func expandFragment(src document.Source, written schema.Position, name string) (fragment, bool) {
	name = strings.TrimPrefix(name, "file://")
	if wildcard.IsGlob(name) {
		var out fragment
		out.Files, out.Folders, out.Problems = src.Matching(written, name)
		slices.Sort(out.Files)
		return out, true
	}
	at := path.Join(path.Dir(written.File), name)
	if rooted, ok := strings.CutPrefix(name, "/"); ok {
		at = path.Clean(rooted)
	}
	if info, err := fs.Stat(src.FS, at); err != nil || !info.IsDir() {
		return fragment{}, false
	}
	out := fragment{Folders: []string{at}}
	fits := func(file string) bool {
		dir, base := path.Split(file)
		return path.Dir(path.Clean(dir)) == at && (base == "case.yaml" || base == "case.yml")
	}
	out.Files, out.Problems = src.Select(document.Selection{At: written, Name: name, Folder: at, Fits: fits})
	slices.Sort(out.Files)
	return out, true
}

// fragmentCase returns the test in a file of its own. Without an id it has the name of its folder.
func fragmentCase(doc *document.Document) document.Place {
	if base := path.Base(doc.File); !doc.IsObject() || doc.Has("id") || base != "case.yaml" && base != "case.yml" {
		return document.Place{Doc: doc}
	}
	fields := []document.NamedPiece{{Name: "id", Piece: document.TextPiece(doc.At(), path.Base(path.Dir(doc.File)))}}
	for _, key := range doc.Keys() {
		fields = append(fields, document.NamedPiece{Name: key, Piece: doc.Piece(key)})
	}
	return document.Place{Doc: document.Compose(doc.File, document.ObjectPiece(doc.At(), fields...))}
}
