package document

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/schema"
)

// Decode fills v, a pointer to a struct with json tags, from the document. It is meant
// for documents that passed Check; a value that does not fit is an error.
func (d *Document) Decode(v any) error {
	if err := json.Unmarshal(d.JSON(), v); err != nil {
		return fmt.Errorf("decode %s: %w", d.File, err)
	}
	return nil
}

// JSON returns the value at the path in canonical form, or nil if there is none.
// A step is a field name (string) or an index (int).
func (d *Document) JSON(path ...any) json.RawMessage {
	written := d.Written(path...)
	if written == nil {
		return nil
	}
	raw, err := schema.Canonical(written)
	if err != nil {
		return written
	}
	return raw
}

// Written returns the value at the path as JSON, with the keys in the order of the file and
// the numbers as they are written, or nil if it is missing.
func (d *Document) Written(path ...any) json.RawMessage {
	n := d.find(path)
	if n == nil {
		return nil
	}
	var buf bytes.Buffer
	n.write(&buf)
	return buf.Bytes()
}

// Has reports whether there is a value other than null at the path.
func (d *Document) Has(path ...any) bool {
	n := d.find(path)
	return n != nil && n.kind != nullNode
}

// Text returns the string at the path, or "".
func (d *Document) Text(path ...any) string {
	n := d.find(path)
	if n == nil || n.kind != stringNode {
		return ""
	}
	var s string
	if json.Unmarshal([]byte(n.scalar), &s) != nil {
		return ""
	}
	return s
}

// Keys returns the names of the fields at the path, in the file's order, without a
// $schema at the top of the file.
func (d *Document) Keys(path ...any) []string {
	n := d.find(path)
	if n == nil {
		return nil
	}
	var names []string
	for _, f := range n.fields {
		if n != d.root || !d.isSchemaKey(f) {
			names = append(names, f.name)
		}
	}
	return names
}

// At returns the place of the value at the path; of its key if the last step
// is a field. If the path ends early, it is the position of the nearest value.
func (d *Document) At(path ...any) schema.Position {
	n, pos := d.root, d.root.pos
	for _, step := range path {
		switch s := step.(type) {
		case string:
			f := d.field(n, s)
			if f == nil {
				return pos
			}
			n, pos = f.value, f.pos
		case int:
			if s < 0 || s >= len(n.items) {
				return pos
			}
			n, pos = n.items[s], n.items[s].pos
		}
	}
	return pos
}

// Problem makes an error at the place of a path.
func (d *Document) Problem(rule, message, hint string, path ...any) schema.Problem {
	return errorAt(d.At(path...), rule, message, hint)
}

// field returns a field of an object; nil for none.
func (d *Document) field(n *node, name string) *field {
	if indexes := d.large[n]; indexes != nil {
		if i, has := indexes[name]; has {
			return &n.fields[i]
		}
		return nil
	}
	for i := range n.fields {
		if n.fields[i].name == name {
			return &n.fields[i]
		}
	}
	return nil
}

func (d *Document) find(path []any) *node {
	n := d.root
	for _, step := range path {
		switch s := step.(type) {
		case string:
			f := d.field(n, s)
			if f == nil {
				return nil
			}
			n = f.value
		case int:
			if s < 0 || s >= len(n.items) {
				return nil
			}
			n = n.items[s]
		}
	}
	return n
}

func (n *node) write(buf *bytes.Buffer) {
	switch n.kind {
	case objectNode:
		buf.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				buf.WriteByte(',')
			}
			name, err := json.Marshal(f.name)
			if err != nil {
				name = []byte(`""`)
			}
			buf.Write(name)
			buf.WriteByte(':')
			f.value.write(buf)
		}
		buf.WriteByte('}')
	case listNode:
		buf.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				buf.WriteByte(',')
			}
			item.write(buf)
		}
		buf.WriteByte(']')
	default:
		buf.WriteString(n.scalar)
	}
}
