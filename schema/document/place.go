package document

import (
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// A Place is a value of a document with its path, so that problems about it have a
// position. The place of no document is empty.
type Place struct {
	Doc  *Document
	Path []any
}

// Way returns the path of a value below the place.
func (p Place) Way(path []any) []any { return append(slices.Clip(p.Path), path...) }

// Sub is the place at a path below.
func (p Place) Sub(path ...any) Place { return Place{p.Doc, p.Way(path)} }

// At is the position at the path.
func (p Place) At(path ...any) schema.Position { return p.Doc.At(p.Way(path)...) }

// Has reports whether there is a value that is not null.
func (p Place) Has(path ...any) bool { return p.Doc != nil && p.Doc.Has(p.Way(path)...) }

// Text returns the string at the path, or an empty one.
func (p Place) Text(path ...any) string {
	if p.Doc == nil {
		return ""
	}
	return p.Doc.Text(p.Way(path)...)
}

// IsText reports whether there is a string, which may be empty.
func (p Place) IsText(path ...any) bool { return p.Doc != nil && p.Doc.IsText(p.Way(path)...) }

// JSON returns the value at the path, or nil.
func (p Place) JSON(path ...any) json.RawMessage {
	if p.Doc == nil {
		return nil
	}
	return p.Doc.JSON(p.Way(path)...)
}

// Number returns the number at the path, or 0.
func (p Place) Number(path ...any) float64 {
	var x float64
	if json.Unmarshal(p.JSON(path...), &x) != nil {
		return 0
	}
	return x
}

// Truth returns the boolean at the path, or false.
func (p Place) Truth(path ...any) bool { return string(p.JSON(path...)) == "true" }

// List returns the items of the list at the path.
func (p Place) List(path ...any) []Place {
	if p.Doc == nil {
		return nil
	}
	items := make([]Place, p.Doc.Items(p.Way(path)...))
	for i := range items {
		items[i] = p.Sub(append(slices.Clip(path), i)...)
	}
	return items
}

// IsList reports whether there is a list.
func (p Place) IsList(path ...any) bool { return p.Doc != nil && p.Doc.IsList(p.Way(path)...) }

// IsObject reports whether there is an object.
func (p Place) IsObject(path ...any) bool { return p.Doc != nil && p.Doc.IsObject(p.Way(path)...) }

// Keys returns the keys of the object at the path, in the file's order.
func (p Place) Keys(path ...any) []string { return p.Doc.Keys(p.Way(path)...) }

// Strings returns the list of strings at the path, or the one string as a list.
func (p Place) Strings(path ...any) []string {
	if p.IsText(path...) {
		return []string{p.Text(path...)}
	}
	var out []string
	for _, item := range p.List(path...) {
		out = append(out, item.Text())
	}
	return out
}

// Check compares the value at the path, if any, with a definition.
func (p Place) Check(def string, extra schema.Severity, path ...any) []schema.Problem {
	if !p.Has(path...) {
		return nil
	}
	return p.Doc.CheckPart(def, extra, p.Way(path)...)
}

// Problem is an error at the path.
func (p Place) Problem(rule, message, hint string, path ...any) schema.Problem {
	return p.Doc.Problem(rule, message, hint, p.Way(path)...)
}

// Decode fills v from the value, which was checked before.
func (p Place) Decode(v any) error { return json.Unmarshal(p.JSON(), v) }

// Piece returns the value as a part of another document, or a missing one.
func (p Place) Piece(path ...any) Piece {
	if p.Doc == nil {
		return Piece{}
	}
	return p.Doc.Piece(p.Way(path)...)
}
