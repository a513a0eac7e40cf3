package evaluate

import (
	"maps"
	"slices"
)

// kind, oneOf, object and list write JSON Schemas of replies. Providers with a strict
// mode want every field required and no other allowed.
func kind(name string) map[string]any { return map[string]any{"type": name} }

func oneOf(words []string) map[string]any { return map[string]any{"type": "string", "enum": words} }

func object(fields map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "properties": fields,
		"required": slices.Sorted(maps.Keys(fields)), "additionalProperties": false,
	}
}

func list(fields map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": object(fields)}
}
