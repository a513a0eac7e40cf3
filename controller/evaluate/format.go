package evaluate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// The functions below build JSON Schemas of replies. Providers with a strict mode
// require every field and forbid others.

// typeSchema allows values of a JSON type.
func typeSchema(name string) map[string]any { return map[string]any{"type": name} }

// enumSchema allows the given words.
func enumSchema(words []string) map[string]any {
	return map[string]any{"type": "string", "enum": words}
}

// objectSchema allows objects with exactly these fields.
func objectSchema(fields map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "properties": fields,
		"required": slices.Sorted(maps.Keys(fields)), "additionalProperties": false,
	}
}

// listSchema allows lists of objects with these fields.
func listSchema(fields map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": objectSchema(fields)}
}

// compactJSON encodes a value as JSON on one line.
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
