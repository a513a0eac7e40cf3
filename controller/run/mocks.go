package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// A mockDispatcher answers the tool calls of one sample: by the mocks of the case, then
// by the target's, then by the tool's own.
//
// In a list of mocks for a tool, the first unused one answers whose listed params all
// equal the call's; if all matching ones are used, the last of them repeats.
type mockDispatcher struct {
	// lists map tools to mocks, the case's before the target's.
	lists []map[string][]*mock
	tools []schema.Tool
	// ends are the tools whose call ends the conversation: they need no mock.
	ends []string
}

// A mock is one prepared answer to calls with certain params.
type mock struct {
	params   map[string]json.RawMessage
	response json.RawMessage
	used     bool
}

// newMockDispatcher returns the mockDispatcher of one sample of a case.
func newMockDispatcher(c *schema.Case, t config.Target) *mockDispatcher {
	d := &mockDispatcher{tools: c.Tools, ends: t.EndsConversation}
	ofTarget, ofCase := map[string][]*mock{}, map[string][]*mock{}
	// Mocks for tools that the case is not offered are in none of its digests.
	for _, tool := range c.Tools {
		for _, m := range t.Mocks[tool.Name] {
			ofTarget[tool.Name] = append(ofTarget[tool.Name], &mock{params: m.Params, response: m.Response})
		}
	}
	for _, m := range c.Mocks {
		ofCase[m.Tool] = append(ofCase[m.Tool], &mock{params: object(m.Params), response: m.Response})
	}
	d.lists = []map[string][]*mock{ofCase, ofTarget}
	return d
}

// object decodes the fields of a JSON object; another value has no fields.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields)
	return fields
}

// Answer returns the tool message for a call, and describes the missing mock if the
// message is an error for lack of one. A call to a tool whose mock is code ends the
// sample, because code from a repository is not executed.
func (d *mockDispatcher) Answer(call schema.ToolCall) (msg schema.Message, missing string, err error) {
	name := call.Function.Name
	msg = schema.Message{Role: schema.RoleTool, ToolCallID: call.ID, Name: name}
	args, listed := object(json.RawMessage(call.Function.Arguments)), false
	for _, mocks := range d.lists {
		listed = listed || len(mocks[name]) > 0
		if m := match(mocks[name], args); m != nil {
			m.used = true
			msg.Content = mockBody(m.response)
			return msg, "", nil
		}
	}
	i := slices.IndexFunc(d.tools, func(t schema.Tool) bool { return t.Name == name })
	switch {
	case slices.Contains(d.ends, name) && (i < 0 || d.tools[i].Mock == nil || d.tools[i].Mock.IsCode()):
		msg.Content = `{"ended":true}`
		return msg, "", nil
	case i >= 0 && d.tools[i].Mock.IsCode():
		return msg, "", fmt.Errorf("tool %s was called, but its mock is %s code, which is not executed; give the target a mock for it (targets: mocks: %s) or a json mock in %s",
			name, d.tools[i].Mock.Kind, name, d.tools[i].File)
	case i >= 0 && d.tools[i].Mock != nil:
		msg.Content = d.tools[i].Mock.Body
		return msg, "", nil
	case listed:
		missing = "no mock response of tool " + name + " matches these arguments"
	case i < 0:
		missing = "there is no tool " + name
	default:
		missing = "tool " + name + " has no mock response"
	}
	msg.Content = toolError(missing)
	return msg, missing, nil
}

func toolError(text string) string {
	raw, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		return text
	}
	return string(raw)
}

// match returns the mock that answers, or nil.
func match(mocks []*mock, args map[string]json.RawMessage) *mock {
	var last *mock
	for _, m := range mocks {
		if !paramsMatch(m.params, args) {
			continue
		}
		if last = m; !m.used {
			break
		}
	}
	return last
}

// mockBody returns a JSON string as its text and everything else as JSON.
func mockBody(raw json.RawMessage) string {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return *text
	}
	return string(raw)
}

// paramsMatch reports whether all wanted params equal the call's.
func paramsMatch(want, got map[string]json.RawMessage) bool {
	for name, w := range want {
		g, ok := got[name]
		if !ok || !sameValue(decoded(w), decoded(g)) {
			return false
		}
	}
	return true
}

// decoded decodes a value in canonical form, so that equal numbers have equal text; nil
// for invalid JSON.
func decoded(raw json.RawMessage) (value any) {
	canonical, err := schema.Canonical(raw)
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.UseNumber()
	_ = dec.Decode(&value) // it was decoded before
	return value
}

// sameValue compares deeply. Strings are compared trimmed and ignoring case: a mock
// should be easy to match, and is not a judgement of the call.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y))
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameValue)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameValue)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false // not comparable by ==
	}
	return a == b
}
