// Package oldnames reads JSON that was stored when some of its fields had other
// names.
//
// Callers say with [Rules] which fields were renamed, and [Rename] returns the
// document as it would be written today.
package oldnames

import (
	"bytes"
	"encoding/json"
	"maps"
)

// Up is the new name of an object that no longer exists: its fields are those of
// the object around it.
const Up = "^"

// Rules are the new names of fields by their old ones, by the path of the object
// that has them. A path is made of old names joined by dots; lists do not count,
// and the path of the document is empty.
type Rules map[string]map[string]string

// Nested returns the rules for documents that contain one of these at a path.
func (r Rules) Nested(path string) Rules {
	out := Rules{}
	for at, names := range r {
		out[join(path, at)] = names
	}
	return out
}

// With returns the rules of both, which must not share a path.
func (r Rules) With(other Rules) Rules {
	out := maps.Clone(r)
	maps.Copy(out, other)
	return out
}

// Rename returns a document with its new names. The error is that of a document
// that is not JSON.
func Rename(document []byte, rules Rules) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(rules.rename(v, ""))
}

func (r Rules) rename(v any, path string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = r.rename(v[i], path)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			value = r.rename(value, join(path, name))
			to, renamed := r[path][name]
			inner, isObject := value.(map[string]any)
			switch {
			case !renamed:
				out[name] = value
			case to == Up && isObject:
				maps.Copy(out, inner)
			case to != Up:
				out[to] = value
			}
		}
		return out
	}
	return v
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
