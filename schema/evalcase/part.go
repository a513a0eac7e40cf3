package evalcase

import (
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// A part is a value of a document with the way to it, so that what is said of
// it has its place. The part of no document has nothing in it.
type part struct {
	doc  *schema.Document
	path []any
}

func (p part) way(path []any) []any { return append(slices.Clip(p.path), path...) }

func (p part) sub(path ...any) part { return part{p.doc, p.way(path)} }

func (p part) at(path ...any) schema.Position { return p.doc.At(p.way(path)...) }

func (p part) has(path ...any) bool { return p.doc != nil && p.doc.Has(p.way(path)...) }

func (p part) text(path ...any) string {
	if p.doc == nil {
		return ""
	}
	return p.doc.Text(p.way(path)...)
}

// isText reports whether there is a string, which may be empty.
func (p part) isText(path ...any) bool {
	raw := p.json(path...)
	return len(raw) > 0 && raw[0] == '"'
}

func (p part) json(path ...any) json.RawMessage {
	if p.doc == nil {
		return nil
	}
	return p.doc.JSON(p.way(path)...)
}

// number returns the number at the path, or 0.
func (p part) number(path ...any) float64 {
	var x float64
	if json.Unmarshal(p.json(path...), &x) != nil {
		return 0
	}
	return x
}

// truth returns the boolean at the path, or false.
func (p part) truth(path ...any) bool { return string(p.json(path...)) == "true" }

// list returns the items of the list at the path.
func (p part) list(path ...any) []part {
	if p.doc == nil {
		return nil
	}
	items := make([]part, p.doc.Items(p.way(path)...))
	for i := range items {
		items[i] = p.sub(append(slices.Clip(path), i)...)
	}
	return items
}

func (p part) isList(path ...any) bool { return p.doc != nil && p.doc.IsList(p.way(path)...) }

func (p part) isObject(path ...any) bool { return p.doc != nil && p.doc.IsObject(p.way(path)...) }

func (p part) keys(path ...any) []string { return p.doc.Keys(p.way(path)...) }

// strings returns the list of strings at the path, or the one string as a list.
func (p part) strings(path ...any) []string {
	if p.isText(path...) {
		return []string{p.text(path...)}
	}
	var out []string
	for _, item := range p.list(path...) {
		out = append(out, item.text())
	}
	return out
}

// check compares the value at the path, where there is one, with a definition.
func (p part) check(def string, extra schema.Severity, path ...any) []schema.Problem {
	if !p.has(path...) {
		return nil
	}
	return p.doc.CheckPart(def, extra, p.way(path)...)
}

func (p part) problem(rule, message, hint string, path ...any) schema.Problem {
	return p.doc.Problem(rule, message, hint, p.way(path)...)
}

// decode fills v from the part, which was checked before.
func (p part) decode(v any) error { return json.Unmarshal(p.json(), v) }
