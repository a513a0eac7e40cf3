package target

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// pixel is an image, before a provider decodes it.
var pixel = schema.Block{Type: "image", Data: []byte("\x89PNG\r\n\x1a\n"), Media: "image/png", Path: "shots/a.png"}

// looks is a message with text, an image and a file.
func looks(role string) schema.Message {
	return schema.Message{Role: role, Content: "See:\n\nnotes", Blocks: []schema.Block{
		{Type: "text", Text: "See:"}, pixel, {Type: "text"}, {Type: "file", Text: "notes", Path: "shots/notes.txt"},
	}}
}

// binary is a message with a file that is not text.
func binary(role string) schema.Message {
	return schema.Message{Role: role, Content: "See.", Blocks: []schema.Block{
		{Type: "text", Text: "See."}, {Type: "file", Data: []byte{0xff}, Path: "a.bin"},
	}}
}

// fileOnly is a message whose only content is a file.
func fileOnly(role string) schema.Message {
	return schema.Message{Role: role, Content: "notes", Blocks: []schema.Block{{Type: "file", Text: "notes\n", Path: "a.txt"}}}
}

// looked is the result of a tool that looks at an image.
func looked(call string) schema.Message {
	m := looks(schema.RoleTool)
	m.ToolCallID = call
	return m
}

// TestThoughtsGoBack holds that a provider gets back with a call what it put
// next to it, across a recording, and that no other provider sees it.
func TestThoughtsGoBack(t *testing.T) {
	const signed = `{"google":{"thought_signature":"c2ln"}}`
	gemini := choice(`{"tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"},"extra_content":`+signed+`},
		{"id":"c2","type":"function","function":{"name":"then","arguments":"{}"}}]}`, "tool_calls")
	const thinking = `[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"Wait."},{"type":"redacted_thinking","data":"eA=="},{"type":"tool_use","id":"c1","name":"now","input":{"z":1,"a":2}}]`
	claude := `{"type":"message","model":"m","content":` + thinking + `,"stop_reason":"tool_use","usage":{}}`
	tests := []struct {
		name, first string
		open        func(testing.TB, config.Target, http.HandlerFunc) Target
		want        string
		plain       string // what another model is sent
	}{
		{
			"gemini", gemini, geminiTarget,
			`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"},"extra_content":` + signed + `},
				{"id":"c2","type":"function","function":{"name":"then","arguments":"{}"}}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"now","input":{}},{"type":"tool_use","id":"c2","name":"then","input":{}}]}`,
		},
		{
			"anthropic", claude, anthropicTarget,
			`{"role":"assistant","content":` + thinking + `}`,
			`{"role":"assistant","content":"Wait.","tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{\"z\":1,\"a\":2}"}}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answers := []string{tt.first, `{}`, `{}`}
			var said []string
			handler := func(w http.ResponseWriter, r *http.Request) {
				var body struct{ Messages []json.RawMessage }
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				said = append(said, canonical(t, body.Messages[min(1, len(body.Messages)-1)]))
				io.WriteString(w, answers[len(said)-1])
			}
			target := tt.open(t, config.Target{}, handler)
			req := user("When?")
			reply, err := target.Respond(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, roundTrip(t, reply).Messages...)
			other := geminiTarget(t, config.Target{}, handler)
			if tt.name == "gemini" {
				other = anthropicTarget(t, config.Target{}, handler)
			}
			for _, asked := range []Target{target, other} {
				// The answer is empty: the test only looks at the request.
				_, _ = asked.Respond(t.Context(), req)
			}
			if diff := cmp.Diff([]string{canonical(t, []byte(tt.want)), canonical(t, []byte(tt.plain))}, said[1:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestThoughtsThatWereChanged holds that what somebody did to them breaks
// nothing.
func TestThoughtsThatWereChanged(t *testing.T) {
	for _, opaque := range []string{"", "7", `{"calls":7}`, `{`, `{"content":null}`} {
		m := schema.Message{Role: schema.RoleAssistant, Content: "A", Opaque: json.RawMessage(opaque)}
		req := Request{Messages: []schema.Message{m}}
		if _, err := anthropicTarget(t, config.Target{}, status(200, anthropicReply)).Respond(t.Context(), req); err != nil {
			t.Errorf("%s: error %v", opaque, err)
		}
	}
	m := schema.Message{Role: schema.RoleAssistant, Content: "A", Opaque: json.RawMessage(`{"content":7}`)}
	_, err := anthropicTarget(t, config.Target{}, status(200, anthropicReply)).Respond(t.Context(), Request{Messages: []schema.Message{m}})
	checkError(t, err, Error{Message: "the request cannot be sent: what the model thought cannot be read"})
}

// roundTrip is a reply as it is when it was stored and read again.
func roundTrip(t *testing.T, reply Reply) (again Reply) {
	t.Helper()
	stored, err := json.Marshal(reply)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	return again
}
