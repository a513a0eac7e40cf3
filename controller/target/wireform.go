package target

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

// encodeRequest returns the JSON of a request with further parameters, which replace
// fields with the same name. room doubles the limit on the tokens of the reply so many
// times, if there is one. The error says that a field is not JSON.
func encodeRequest(request any, parameters map[string]json.RawMessage, room int) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil || len(parameters)+room == 0 {
		return body, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("a request has to be an object: %w", err)
	}
	for name, value := range parameters {
		if _, offers := fields["tools"]; offers || !slices.Contains(toolParameters, name) {
			fields[name] = value
		}
	}
	for _, name := range limitParameters {
		var limit int64
		if room > 0 && json.Unmarshal(fields[name], &limit) == nil {
			fields[name] = json.RawMessage(strconv.FormatInt(limit<<room, 10))
		}
	}
	return json.Marshal(fields)
}

// limitParameters bound the tokens of a reply.
var limitParameters = []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}

// toolParameters are parameters that control how tools are called. Providers only take
// them with tools.
var toolParameters = []string{"tool_choice", "parallel_tool_calls"}

// decodeReply reads a reply. The error says why the body is not JSON; a field of
// another type than expected is left empty.
func decodeReply(body []byte, reply any) error {
	err := json.NewDecoder(bytes.NewReader(body)).Decode(reply)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// A looseText is a string of a reply. null is empty, and a server that sends
// another value here, such as arguments as an object, gets its JSON as text.
type looseText string

// UnmarshalJSON accepts any value.
func (t *looseText) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	*t = looseText(s)
	return nil
}

// A wireCount is a number of tokens. Anything but a number or its text is 0.
type wireCount int64

// maxCount is far above the count of any request, and safe to add up.
const maxCount = 1 << 40

// UnmarshalJSON accepts any value.
func (c *wireCount) UnmarshalJSON(raw []byte) error {
	*c = 0
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err == nil && !math.IsNaN(n) {
		*c = wireCount(min(max(n, 0), maxCount))
	}
	return nil
}

// A wireTool is a function that a model may call.
type wireTool struct {
	Type        string          `json:"type,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	// Strict is sent by Responses only, whose default would change the schema.
	Strict *bool `json:"strict,omitempty"`

	// hosted is sent in place of the fields: a tool that the vendor runs.
	hosted json.RawMessage
}

// MarshalJSON writes a tool that the vendor runs as it is.
func (t wireTool) MarshalJSON() ([]byte, error) {
	if t.hosted != nil {
		return t.hosted, nil
	}
	type fields wireTool
	return json.Marshal(fields(t))
}

// A wireSchema is the JSON schema that an answer has to follow.
type wireSchema struct {
	Type   string          `json:"type,omitempty"`
	Name   string          `json:"name,omitempty"`
	Strict *bool           `json:"strict,omitempty"`
	Schema json.RawMessage `json:"schema"`
}

// A wireContent is a text, or a list of parts if there are any.
type wireContent[Part any] struct {
	Text  string
	Parts []Part
}

// MarshalJSON writes the text as a string, and parts as a list.
func (c wireContent[Part]) MarshalJSON() ([]byte, error) {
	if c.Parts != nil {
		return json.Marshal(c.Parts)
	}
	return json.Marshal(c.Text)
}
