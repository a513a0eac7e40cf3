package target

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// ownTools reads the tools that an agent says it has: a list of functions, in
// the form {name, description, parameters} or in that of OpenAI, or of names.
// Metadata are the agent's own, so another form is not a mistake.
func ownTools(raw json.RawMessage) []schema.Tool {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var tools []schema.Tool
	for _, item := range items {
		var in struct {
			schema.Tool
			Function *schema.Tool `json:"function"`
		}
		if json.Unmarshal(item, &in.Name) != nil && json.Unmarshal(item, &in) != nil {
			return nil
		}
		if in.Function != nil {
			in.Tool = *in.Function
		}
		if in.Name == "" {
			return nil
		}
		tools = append(tools, schema.Tool{Name: in.Name, Description: in.Description, Parameters: in.Parameters})
	}
	return tools
}

// Scrubbed is the reply without the secrets that the function takes out.
func (r Reply) Scrubbed(scrub func(string) string) Reply {
	r = r.clone()
	r.Model, r.Revision, r.System = scrub(r.Model), scrub(r.Revision), scrub(r.System)
	for i := range r.Tools {
		t := &r.Tools[i]
		t.Name, t.Description, t.Parameters = scrub(t.Name), scrub(t.Description), scrubJSON(t.Parameters, scrub)
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Content, m.Name, m.ToolCallID = scrub(m.Content), scrub(m.Name), scrub(m.ToolCallID)
		m.Reasoning = scrub(m.Reasoning)
		m.Opaque = scrubJSON(m.Opaque, scrub)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			c.ID, c.Function.Name = scrub(c.ID), scrub(c.Function.Name)
			c.Function.Arguments = scrub(c.Function.Arguments)
		}
	}
	return r
}

// scrubJSON is a value that holds no secret, or nothing: what was signed is of
// no use once a part of it is taken out, and a schema may be none any more.
func scrubJSON(raw json.RawMessage, scrub func(string) string) json.RawMessage {
	if scrub(string(raw)) != string(raw) {
		return nil
	}
	return raw
}
