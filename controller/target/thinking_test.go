package target

import (
	"net/http"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
)

// TestThinkingIsKeptApart has every protocol send what the model thought next to
// its answer.
func TestThinkingIsKeptApart(t *testing.T) {
	chat := func(field string) string {
		return choice(`{"role":"assistant","content":"105","`+field+`":"15 × 7"}`, "stop")
	}
	for _, tt := range []struct{ name, api, body string }{
		{"reasoning_content", "chat", chat("reasoning_content")},
		{"reasoning", "chat", chat("reasoning")},
		{"a summary", "responses", output(`{"type":"reasoning","summary":[{"type":"summary_text","text":"15 × 7"}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"105"}]}`)},
		{"thinking", "", anthropicSaid(`{"type":"thinking","thinking":"15 × 7","signature":"s"},{"type":"text","text":"105"}`, "end_turn")},
	} {
		handler := func(w http.ResponseWriter, r *http.Request) { status(http.StatusOK, tt.body)(w, r) }
		var target Target
		if tt.api == "" {
			target = anthropicTarget(t, config.Target{}, handler)
		} else {
			target = openAITarget(t, config.Target{API: tt.api}, handler)
		}
		reply, err := target.Respond(t.Context(), user("15 × 7?"))
		if err != nil {
			t.Errorf("%s returns %v, want no error", tt.name, err)
			continue
		}
		if m := reply.Messages[0]; m.Content != "105" || m.Reasoning != "15 × 7" {
			t.Errorf("%s: the message is %+v, want the answer and the thinking apart", tt.name, m)
		}
		hidden := reply.Scrubbed(func(s string) string { return "" })
		if hidden.Messages[0].Reasoning != "" {
			t.Errorf("%s: secrets are not taken out of the thinking", tt.name)
		}
	}
}
