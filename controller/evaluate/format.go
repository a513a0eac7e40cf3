package evaluate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// The functions below write JSON Schemas of replies. Providers with a strict mode
// want every field required and no other allowed.

// typeSchema is a value of a JSON type.
func typeSchema(name string) map[string]any { return map[string]any{"type": name} }

// enumSchema is one of some words.
func enumSchema(words []string) map[string]any {
	return map[string]any{"type": "string", "enum": words}
}

// objectSchema has these fields and no other.
func objectSchema(fields map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "properties": fields,
		"required": slices.Sorted(maps.Keys(fields)), "additionalProperties": false,
	}
}

// listSchema has objects of these fields.
func listSchema(fields map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": objectSchema(fields)}
}

// compactJSON is a value as JSON, which has no line break of its own.
func compactJSON(v any) string {
	raw, err := json.Marshal(v)
	if err == nil {
		raw, err = schema.Canonical(raw)
	}
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v)) // a schema that is not JSON
	}
	return string(raw)
}
