package target

import "encoding/json"

// Scrubbed returns the reply without the secrets that the function removes.
func (r Reply) Scrubbed(scrub func(string) string) Reply {
	r = r.clone()
	r.Model, r.Revision, r.System = scrub(r.Model), scrub(r.Revision), scrub(r.System)
	for i := range r.Tools {
		t := &r.Tools[i]
		t.Name, t.Description, t.Parameters = scrub(t.Name), scrub(t.Description), scrubJSON(t.Parameters, scrub)
		t.Hosted = scrubJSON(t.Hosted, scrub)
	}
	r.Changes = r.Changes.Scrubbed(scrub)
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

// scrubJSON returns a value that holds no secret, or nothing: signed data is of no use
// without a part of it, and a schema may become invalid.
func scrubJSON(raw json.RawMessage, scrub func(string) string) json.RawMessage {
	if scrub(string(raw)) != string(raw) {
		return nil
	}
	return raw
}
