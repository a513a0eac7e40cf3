package shape

import (
	"slices"
	"strings"
)

// JSON is an object of it.
type JSON = map[string]any

// A Writer writes definitions as JSON Schema (draft 2020-12), which can express
// everything in a Shape.
type Writer struct {
	// Shape returns a definition's shape, such as #Test's; Definitions are all
	// definitions.
	Shape       func(def string) *Shape
	Definitions []string
	// Closed are the definitions in which an unknown field is refused.
	Closed []string
	// Inner are fields that the CUE schema leaves free, such as #Suite.cases, since
	// their content is checked piece by piece: by the field's definition, or, in
	// brackets, by the definition of the list's items.
	Inner map[string]string
	// Typed is a definition that represents the definitions of certain types, each of
	// which is checked alone; empty for none.
	Typed string

	defs JSON
}

// Defs returns the referenced definitions.
func (w *Writer) Defs() JSON { return w.defs }

// Ref refers to a definition, which is written once.
func (w *Writer) Ref(def string) JSON {
	name := strings.TrimPrefix(def, "#")
	ref := JSON{"$ref": "#/$defs/" + name}
	if w.defs == nil {
		w.defs = JSON{}
	}
	if w.defs[name] != nil {
		return ref
	}
	w.defs[name] = true // for recursive references
	out := value(w.Shape(def), slices.Contains(w.Closed, def))
	properties, _ := out["properties"].(JSON)
	for field, what := range properties {
		item, isList := strings.CutPrefix(w.Inner[def+"."+field], "[")
		switch value, _ := what.(JSON); {
		case isList:
			value["items"] = w.Ref(strings.TrimSuffix(item, "]"))
		case item != "":
			properties[field] = JSON{"anyOf": []JSON{w.Ref(item), {"type": "null"}}, "description": value["description"]}
		}
	}
	if def == w.Typed {
		out = JSON{"type": "object", "required": []string{"type"}, "properties": JSON{"type": properties["type"]}, "allOf": w.variants()}
	}
	w.defs[name] = out
	return ref
}

// variants returns the definitions of the types.
func (w *Writer) variants() []JSON {
	types := w.Shape(w.Typed).Fields["type"].Enum
	var out []JSON
	for _, def := range w.Definitions {
		kind := w.Shape(def).Fields["type"]
		if kind == nil || len(kind.Enum) != 1 || !slices.Contains(types, kind.Enum[0]) {
			continue
		}
		out = append(out, JSON{"if": JSON{"properties": JSON{"type": JSON{"const": kind.Enum[0]}}}, "then": w.Ref(def)})
	}
	return out
}

// value writes a shape. A keyword of JSON Schema about one kind of value does
// not bind others, so that they can all be in one document.
func value(s *Shape, isClosed bool) JSON {
	out := JSON{}
	var types []string
	for _, k := range s.Kinds {
		types = append(types, typeName(s, k))
	}
	switch len(types) {
	case 0, len(typeNames): // anything
	case 1:
		out["type"] = types[0]
	default:
		out["type"] = types
	}
	if len(s.Enum) > 0 {
		words := []any{}
		for _, w := range s.Enum {
			words = append(words, w)
		}
		isWord := func(name string) bool { return name == "string" || name == "null" }
		if slices.Contains(types, "null") {
			words = append(words, nil)
		}
		if rest := slices.DeleteFunc(types, isWord); len(rest) == 0 {
			out["enum"] = words
		} else {
			out["anyOf"] = []JSON{{"enum": words}, {"type": rest}}
		}
		delete(out, "type")
	}
	for _, b := range s.Bounds {
		out[boundNames[b.Op]] = b.Limit
	}
	for _, b := range s.Runes {
		out[map[string]string{AtLeast: "minLength", AtMost: "maxLength"}[b.Op]] = b.Limit
	}
	if s.Least > 0 {
		out["minItems"] = s.Least
	}
	if s.Elem != nil {
		out["items"] = value(s.Elem, isClosed)
	}
	if s.Fields != nil {
		fields(out, s, isClosed)
	}
	return out
}

func fields(out JSON, s *Shape, isClosed bool) {
	properties := JSON{}
	for _, name := range s.Names {
		p := value(s.Fields[name], isClosed)
		if text := s.Fields[name].Comment; text != "" {
			p["description"] = text
		}
		properties[name] = p
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(s.Must) > 0 {
		out["required"] = s.Must
	}
	switch {
	case s.Rest != nil && len(s.Rest.Kinds) < len(typeNames):
		out["additionalProperties"] = value(s.Rest, isClosed)
	case isClosed && !s.Open:
		out["additionalProperties"] = false
	}
}

var (
	typeNames = map[Kind]string{
		String: "string", Number: "number", Bool: "boolean",
		List: "array", Object: "object", Null: "null",
	}
	boundNames = map[string]string{AtLeast: "minimum", MoreThan: "exclusiveMinimum", AtMost: "maximum", LessThan: "exclusiveMaximum"}
)

func typeName(s *Shape, k Kind) string {
	if k == Number && s.Whole {
		return "integer"
	}
	return typeNames[k]
}
