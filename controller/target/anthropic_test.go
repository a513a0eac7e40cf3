package target

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

const anthropicReply = `{"id":"msg_1","type":"message","role":"assistant","model":"small-1-2026","content":[{"type":"text","text":"Hi."}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}`

// anthropicTarget is a target at a server that plays the given handler.
func anthropicTarget(t testing.TB, cfg config.Target, handler http.HandlerFunc) Target {
	t.Helper()
	srv, env := serve(t, handler)
	cfg.Provider, cfg.Model = "anthropic", "small-1"
	cfg.BaseURL, cfg.APIKeyEnv = srv.URL, testKeyEnv
	return openTest(t, cfg, env)
}

func TestAnthropicSends(t *testing.T) {
	text := func(s string) string { return `[{"type":"text","text":"` + s + `"}]` }
	const tools = `"tools":[{"name":"get_weather","description":"Today's weather.","input_schema":{"properties":{"city":{"type":"string"}},"type":"object"}},
		{"name":"now","input_schema":{"type":"object"}}]`
	messages := `"system":` + text("Be brief.") + `,"messages":[{"role":"user","content":` + text("Weather in Bern and Rome?") + `},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"get_weather","input":{"city":"Bern"}},{"type":"tool_use","id":"c2","name":"get_weather","input":{"city":"Rome"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":` + text("rain") + `},{"type":"tool_result","tool_use_id":"c2","content":` + text("sun") + `}]},
		{"role":"assistant","content":` + text("Rain and sun.") + `},{"role":"user","content":` + text("As JSON.") + `}]`
	const format = `"format":{"type":"json_schema","schema":{"type":"object","properties":{"bern":{"type":"string"}}}}`
	const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`
	tests := []struct {
		name string
		cfg  config.Target
		req  Request
		want string
	}{
		{name: "plain", req: user("Hello"), want: `{"model":"small-1","max_tokens":4096,"messages":[{"role":"user","content":` + text("Hello") + `}]}`},
		{name: "all", req: conversation(), want: `{"model":"small-1","max_tokens":4096,"temperature":0,` + messages + `,` + tools + `,"output_config":{` + format + `}}`},
		{
			name: "parameters as configured, temperature over the request's",
			cfg: config.Target{Parameters: raw("temperature", "0.70", "max_tokens", "64000", "top_k", "5", "stop_sequences", `["END"]`,
				"thinking", `{"type":"enabled","budget_tokens":2000}`, "output_config", `{"effort":"low"}`)},
			req: conversation(),
			want: `{"model":"small-1","max_tokens":64000,"temperature":0.7,"top_k":5,"stop_sequences":["END"],"thinking":{"type":"enabled","budget_tokens":2000},` +
				messages + `,` + tools + `,"output_config":{"effort":"low",` + format + `}}`,
		},
		{
			name: "what is null is not sent",
			cfg:  config.Target{Parameters: raw("temperature", "null", "output_config", `{"format":null}`)},
			req:  conversation(), want: `{"model":"small-1","max_tokens":4096,` + messages + `,` + tools + `}`,
		},
		{
			name: "system messages in the conversation, an empty answer, an empty result",
			req: Request{System: "A", Messages: []schema.Message{
				{Role: schema.RoleUser, Content: "U"}, {Role: schema.RoleAssistant}, {Role: schema.RoleSystem, Content: "B"},
				{Role: schema.RoleAssistant, Content: "Wait.", ToolCalls: []schema.ToolCall{functionCall("c1", "now", "")}},
				{Role: schema.RoleTool, ToolCallID: "c1"}, {Role: schema.RoleUser, Content: "V"},
			}},
			want: `{"model":"small-1","max_tokens":4096,"system":[{"type":"text","text":"A"},{"type":"text","text":"B"}],"messages":[{"role":"user","content":` + text("U") + `},
				{"role":"assistant","content":[{"type":"text","text":"Wait."},{"type":"tool_use","id":"c1","name":"now","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"}]},{"role":"user","content":` + text("V") + `}]}`,
		},
		{
			name: "images and files, of the user and of a tool",
			req:  Request{Messages: []schema.Message{looks(schema.RoleUser), {Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{functionCall("c1", "look", "{}")}}, looked("c1")}},
			want: `{"model":"small-1","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"See:"},` + image + `,{"type":"text","text":"notes"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"See:"},` + image + `,{"type":"text","text":"notes"}]}]}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []byte
			target := anthropicTarget(t, tt.cfg, func(w http.ResponseWriter, r *http.Request) {
				h := r.Header
				if r.URL.Path != "/v1/messages" || h.Get("X-Api-Key") != testKey || h.Get("Anthropic-Version") != "2023-06-01" || h.Get("Authorization") != "" {
					t.Errorf("got %s with %v", r.URL.Path, h)
				}
				got, _ = io.ReadAll(r.Body)
				io.WriteString(w, anthropicReply)
			})
			if _, err := target.Respond(t.Context(), tt.req); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(canonical(t, []byte(tt.want)), canonical(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// anthropicSaid is a message of the API with the given content.
func anthropicSaid(content, stop string) string {
	return `{"type":"message","role":"assistant","model":"m","content":[` + content + `],"stop_reason":"` + stop + `","usage":{"input_tokens":1,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":2}}`
}

func TestAnthropicReads(t *testing.T) {
	said := func(finish, text string, calls ...schema.ToolCall) Reply {
		return Reply{
			Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text, ToolCalls: calls}},
			Model:    "m", Finish: finish, Traced: true, Usage: verdict.Usage{Calls: 1, InputTokens: 111, OutputTokens: 2},
		}
	}
	const bernCall = `{"type":"tool_use","id":"c1","name":"get_weather","input":{"city":"Bern"}}`
	const romeCall = `{"type":"tool_use","id":"c2","name":"get_weather","input":{"city":"Rome"}}`
	bern, rome := functionCall("c1", "get_weather", `{"city":"Bern"}`), functionCall("c2", "get_weather", `{"city":"Rome"}`)
	tests := []struct {
		name, body string
		want       Reply
	}{
		{"text in parts", anthropicSaid(`{"type":"text","text":"Hé <b>"},{"type":"text","text":"!"}`, "end_turn"), said("stop", "Hé <b>!")},
		{"a tool call", anthropicSaid(bernCall, "tool_use"), said("tool_calls", "", bern)},
		{"parallel tool calls with text", anthropicSaid(`{"type":"text","text":"Wait."},`+bernCall+`,`+romeCall, "tool_use"), said("tool_calls", "Wait.", bern, rome)},
		{"a tool call without id", anthropicSaid(`{"type":"tool_use","name":"now","input":{}}`, "tool_use"), said("tool_calls", "", functionCall("call_1_0", "now", "{}"))},
		{"nothing to add", anthropicSaid("", "end_turn"), said("stop", "")},
		{"cut short", anthropicSaid(`{"type":"text","text":"Half"}`, "max_tokens"), said("length", "Half")},
		{"a refusal is an answer", anthropicSaid(`{"type":"text","text":"I won't."}`, "refusal"), said("refusal", "I won't.")},
		{"a refusal that is explained", strings.Replace(anthropicSaid("", "refusal"), `"usage"`, `"stop_details":{"type":"refusal","category":"cyber","explanation":"Not allowed."},"usage"`, 1), said("refusal", "Not allowed.")},
		{"a block of a kind that is not known", anthropicSaid(`{"type":"hologram","data":7},{"type":"text","text":"A"}`, "end_turn"), said("stop", "A")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := anthropicTarget(t, config.Target{}, status(200, tt.body)).Respond(t.Context(), user("Hello"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// anthropicFault is an error as the API words it.
func anthropicFault(kind, message string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
}

func TestAnthropicErrors(t *testing.T) {
	format := user("Hello")
	format.Format = &Format{Name: "x", Schema: json.RawMessage(`{}`)}
	asks := func(messages ...schema.Message) Request { return Request{Messages: messages} }
	calls := func(arguments string) Request {
		return asks(schema.Message{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{functionCall("c", "now", arguments)}})
	}
	tests := []struct {
		name    string
		req     Request
		handler http.HandlerFunc
		want    Error // Message is a part of the whole
	}{
		{name: "429", handler: status(429, anthropicFault("rate_limit_error", "slow down"), "Retry-After", "7"), want: Error{Status: 429, Retry: true, After: 7 * time.Second, Message: "429 Too Many Requests: slow down" + askLess}},
		{name: "500", handler: status(500, anthropicFault("api_error", "boom")), want: Error{Status: 500, Retry: true, Message: "500 Internal Server Error: boom"}},
		{name: "529", handler: status(529, anthropicFault("overloaded_error", "Overloaded")), want: Error{Status: 529, Retry: true, Message: "Overloaded"}},
		{name: "400", handler: status(400, anthropicFault("invalid_request_error", "credit balance is too low")), want: Error{Status: 400, Message: "400 Bad Request: credit balance is too low"}},
		{name: "401 names the variable", handler: status(401, anthropicFault("authentication_error", "invalid x-api-key "+testKey[:12])), want: Error{Status: 401, Message: "the key in " + testKeyEnv + " is not accepted"}},
		{name: "404", handler: status(404, anthropicFault("not_found_error", "model: small-1")), want: Error{Status: 404, Message: "404 Not Found: model: small-1"}},
		{name: "307 to another host", handler: status(307, "", "Location", "http://elsewhere.invalid/v1"), want: Error{Message: "refused a redirect from http://"}},
		{name: "cut in mid-body", handler: cut, want: Error{Retry: true, Message: "read the reply: unexpected EOF"}},
		{name: "too long", handler: endless, want: Error{Status: 200, Message: "the reply is longer than 8 MiB"}},
		{name: "not JSON", handler: status(200, "<!doctype html>"), want: Error{Message: "is base_url right?"}},
		{name: "malformed JSON", handler: status(200, anthropicReply[:100]), want: Error{Message: "unexpected EOF"}},
		{name: "no content", handler: status(200, `{"type":"message"}`), want: Error{Retry: true, Message: "no content"}},
		{name: "refusal of JSON", req: format, handler: status(200, anthropicSaid(`{"type":"text","text":"I won't."}`, "refusal")), want: Error{Message: "the model refused: I won't."}},
		{name: "refusal without a word", handler: status(200, anthropicSaid("", "refusal")), want: Error{Message: "content filter"}},
		{name: "unknown role", req: asks(schema.Message{Role: "robot"}), want: Error{Message: `the request cannot be sent: a message has the role "robot"`}},
		{name: "arguments that are not JSON", req: calls(`{"a`), want: Error{Message: `the arguments of the call now are not a JSON object: {"a`}},
		{name: "arguments that are not an object", req: calls(`null`), want: Error{Message: `the arguments of the call now are not a JSON object: null`}},
		{name: "tool whose parameters are not an object", req: Request{Messages: user("Hello").Messages, Tools: []schema.Tool{{Name: "now", Parameters: json.RawMessage(`true`)}}}, want: Error{Message: "the parameters of the tool now are not a JSON object"}},
		{name: "an image of the assistant", req: asks(looks(schema.RoleAssistant)), want: Error{Message: "a message of the role assistant has an image"}},
		{name: "an image of the system", req: asks(looks(schema.RoleSystem)), want: Error{Message: "a message of the role system has an image"}},
		{name: "a file that is not text", req: asks(binary(schema.RoleUser)), want: Error{Message: "the file a.bin is not text"}},
		{name: "a result that is not text", req: asks(binary(schema.RoleTool)), want: Error{Message: "the file a.bin is not text"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.req.Messages == nil {
				tt.req = user("Hello")
			}
			sent := 0
			target := anthropicTarget(t, config.Target{}, func(w http.ResponseWriter, r *http.Request) {
				sent++
				if tt.handler != nil {
					tt.handler(w, r)
				}
			})
			_, err := target.Respond(t.Context(), tt.req)
			checkError(t, err, tt.want)
			if want := min(1, sent); tt.handler == nil && sent != 0 || sent != want {
				t.Errorf("%d requests were sent", sent)
			}
		})
	}
}

// TestAnthropicIsNotConfiguredByTheProcess holds that the value of variables
// of the process for other programs changes nothing.
func TestAnthropicIsNotConfiguredByTheProcess(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://elsewhere.invalid")
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-other")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "other")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: other")
	var headers http.Header
	var path string
	srv, env := serve(t, func(w http.ResponseWriter, r *http.Request) {
		headers, path = r.Header, r.URL.Path
		io.WriteString(w, anthropicReply)
	})
	target := openTest(t, config.Target{Provider: "anthropic", Model: "m", BaseURL: srv.URL + "/proxy"}, env)
	if _, err := target.Respond(t.Context(), user("Hello")); err != nil {
		t.Fatal(err)
	}
	if path != "/proxy/v1/messages" {
		t.Errorf("sent to %s", path)
	}
	for _, name := range []string{"X-Api-Key", "Authorization", "X-Other", "Traceparent"} {
		if v, ok := headers[name]; ok {
			t.Errorf("%s: %s was sent", name, v)
		}
	}
}
