// Package judgetest plays judges for tests.
package judgetest

import (
	"maps"
	"slices"
)

// Fitting returns a value that fits a JSON Schema as judges are given it: the best
// or the worst that there is. The best score is a number that the schema does not say.
func Fitting(form map[string]any, good bool, best float64) any {
	if words, ok := form["enum"].([]any); ok {
		return words[0]
	}
	kind := form["type"]
	if kinds, ok := kind.([]any); ok {
		kind = kinds[0]
	}
	switch kind {
	case "object":
		fields, _ := form["properties"].(map[string]any)
		out := map[string]any{}
		for name, field := range fields {
			inner, _ := field.(map[string]any)
			out[name] = Fitting(inner, good, best)
		}
		return out
	case "array":
		return fittingList(form, good, best)
	case "boolean":
		return good
	case "integer":
		return 1
	case "number":
		if good {
			return best
		}
		return 0
	}
	return "so"
}

// fittingList has an item for each of the words that items are told apart by.
func fittingList(form map[string]any, good bool, best float64) []any {
	item, _ := form["items"].(map[string]any)
	fields, _ := item["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, _ := fields[name].(map[string]any)
		words, _ := field["enum"].([]any)
		if words == nil {
			continue
		}
		var out []any
		for _, word := range words {
			one, _ := Fitting(item, good, best).(map[string]any)
			one[name] = word
			out = append(out, one)
		}
		return out
	}
	return []any{Fitting(item, good, best)}
}
