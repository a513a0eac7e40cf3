package target

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// TestHostedTools: every protocol sends a tool that the vendor runs as it is written, and
// keeps the items of the reply about it, of which none is a call that Gavel answers.
func TestHostedTools(t *testing.T) {
	const search = `{"max_uses":2,"name":"web_search","type":"web_search_20250305"}`
	for _, tt := range []struct{ api, body, kept string }{
		{"chat", choice(`{"role":"assistant","content":"105"}`, "stop"), ""},
		{"responses", output(`{"type":"web_search_call","id":"w","status":"completed","action":{"query":"q"}},{"type":"mcp_call","name":"m","arguments":"{}","output":7},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"105"}]}`), `"query":"q"`},
		{"", anthropicSaid(`{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"text","text":"105"}`, "end_turn"), `"query":"q"`},
	} {
		var sent struct{ Tools []json.RawMessage }
		handler := func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // of a test
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Error(err)
			}
			status(http.StatusOK, tt.body)(w, r)
		}
		var target Target
		if tt.api == "" {
			target = anthropicTarget(t, config.Target{}, handler)
		} else {
			target = openAITarget(t, config.Target{API: tt.api}, handler)
		}
		req := user("15 × 7?")
		req.Tools = []schema.Tool{{Name: "web_search_20250305", Hosted: json.RawMessage(search)}, {Name: "own"}}
		reply, err := target.Respond(t.Context(), req)
		if err != nil {
			t.Errorf("%s returns %v, want no error", tt.api, err)
			continue
		}
		if len(sent.Tools) != 2 || string(sent.Tools[0]) != search || !strings.Contains(string(sent.Tools[1]), `"own"`) {
			t.Errorf("%s sends the tools %s", tt.api, sent.Tools)
		}
		m := reply.Messages[0]
		if m.Content != "105" || len(m.ToolCalls) != 0 || !strings.Contains(string(m.Opaque), tt.kept) {
			t.Errorf("%s: the message is %+v, want the answer, no calls, and %q kept", tt.api, m, tt.kept)
		}
	}
}
