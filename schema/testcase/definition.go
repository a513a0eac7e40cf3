package testcase

import (
	"encoding/json"
	"io/fs"
	"maps"

	"github.com/gavel-evals/gavel/schema"
)

// A Reader reads definitions, the file of each once. Most callers want [NewReader]. It is
// for one goroutine.
type Reader struct {
	files fs.FS
	known map[string]content
}

// A content is what a file has: one case, or a list.
type content struct {
	one    map[string]json.RawMessage
	list   []map[string]json.RawMessage
	isList bool
}

// NewReader reads from files, which stay as they are.
func NewReader(files fs.FS) *Reader { return &Reader{files, map[string]content{}} }

// Definition returns the fields of a case of this format as its file has them, by
// name. It is empty where the file does not have the case any more.
func Definition(files fs.FS, c *schema.CaseInfo) map[string]json.RawMessage {
	return NewReader(files).Definition(c)
}

// Definition is as the function of this name. The caller owns the map.
func (r *Reader) Definition(c *schema.CaseInfo) map[string]json.RawMessage {
	found, ok := r.known[c.Origin.File]
	if !ok {
		found = contentOf(r.files, c.Origin.File)
		r.known[c.Origin.File] = found
	}
	if found.isList {
		return maps.Clone(itemOf(found.list, c))
	}
	return maps.Clone(found.one)
}

// contentOf reads a file. One that cannot be read has no fields.
func contentOf(files fs.FS, file string) content {
	doc, _ := schema.Open(files, file)
	if doc == nil {
		return content{one: map[string]json.RawMessage{}}
	}
	out := content{isList: doc.IsList()}
	if out.isList {
		_ = json.Unmarshal(doc.JSON(), &out.list) // what does not fit is not the case
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

// itemOf is the item of a list that a case is made from.
func itemOf(list []map[string]json.RawMessage, c *schema.CaseInfo) map[string]json.RawMessage {
	for _, fields := range list {
		field, want := "name", c.Labels.Name
		if c.Labels.ID != "" {
			field, want = "id", c.Labels.ID
		}
		var text string
		if json.Unmarshal(fields[field], &text) == nil && text == want {
			return fields
		}
	}
	return map[string]json.RawMessage{}
}
