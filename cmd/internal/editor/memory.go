package editor

import (
	"encoding/json"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// A definitionFile has the content of a file of definitions.
type definitionFile struct {
	// List has the fields of each definition.
	List []definition.Fields
	// IDs are their ids; empty for a definition without one.
	IDs []string
	// Several reports whether the file is a list.
	Several bool
	// Version changes with the file.
	Version string
	// Problem says why the file is unreadable. List then has one definition without fields.
	Problem string

	unread error // of reading the file
}

// readDefinitionFile reads a file.
func readDefinitionFile(fsys fs.FS, file string) definitionFile {
	out := readFields(fsys, file)
	for _, fields := range out.List {
		out.IDs = append(out.IDs, definition.TextOf(fields["id"]))
	}
	return out
}

// readFields is [readDefinitionFile] without the ids.
func readFields(fsys fs.FS, file string) definitionFile {
	out := definitionFile{List: []definition.Fields{nil}}
	data, err := schema.ReadFile(fsys, file, 0)
	if err != nil {
		out.Problem, out.unread = err.Error(), err
		return out
	}
	out.Version = contentVersion(data)
	doc, problems := document.Parse(file, data)
	switch {
	case doc == nil || schema.HasErrors(problems):
		out.Problem = "the file cannot be read; gavel validate says why"
	case doc.IsList():
		var list []definition.Fields
		if out.Several = true; json.Unmarshal(doc.Written(), &list) != nil {
			out.Problem = "the file is not a list of objects"
		}
		out.List = list
	case json.Unmarshal(doc.Written(), &out.List[0]) != nil:
		out.Problem = "the file is not an object"
	}
	return out
}

// A fileMark distinguishes states of a file by the hash in git or by the file system's
// metadata.
type fileMark struct {
	hash string
	info fs.FileInfo
}

// settledAfter is how long a file has to be unchanged before it is remembered, since two
// changes within one tick of a file system's clock look like one.
const settledAfter = 2 * time.Second

// markOf returns the current mark of a file. ok is false if the mark might miss another
// change.
func (m *memory) markOf(fsys fs.FS, file string, entry fs.DirEntry) (now fileMark, ok bool) {
	info, err := entry.Info()
	if err != nil {
		return fileMark{}, false
	}
	if at := info.ModTime(); !at.IsZero() {
		return fileMark{info: info}, m.now().Sub(at) > settledAfter
	}
	hashes, has := fsys.(interface{ Hash(string) (string, error) })
	if !has {
		return fileMark{}, false
	}
	hash, err := hashes.Hash(file)
	return fileMark{hash: hash}, err == nil && hash != ""
}

// equal reports whether two marks belong to the same state.
func (a fileMark) equal(b fileMark) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil && a.hash == b.hash
	}
	return os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() && a.info.Mode() == b.info.Mode() && a.info.ModTime().Equal(b.info.ModTime())
}

// mostRemembered bounds the files of a memory.
const mostRemembered = 200_000

// A memory remembers the content of files. It is safe for concurrent use.
type memory struct {
	now func() time.Time

	mu    sync.Mutex
	files map[string]cachedFile // guarded by mu; by path
}

type cachedFile struct {
	mark fileMark
	file definitionFile
}

// newMemory returns an empty memory; now is the clock.
func newMemory(now func() time.Time) *memory {
	return &memory{now: now, files: map[string]cachedFile{}}
}

// read reads a file of a folder's list, or returns the remembered content if the file is
// unchanged. The caller does not change the fields.
func (m *memory) read(fsys fs.FS, file string, entry fs.DirEntry) definitionFile {
	now, ok := m.markOf(fsys, file, entry)
	m.mu.Lock()
	old, known := m.files[file]
	m.mu.Unlock()
	if ok && known && old.mark.equal(now) {
		return old.file
	}
	out := readDefinitionFile(fsys, file)
	if !ok || out.unread != nil {
		return out
	}
	if after, still := m.markOf(fsys, file, entry); !still || !after.equal(now) {
		return out // the file was changed while it was read
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.files) >= mostRemembered {
		clear(m.files)
	}
	m.files[file] = cachedFile{now, out}
	return out
}
