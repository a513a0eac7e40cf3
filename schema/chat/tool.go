package chat

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/template"
)

// A writtenTool has the form of one of the APIs: Chat Completions nest it in function,
// the others do not, and Anthropic calls its parameters input_schema.
type writtenTool struct {
	Type        string          `json:"type"`
	Function    *writtenTool    `json:"function"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// ReadTool reads a tool in the form of any of the APIs, and one that its vendor runs as it
// is. The error is a [*template.NeedError].
func ReadTool(raw json.RawMessage) (schema.Tool, error) {
	var w writtenTool
	if json.Unmarshal(raw, &w) != nil {
		return schema.Tool{}, &template.NeedError{What: "tools that are objects with a name"}
	}
	kind := w.Type
	if w.Function != nil {
		w = *w.Function
	}
	isFunction := slices.Contains([]string{"", "function", "custom"}, kind)
	if !isFunction || w.Name == "" && kind == "" && len(w.Parameters)+len(w.InputSchema) == 0 {
		return hosted(kind, raw)
	}
	if w.Name == "" {
		return schema.Tool{}, &template.NeedError{What: "tools that are objects with a name"}
	}
	tool := schema.Tool{Name: w.Name, Description: w.Description}
	if w.Parameters == nil {
		w.Parameters = w.InputSchema
	}
	if len(w.Parameters) > 0 && string(w.Parameters) != "null" {
		parameters, err := schema.Canonical(w.Parameters)
		if err != nil {
			return tool, &template.NeedError{What: "parameters of the tool " + template.Clip(w.Name) + " that are JSON"}
		}
		tool.Parameters = parameters
	}
	return tool, nil
}

// hosted reads a tool that its vendor runs, by its type or, without one, by its fields, such
// as googleSearch.
func hosted(kind string, raw json.RawMessage) (schema.Tool, error) {
	var fields map[string]json.RawMessage
	whole, err := schema.Canonical(raw)
	if err != nil || json.Unmarshal(raw, &fields) != nil || len(fields) == 0 {
		return schema.Tool{}, &template.NeedError{What: "tools that are objects with a name"}
	}
	return schema.Tool{Name: cmp.Or(kind, strings.Join(slices.Sorted(maps.Keys(fields)), " ")), Hosted: whole}, nil
}
