package evalcase

import (
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// trajectoryArguments returns the arguments of a step with one of some names, as
// canonical JSON, nil if none is compared; and the names of arguments with any value.
func trajectoryArguments(item document.Place, names []string) (json.RawMessage, []string) {
	if !item.IsObject("args") {
		return nil, nil
	}
	var anyValue []string
	compared := map[string]json.RawMessage{}
	for _, key := range item.Keys("args") {
		if !slices.Contains(names, key) {
			continue
		}
		if item.Text("args", key) == "any" {
			anyValue = append(anyValue, key)
			continue
		}
		compared[key] = item.JSON("args", key)
	}
	slices.Sort(anyValue)
	raw, err := json.Marshal(compared)
	if err != nil || len(compared) == 0 {
		return nil, anyValue
	}
	if canonical, err := schema.Canonical(raw); err == nil {
		raw = canonical
	}
	return raw, anyValue
}
