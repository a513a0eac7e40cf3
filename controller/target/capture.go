package target

import (
	"cmp"
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// ownTools reads the tools that an agent says it has: a list of functions, in
// the form {name, description, parameters} or in that of OpenAI, or of names.
// Metadata are the agent's own, so what has another form is no mistake.
func ownTools(raw json.RawMessage) []schema.Tool {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var tools []schema.Tool
	for _, item := range items {
		var in struct {
			function
			Function function `json:"function"`
		}
		if json.Unmarshal(item, &in.Name) != nil && json.Unmarshal(item, &in) != nil {
			return nil
		}
		f := in.function
		if in.Function.Name != "" {
			f = in.Function
		}
		if f.Name == "" {
			return nil
		}
		tools = append(tools, schema.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
	}
	return tools
}

// Scrubbed is the reply without the secrets that the function takes out.
func (r Reply) Scrubbed(scrub func(string) string) Reply {
	r = r.clone()
	r.Model, r.Revision, r.System = scrub(r.Model), scrub(r.Revision), scrub(r.System)
	for i := range r.Tools {
		t := &r.Tools[i]
		t.Name, t.Description = scrub(t.Name), scrub(t.Description)
		if len(t.Parameters) > 0 {
			t.Parameters = json.RawMessage(cmp.Or(scrub(string(t.Parameters)), "null"))
		}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Content, m.Name, m.ToolCallID = scrub(m.Content), scrub(m.Name), scrub(m.ToolCallID)
		// What was signed is of no use once a part of it is taken out.
		if scrub(string(m.Opaque)) != string(m.Opaque) {
			m.Opaque = nil
		}
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			c.ID, c.Function.Name = scrub(c.ID), scrub(c.Function.Name)
			c.Function.Arguments = scrub(c.Function.Arguments)
		}
	}
	return r
}
