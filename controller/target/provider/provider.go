// Package provider has the requests and replies of the three APIs that models
// are reached by: OpenAI's Chat Completions and Responses, and Anthropic's
// Messages. It knows JSON alone; sending, limits and errors belong to the
// target that uses it.
//
// [Encode] writes a request exactly as its fields say. [Decode] reads a reply
// of any server that speaks one of these APIs roughly: unknown fields are
// ignored, and a field of an unexpected type never costs the rest of a reply
// that is paid for.
package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Encode returns the JSON of a request with further parameters, which replace
// fields of the same name. The error is that of a field that is not JSON.
func Encode(request any, parameters map[string]json.RawMessage) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil || len(parameters) == 0 {
		return body, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("a request has to be an object: %w", err)
	}
	for name, value := range parameters {
		if _, offers := fields["tools"]; offers || !slices.Contains(ofTools, name) {
			fields[name] = value
		}
	}
	return json.Marshal(fields)
}

// ofTools are parameters that say how tools are called. Providers take them only with tools.
var ofTools = []string{"tool_choice", "parallel_tool_calls"}

// Decode reads a reply. The error says why the body is not JSON; a field of
// another type than expected is left empty.
func Decode(body []byte, reply any) error {
	err := json.NewDecoder(bytes.NewReader(body)).Decode(reply)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// A Text is a string of a reply. null is empty, and a server that sends
// another value here, such as arguments as an object, gets its JSON as text.
type Text string

// UnmarshalJSON takes any value.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	*t = Text(s)
	return nil
}

// A Count is a number of tokens. Anything but a number or its text is 0.
type Count int64

// maxCount is far above what any request can cost, and safe to add up.
const maxCount = 1 << 40

// UnmarshalJSON takes any value.
func (c *Count) UnmarshalJSON(raw []byte) error {
	*c = 0
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err == nil && !math.IsNaN(n) {
		*c = Count(min(max(n, 0), maxCount))
	}
	return nil
}

// A Tool is a function that a model may call.
type Tool struct {
	Type        string          `json:"type,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	// Strict is sent by Responses only, whose default would change the schema.
	Strict *bool `json:"strict,omitempty"`
}

// A Schema is the JSON Schema that an answer has to follow.
type Schema struct {
	Type   string          `json:"type,omitempty"`
	Name   string          `json:"name,omitempty"`
	Strict *bool           `json:"strict,omitempty"`
	Schema json.RawMessage `json:"schema"`
}

// A Content is a text, or a list of parts where there are any.
type Content[Part any] struct {
	Text  string
	Parts []Part
}

// MarshalJSON writes the text as a string, and parts as a list.
func (c Content[Part]) MarshalJSON() ([]byte, error) {
	if c.Parts != nil {
		return json.Marshal(c.Parts)
	}
	return json.Marshal(c.Text)
}
