// Package fragment knows which files hold tests that a suite of AgentV names, so that they are
// not definitions of their own.
//
// Most callers want [Finder.Suite].
package fragment

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// maxFile bounds a suite, in bytes. A larger one is not read as a definition either.
const maxFile = 1 << 20

// A Finder looks for suites. It remembers what folders have, and is safe for concurrent use.
type Finder struct {
	files fs.FS
	mu    sync.Mutex
	// suites are those of a folder that name files, with what they name.
	suites map[string][]suite
	// found are the suites that were found, by file.
	found map[string]string
}

type suite struct {
	file  string
	names []string // of files or globs, relative to the repository root
}

// New looks in a repository.
func New(files fs.FS) *Finder {
	return &Finder{files: files, suites: map[string][]suite{}, found: map[string]string{}}
}

// Suite is the suite that names a file as tests of its own, in the folder of the file or in one
// above; empty where there is none, or where the document is more than tests.
func (f *Finder) Suite(doc *document.Document) string {
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

// Named is the suite that was found for a file; empty where none was. A nil Finder finds none.
func (f *Finder) Named(file string) string {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found[file]
}

// isFragment reports whether a document is tests and nothing else.
func isFragment(doc *document.Document) bool {
	if !doc.IsObject() {
		return true
	}
	for _, key := range doc.Keys() {
		if key == "tests" {
			return len(doc.Keys()) == 1
		}
	}
	return path.Base(doc.File) == "case.yaml" || path.Base(doc.File) == "case.yml"
}

func (s suite) has(file string) bool {
	for _, name := range s.names {
		if name == file || strings.HasPrefix(file, name+"/") || wildcard.Match(name, file) {
			return true
		}
	}
	return false
}

// in are the suites of a folder.
func (f *Finder) in(dir string) []suite {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.suites[dir]; ok {
		return known
	}
	var out []suite
	entries, err := fs.ReadDir(f.files, dir)
	if err != nil {
		entries = nil // of which loading tells
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

// named and listed match a file that may name others as its tests: texts are looked at before
// a document is read.
var (
	named  = lazyregexp.New(`(?m)^["']?tests["']?[ \t]*:[ \t]*(["']?[\w./]|\[)`)
	listed = lazyregexp.New(`(?m)^[ \t]*-[ \t]*(["']?[\w.:/*-]+\.(ya?ml|jsonl?|csv)["']?[ \t]*$|["']?[\w.:/-]+/["']?[ \t]*$|\{?[ \t]*include:)`)
)

// read are the names of tests in a file.
func (f *Finder) read(file string) suite {
	out := suite{file: file}
	info, err := fs.Stat(f.files, file)
	if err != nil || info.Size() > maxFile {
		return out
	}
	data, err := fs.ReadFile(f.files, file)
	if err != nil || !named.Match(data) && !(bytes.Contains(data, []byte("tests")) && listed.Match(data)) {
		return out
	}
	doc, _ := document.Parse(file, data)
	if doc == nil {
		return out
	}
	tests := document.Place{Doc: doc, Path: []any{"tests"}}
	for _, p := range append(tests.List(), tests) {
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
