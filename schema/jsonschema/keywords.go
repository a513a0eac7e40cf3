package jsonschema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// An UnknownError reports a name in a schema that JSON Schema does not have.
type UnknownError struct {
	// At is the position of the name, such as $.properties.id; its kind is "keyword",
	// "type" or "$ref".
	At, What string
	Name     string
	// Known are the names that it might be.
	Known []string
}

// Error names the place and the name.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s: unknown %s %q", e.At, e.What, e.Name)
}

// A holder is the kind of a keyword's value.
type holder int

const (
	data       holder = iota // no schema
	one                      // a schema
	several                  // a list of schemas
	named                    // an object of schemas
	oneOrMore                // a schema or a list of schemas
	dependents               // an object of schemas and of lists of names
)

// The drafts that $schema may name, without scheme and empty fragment.
const (
	draft2020 = "json-schema.org/draft/2020-12/schema"
	draft7    = "json-schema.org/draft-07/schema"
)

// common are the keywords of both drafts.
var common = map[string]holder{
	"$schema": data, "$ref": data, "$comment": data, "$defs": named, "definitions": named,
	"type": data, "enum": data, "const": data, "format": data,
	"multipleOf": data, "maximum": data, "exclusiveMaximum": data, "minimum": data, "exclusiveMinimum": data,
	"maxLength": data, "minLength": data, "pattern": data,
	"maxItems": data, "minItems": data, "uniqueItems": data, "contains": one,
	"maxProperties": data, "minProperties": data, "required": data,
	"properties": named, "patternProperties": named, "additionalProperties": one, "propertyNames": one,
	"allOf": several, "anyOf": several, "oneOf": several, "not": one, "if": one, "then": one, "else": one,
	"title": data, "description": data, "default": data, "examples": data, "readOnly": data, "writeOnly": data,
	"contentEncoding": data, "contentMediaType": data,
}

// drafts maps drafts to their keywords.
var drafts = map[string]map[string]holder{
	draft2020: addHolders(map[string]holder{
		"$anchor": data, "deprecated": data, "minContains": data, "maxContains": data, "dependentRequired": data,
		"items": one, "prefixItems": several, "dependentSchemas": named, "contentSchema": one,
		"unevaluatedItems": one, "unevaluatedProperties": one,
	}),
	draft7: addHolders(map[string]holder{"items": oneOrMore, "additionalItems": one, "dependencies": dependents}),
}

func addHolders(further map[string]holder) map[string]holder {
	all := maps.Clone(common)
	maps.Copy(all, further)
	return all
}

// types are the names of type.
var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// A keywordChecker walks the subschemas of a schema.
type keywordChecker struct {
	keywords map[string]holder
	// found has the positions of all subschemas, in the form of $ref.
	found map[string]bool
	// refs are the referenced positions, with the positions of the references.
	refs []*UnknownError
}

// checkKeywords rejects parts without an effect, and references to anything but a
// subschema. It removes the $id of the whole schema, which is only its external name.
func checkKeywords(doc any) error {
	root, ok := doc.(map[string]any)
	if !ok {
		return nil // a boolean; the library refuses anything else
	}
	keywords := drafts[draft2020]
	if said, ok := root["$schema"].(string); ok {
		_, address, _ := strings.Cut(said, "://")
		if keywords = drafts[strings.TrimSuffix(address, "#")]; keywords == nil {
			return fmt.Errorf("$.$schema: %q is not known; write https://%s, or remove it", said, draft2020)
		}
	}
	delete(root, "$id")
	c := keywordChecker{keywords: keywords, found: map[string]bool{}}
	if err := c.schema(root, spot{"$", "#"}); err != nil {
		return err
	}
	for _, ref := range c.refs {
		if !c.found[ref.Name] {
			ref.Known = slices.Sorted(maps.Keys(c.found))
			return ref
		}
	}
	return nil
}

// A spot is a place in a schema, as people and as $ref name it.
type spot struct{ at, ref string }

func (s spot) field(name string) spot {
	return spot{s.at + "." + name, s.ref + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)}
}

func (s spot) item(i int) spot {
	return spot{fmt.Sprintf("%s[%d]", s.at, i), fmt.Sprintf("%s/%d", s.ref, i)}
}

// schema checks a subschema.
func (c *keywordChecker) schema(value any, here spot) error {
	c.found[here.ref] = true
	if len(c.found) > maxSchemas {
		return fmt.Errorf("a schema has more than %d subschemas", maxSchemas)
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, known := c.keywords[name]; !known {
			return &UnknownError{At: here.at, What: "keyword", Name: name, Known: slices.Sorted(maps.Keys(c.keywords))}
		}
		if err := c.keyword(name, fields[name], here); err != nil {
			return err
		}
	}
	return nil
}

func (c *keywordChecker) keyword(name string, value any, here spot) error {
	switch name {
	case "type":
		return checkTypes(value, here.at)
	case "$ref":
		return c.reference(value, here.at)
	case "$anchor":
		c.found["#"+fmt.Sprint(value)] = true
	}
	kind, there := c.keywords[name], here.field(name)
	switch x := value.(type) {
	case []any:
		if kind == several || kind == oneOrMore {
			return c.list(x, there)
		}
	case map[string]any:
		if kind == named || kind == dependents {
			return c.object(x, there)
		}
	}
	if kind == one || kind == oneOrMore {
		return c.schema(value, there)
	}
	return nil // data, or refused by the library
}

func (c *keywordChecker) list(schemas []any, here spot) error {
	for i, inner := range schemas {
		if err := c.schema(inner, here.item(i)); err != nil {
			return err
		}
	}
	return nil
}

// object checks schemas by name. A list is the names of a dependency.
func (c *keywordChecker) object(schemas map[string]any, here spot) error {
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if err := c.schema(schemas[name], here.field(name)); err != nil {
			return err
		}
	}
	return nil
}

func checkTypes(value any, at string) error {
	list, several := value.([]any)
	if !several {
		list = []any{value}
	}
	for _, item := range list {
		if name, ok := item.(string); ok && !slices.Contains(types, name) {
			return &UnknownError{At: at, What: "type", Name: name, Known: types}
		}
	}
	return nil
}

// reference records a reference. It must point to a part of the schema.
func (c *keywordChecker) reference(value any, at string) error {
	ref, ok := value.(string)
	if !ok {
		return nil // refused by the library
	}
	place, err := url.PathUnescape(ref)
	if err != nil || !strings.HasPrefix(ref, "#") {
		return fmt.Errorf("%s: $ref %q is not part of the schema; write the other schema under $defs and refer to #/$defs/NAME", at, ref)
	}
	c.refs = append(c.refs, &UnknownError{At: at, What: "$ref", Name: place})
	return nil
}
