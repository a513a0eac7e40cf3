package target

import (
	"strings"
	"testing"
)

// TestErrorNextToAnAnswer: a reply that reports an error is one, whatever else it says. A
// field that says that nothing failed is none, and the fields of an agent's own form mean what
// its paths say.
func TestErrorNextToAnAnswer(t *testing.T) {
	forms := replyForms(t)
	const said, block = `"messages":[{"role":"assistant","content":"Hi."}]`, `"content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn"`
	const output = `"output":[{"type":"message","content":[{"type":"output_text","text":"Hi."}]}]`
	failedChoice := func(more string) string {
		return `{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"` + more + `}]}`
	}
	for _, tt := range []struct{ form, reply, want string }{
		{"http", `{` + said + `,"error":"the database is down"}`, "the agent answered with an error: the database is down"},
		{"http", `{` + said + `,"error":{"code":7,"message":"the database is down"}}`, "error: the database is down"},
		{"http", `{` + said + `,"error":{"code":7}}`, `error: {"code":7}`},
		{"http", `{` + said + `,"error":true}`, "error: true"},
		{"http", `{"metadata":{"end":true},"error":"down"}`, "error: down"},
		{"http", `{` + said + `,"error":null}`, ""},
		{"http", `{` + said + `,"error":" "}`, ""},
		{"http", `{` + said + `,"error":false}`, ""},
		{"http", `{` + said + `,"error":{}}`, ""},
		{"http", `{` + said + `,"error":{ }}`, ""},
		{"http", `{` + said + `,"error":{"code":0,"message":"","details":[]}}`, ""},
		{"http", `{` + said + `,"error":{"code":0,"details":[{"of":"x"}]}}`, `"details"`},
		{"http", `{` + said + `,"errors":["of a tool"]}`, ""},
		{"http", `{"messages":[{"role":"assistant","content":"Hi.","error":"of a message"}]}`, ""},
		{"command", `{` + said + `,"error":"the database is down"}`, "the agent answered with an error: the database is down"},
		{"command", `{` + said + `,"error":""}`, ""},
		{"command", `{"error":"an answer in JSON"}`, ""},
		{"chat", `{"error":{"code":502,"message":"upstream"},` + failedChoice("")[1:], "the reply has an error: upstream"},
		{"chat", failedChoice(`,"error":{"code":502,"message":"upstream"}`), "the reply has an error: upstream"},
		{"chat", `{"choices":[{"message":{"content":"Hi"},"finish_reason":"error"}]}`, "finish_reason is error"},
		{"chat", `{"error":null,` + failedChoice(`,"error":null`)[1:], ""},
		{"gemini", `{"error":{"code":503,"message":"overloaded"},` + failedChoice("")[1:], "the reply has an error: overloaded"},
		{"responses", `{"status":"completed","error":{"code":"server_error","message":""},` + output + `}`, "server_error"},
		{"responses", `{"status":"cancelled",` + output + `}`, "the response cancelled"},
		{"responses", `{"status":"completed","error":null,` + output + `}`, ""},
		{"anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},` + block + `}`, "the reply has an error: Overloaded"},
		{"anthropic", `{"type":"message","error":null,` + block + `}`, ""},
		{"http with reply", `{"a":"Hi.","error":"of its own form"}`, ""},
	} {
		_, err := forms[tt.form](tt.reply).Respond(t.Context(), user("Hello"))
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: the error is %v, want %q", tt.form, tt.reply, err, tt.want)
		}
	}
	if reply, err := agentvReply([]byte(`{` + said + `,"error":"down"}`)); err == nil || !strings.Contains(err.Error(), "down") {
		t.Errorf("a program of AgentV: %v, %v", reply, err)
	}
}

// TestErrorInAStream: an error behind the last text ends a stream as an error, whatever it
// said before. One that a text follows is about a step of the agent.
func TestErrorInAStream(t *testing.T) {
	const text, own = "    reply: {text: $.a, tool_calls: \"$.t[*]\"}\n", ""
	for _, tt := range []struct{ name, form, kind, body, want string }{
		{"a provider that fails in the middle", text, "text/event-stream", "data: {\"a\":\"Hi\"}\n\ndata: {\"error\":{\"message\":\"upstream\"}}\n\ndata: [DONE]\n\n", "the stream ends with an error: upstream"},
		{"an event of a type", text, "application/x-ndjson", "{\"a\":\"Hi\"}\n{\"type\":\"error\",\"errorText\":\"upstream\"}\n{\"type\":\"done\"}\n", `"errorText":"upstream"`},
		{"a step that failed", text, "application/x-ndjson", "{\"a\":\"Hi\"}\n{\"step\":1,\"error\":\"try again\"}\n{\"a\":\" there\"}\n", ""},
		{"an error next to a text", text, "application/x-ndjson", "{\"a\":\"Hi\",\"error\":\"of its own form\"}\n", ""},
		{"no error at the end", text, "application/x-ndjson", "{\"a\":\"Hi\"}\n{\"done\":true,\"error\":null}\n", ""},
		{"the contract, and an error behind it", own, "application/x-ndjson", "{\"messages\":[{\"role\":\"assistant\",\"content\":\"Hi\"}]}\n{\"error\":\"down\"}\n", "the agent answered with an error: down"},
		{"the contract, and an error event", own, "text/event-stream", "event: error\ndata: down\n\ndata: {\"messages\":[{\"role\":\"assistant\",\"content\":\"Hi\"}]}\n\n", "the agent answered with an error: down"},
		{"the contract after a step that failed", own, "application/x-ndjson", "{\"step\":1,\"error\":\"try again\"}\n{\"messages\":[{\"role\":\"assistant\",\"content\":\"Hi\"}]}\n", ""},
	} {
		agent := serveAgent(t, tt.kind, tt.body)
		_, err := configured(t, "    provider: http\n    url: "+agent.url+"\n"+tt.form, nil).Respond(t.Context(), user("Hello"))
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: the error is %v, want %q", tt.name, err, tt.want)
		}
	}
}
