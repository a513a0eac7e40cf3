package testcase

import (
	"encoding/json"
	"io/fs"
	"maps"
	"sync"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// A Reader reads definitions, the file of each once. Most callers want [NewReader]. It is
// safe for concurrent use.
type Reader struct {
	files fs.FS
	*contents
}

// contents cache the contents of files.
type contents struct {
	mu    sync.Mutex
	known map[string]content // guarded by mu; by path
}

// A content is the content of a file: one case, or a list.
type content struct {
	one    map[string]json.RawMessage
	list   []map[string]json.RawMessage
	isList bool
	// items are the cases of the list by field and text, the first of each.
	items map[item]map[string]json.RawMessage
}

// An item is how a case of a list is found: by its id, or else by its name.
type item struct{ field, text string }

// NewReader reads from files, which stay as they are.
func NewReader(files fs.FS) *Reader { return &Reader{files, &contents{known: map[string]content{}}} }

// ForFiles returns a reader of the same files, opened again. Both share their results.
func (r *Reader) ForFiles(files fs.FS) *Reader { return &Reader{files, r.contents} }

// Definition returns the fields of a case of this format in its file, by name. It is
// empty if the file no longer has the case.
func Definition(files fs.FS, c *schema.CaseInfo) map[string]json.RawMessage {
	return NewReader(files).Definition(c)
}

// Definition is as the function of this name. The caller owns the map.
func (r *Reader) Definition(c *schema.CaseInfo) map[string]json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.known[c.Origin.File]
	if !ok {
		found = contentOf(r.files, c.Origin.File)
		found.items = itemsOf(found.list)
		r.known[c.Origin.File] = found
	}
	if !found.isList {
		return maps.Clone(found.one)
	}
	at := item{"name", c.Labels.Name}
	if c.Labels.ID != "" {
		at = item{"id", c.Labels.ID}
	}
	if fields := found.items[at]; fields != nil {
		return maps.Clone(fields)
	}
	return map[string]json.RawMessage{}
}

// contentOf reads a file. One that cannot be read has no fields.
func contentOf(files fs.FS, file string) content {
	doc, _ := document.Open(files, file)
	if doc == nil {
		return content{one: map[string]json.RawMessage{}}
	}
	out := content{isList: doc.IsList()}
	if out.isList {
		_ = json.Unmarshal(doc.JSON(), &out.list) // other content is not the case
		return out
	}
	_ = json.Unmarshal(doc.JSON(), &out.one)
	for _, envelope := range []string{"test_cases", "testcases"} {
		if json.Unmarshal(out.one[envelope], &out.list) == nil && len(out.list) > 0 {
			out.isList = true
			return out
		}
	}
	return out
}

// itemsOf are the cases of a list by their names and ids.
func itemsOf(list []map[string]json.RawMessage) map[item]map[string]json.RawMessage {
	out := make(map[item]map[string]json.RawMessage, len(list))
	for _, fields := range list {
		for _, field := range []string{"name", "id"} {
			var text string
			if json.Unmarshal(fields[field], &text) != nil {
				continue
			}
			if at := (item{field, text}); out[at] == nil {
				out[at] = fields
			}
		}
	}
	return out
}
