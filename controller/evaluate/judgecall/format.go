package judgecall

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// The functions below write JSON Schemas of replies. Providers with a strict mode
// want every field required and no other allowed.

// TypeSchema is a value of a JSON type.
func TypeSchema(name string) map[string]any { return map[string]any{"type": name} }

// EnumSchema is one of some words.
func EnumSchema(words []string) map[string]any {
	return map[string]any{"type": "string", "enum": words}
}

// ObjectSchema has these fields and no other.
func ObjectSchema(fields map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "properties": fields,
		"required": slices.Sorted(maps.Keys(fields)), "additionalProperties": false,
	}
}

// ListSchema has objects of these fields.
func ListSchema(fields map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": ObjectSchema(fields)}
}

// CompactJSON is a value as JSON, which has no line break of its own.
func CompactJSON(v any) string {
	raw, err := json.Marshal(v)
	if err == nil {
		raw, err = schema.Canonical(raw)
	}
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v)) // a schema that is not JSON
	}
	return string(raw)
}
