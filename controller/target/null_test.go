package target

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// replyForms has a target for each form of replies, which answers with a reply.
func replyForms(t *testing.T) map[string]func(reply string) Target {
	t.Helper()
	own := func(cfg config.Target, reply string) Target {
		srv, env := serve(t, status(200, reply, "Content-Type", "application/json"))
		if cfg.URL, cfg.BaseURL = "", srv.URL; cfg.Provider == "http" {
			cfg.URL, cfg.BaseURL = srv.URL, ""
		}
		cfg.Model = "m"
		return openTest(t, cfg, env)
	}
	model := func(provider, api string) func(string) Target {
		return func(reply string) Target { return own(config.Target{Provider: provider, API: api}, reply) }
	}
	return map[string]func(reply string) Target{
		"chat": model("openai", ""), "responses": model("openai", "responses"), "anthropic": model("anthropic", ""), "http": model("http", ""),
		"gemini": func(reply string) Target { return geminiTarget(t, config.Target{}, status(200, reply)) },
		"http with reply": func(reply string) Target {
			agent := serveAgent(t, "application/json", reply)
			return configured(t, "    provider: http\n    url: "+agent.url+"\n    reply: {text: $.a, tool_calls: \"$.t[*]\", end: $.e}\n", nil)
		},
		"command": func(reply string) Target { return shell(t, "cat >/dev/null; cat <<'END'\n"+reply+"\nEND") },
	}
}

// TestNullIsNoAnswer: in every form of replies, null in the place of an answer is an error,
// an empty text is an answer, and null next to a call or in a reply that was cut off is
// none of the two.
func TestNullIsNoAnswer(t *testing.T) {
	forms := replyForms(t)
	for _, tt := range []struct {
		form, reply string
		isNull      bool
	}{
		{"chat", choice(`{"content":null}`, "stop"), true},
		{"chat", choice(`{}`, "stop"), true},
		{"chat", choice(`{"content":""}`, "stop"), false},
		{"chat", choice(`{"content":null}`, "length"), false},
		{"chat", choice(`{"content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}`, "tool_calls"), false},
		{"gemini", choice(`{"role":"assistant"}`, "stop"), true},
		{"gemini", choice(`{"role":"assistant","content":""}`, "stop"), false},
		{"responses", `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":null}]}]}`, true},
		{"responses", `{"status":"completed","output":[{"type":"message","content":null}]}`, true},
		{"responses", `{"status":"completed","output":[{"type":"reasoning","summary":[{"text":"hm"}]}]}`, true},
		{"responses", `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":""}]}]}`, false},
		{"responses", `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}`, false},
		{"responses", `{"status":"completed","output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`, false},
		{"responses", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning"}]}`, false},
		{"anthropic", `{"stop_reason":"end_turn","content":null}`, true},
		{"anthropic", `{"stop_reason":"end_turn","content":[{"type":"text","text":null}]}`, true},
		{"anthropic", `{"stop_reason":"end_turn","content":[{"type":"text","text":""}]}`, false},
		{"anthropic", `{"stop_reason":"end_turn","content":[]}`, false},
		{"anthropic", `{"stop_reason":"max_tokens","content":null}`, false},
		{"anthropic", `{"stop_reason":"tool_use","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}`, false},
		{"http", `{"messages":[{"role":"assistant","content":null}]}`, true},
		{"http", `{"messages":[{"role":"assistant"}]}`, true},
		{"http", `{"messages":[{"role":"assistant","content":[null]}]}`, true},
		{"http", `{"messages":[{"role":"assistant","content":[{"type":"text","value":null}]}]}`, true},
		{"http", `{"messages":[{"role":"assistant","content":""}]}`, false},
		{"http", `{"messages":[{"role":"assistant","content":[{"type":"text","text":""}]}]}`, false},
		{"http", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c","content":null},{"role":"assistant","content":"x"}]}`, false},
		{"http", `{"messages":[{"role":"assistant","content":null}],"metadata":{"end":true}}`, false},
		{"command", `{"messages":[{"role":"assistant","content":null}]}`, true},
		{"command", `{"messages":[{"role":"assistant","content":""}]}`, false},
		{"command", `null`, false}, // a text
		{"http with reply", `{"a":null}`, true},
		{"http with reply", `{"a":""}`, false},
		{"http with reply", `{"a":null,"t":[{"name":"f"}]}`, false},
		{"http with reply", `{"a":null,"e":true}`, false},
	} {
		_, err := forms[tt.form](tt.reply).Respond(t.Context(), user("Hello"))
		if (err != nil) != tt.isNull || err != nil && !strings.Contains(err.Error(), "has null") {
			t.Errorf("%s %s: the error is %v, want one of null: %v", tt.form, tt.reply, err, tt.isNull)
		}
	}
}

// TestNullOfAgentV: a program of AgentV that prints null as its answer is an error, too.
func TestNullOfAgentV(t *testing.T) {
	for printed, isNull := range map[string]bool{
		`{"text": null}`: true, `{"text": ""}`: false, `null`: false,
		`{"output": [{"role": "assistant", "content": null}]}`:                                             true,
		`{"output": [{"role": "assistant", "content": ""}]}`:                                               false,
		`{"output": [{"role": "assistant", "content": null, "tool_calls": [{"tool": "f"}]}]}`:              false,
		`{"output": [{"role": "assistant", "content": null}, {"role": "assistant", "content": "answer"}]}`: false,
	} {
		reply, err := agentvReply([]byte(printed))
		if (err != nil) != isNull || err != nil && !strings.Contains(err.Error(), "has null") {
			t.Errorf("%s: the reply is %q, the error %v, want one of null: %v", printed, verdict.Answer(reply.Messages), err, isNull)
		}
	}
}
