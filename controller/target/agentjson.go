package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

// decodeTools reads the tools that an agent reports: a list of functions, in the form
// {name, description, parameters} or in OpenAI's form, or a list of names. Metadata are
// the agent's own, so another form is not a mistake.
func decodeTools(raw json.RawMessage) []schema.Tool {
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

// decodeContent reads a message's content: a string, null, or a list of blocks
// {type, value}, whose texts are joined by line breaks. JSON blocks and other
// values become JSON.
func decodeContent(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return decodeText(raw), nil
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return "", err
	}
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		var block struct {
			Value json.RawMessage `json:"value"`
			// Text is the name in OpenAI's blocks.
			Text json.RawMessage `json:"text"`
		}
		if err := json.Unmarshal(b, &block); err != nil {
			parts = append(parts, decodeText(b))
			continue
		}
		parts = append(parts, cmp.Or(decodeText(block.Value), decodeText(block.Text)))
	}
	return strings.Join(parts, "\n"), nil
}

// isNullContent reports whether a message's content is null or is not there, or has blocks
// of which none has a text.
func isNullContent(raw json.RawMessage) bool {
	if isNull(raw) {
		return true
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil || len(blocks) == 0 {
		return false
	}
	for _, b := range blocks {
		var block map[string]json.RawMessage
		if json.Unmarshal(b, &block) != nil || block != nil && !(isNull(block["value"]) && isNull(block["text"])) {
			return false
		}
	}
	return true
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// decodeText returns the text of a JSON string, nothing for null or no value, and else
// the JSON without white space.
func decodeText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var compact bytes.Buffer
	// It was parsed before, as a part of the whole.
	_ = json.Compact(&compact, raw)
	return compact.String()
}
