package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
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

// ReadTool reads a tool in the form of any of the APIs. The error is a [*template.NeedError].
func ReadTool(raw json.RawMessage) (schema.Tool, error) {
	var w writtenTool
	if json.Unmarshal(raw, &w) != nil {
		return schema.Tool{}, &template.NeedError{What: "tools that are objects with a name"}
	}
	kind := w.Type
	if w.Function != nil {
		w = *w.Function
	}
	if w.Name == "" || !slices.Contains([]string{"", "function", "custom"}, kind) {
		what, _ := document.ParseText(raw)
		return schema.Tool{}, &template.NeedError{What: fmt.Sprintf("a tool that its provider runs (%s)", template.Clip(cmp.Or(kind, what, "without a name")))}
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
