package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

const (
	testKeyEnv = "GAVEL_TEST_KEY"
	testKey    = "sk-test/0123456789+abcdef"
)

// lookup is an environment with one credential.
// askLess is added to the replies that say that too much was asked.
const askLess = "; lower `concurrency`, or set `requests_per_minute` at the target"

func lookup(name string) (string, bool) {
	if name == testKeyEnv {
		return testKey, true
	}
	return "", false
}

// clock is a fixed time.
func clock() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// serve starts a server whose connections end with the test.
func serve(t testing.TB, handler http.HandlerFunc) (*httptest.Server, Env) {
	t.Helper()
	srv := httptest.NewServer(handler)
	transport := Transport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	return srv, Env{Lookup: lookup, Transport: transport, Now: clock}
}

func openTest(t testing.TB, cfg config.Target, env Env) Target {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "tested"
	}
	target, err := New(cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// openAITarget is a target at a server that plays the given handler.
func openAITarget(t testing.TB, cfg config.Target, handler http.HandlerFunc) Target {
	t.Helper()
	srv, env := serve(t, handler)
	cfg.Provider, cfg.Model = "openai", "small-1"
	cfg.BaseURL, cfg.APIKeyEnv = srv.URL+"/v1", testKeyEnv
	return openTest(t, cfg, env)
}

func user(text string) Request {
	return Request{Messages: []schema.Message{{Role: schema.RoleUser, Content: text}}, Case: "shop/refund"}
}

// conversation is a request that uses everything.
func conversation() Request {
	temperature := 0.0
	return Request{
		System: "Be brief.",
		Messages: []schema.Message{
			{Role: schema.RoleUser, Content: "Weather in Bern and Rome?"},
			{Role: schema.RoleAssistant, ToolCalls: []schema.ToolCall{
				functionCall("c1", "get_weather", `{"city":"Bern"}`), functionCall("c2", "get_weather", `{"city":"Rome"}`),
			}},
			{Role: schema.RoleTool, ToolCallID: "c1", Name: "get_weather", Content: "rain"},
			{Role: schema.RoleTool, ToolCallID: "c2", Name: "get_weather", Content: "sun"},
			{Role: schema.RoleAssistant, Content: "Rain and sun."},
			{Role: schema.RoleUser, Content: "As JSON."},
		},
		Tools: []schema.Tool{
			{Name: "get_weather", Description: "Today's weather.", Parameters: json.RawMessage(`{"properties":{"city":{"type":"string"}},"type":"object"}`), Mock: &schema.Mock{Kind: "text", Body: "fog"}},
			{Name: "now"},
		},
		Format:      &Format{Name: "weather", Schema: json.RawMessage(`{"type":"object","properties":{"bern":{"type":"string"}}}`)},
		Temperature: &temperature,
	}
}

const chatReply = `{"id":"x","object":"chat.completion","created":1,"model":"small-1-2026","choices":[` +
	`{"index":0,"finish_reason":"stop","logprobs":null,"message":{"role":"assistant","content":"Hi.","refusal":null}}],` +
	`"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`

const responsesReply = `{"id":"r","object":"response","created_at":1,"status":"completed","error":null,"incomplete_details":null,"model":"small-1-2026","output":[` +
	`{"type":"reasoning","id":"rs","summary":[]},` +
	`{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi.","annotations":[]}]}],` +
	`"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":12}}`

// raw makes parameters of JSON texts.
func raw(pairs ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

func TestOpenAISends(t *testing.T) {
	const chatTools = `"tools":[{"type":"function","function":{"name":"get_weather","description":"Today's weather.","parameters":{"properties":{"city":{"type":"string"}},"type":"object"}}},
		{"type":"function","function":{"name":"now"}}]`
	const chatMessages = `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Weather in Bern and Rome?"},
		{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bern\"}"}},
			{"id":"c2","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"rain"},{"role":"tool","tool_call_id":"c2","content":"sun"},
		{"role":"assistant","content":"Rain and sun."},{"role":"user","content":"As JSON."}]`
	const chatFormat = `"response_format":{"type":"json_schema","json_schema":{"name":"weather","strict":true,"schema":{"type":"object","properties":{"bern":{"type":"string"}}}}}`
	const responsesBody = `"model":"small-1","instructions":"Be brief.","input":[{"role":"user","content":"Weather in Bern and Rome?"},
		{"type":"function_call","call_id":"c1","name":"get_weather","arguments":"{\"city\":\"Bern\"}"},
		{"type":"function_call","call_id":"c2","name":"get_weather","arguments":"{\"city\":\"Rome\"}"},
		{"type":"function_call_output","call_id":"c1","output":"rain"},{"type":"function_call_output","call_id":"c2","output":"sun"},
		{"role":"assistant","content":"Rain and sun."},{"role":"user","content":"As JSON."}],
		"tools":[{"type":"function","name":"get_weather","description":"Today's weather.","strict":false,"parameters":{"properties":{"city":{"type":"string"}},"type":"object"}},
			{"type":"function","name":"now","strict":false}]`
	const responsesFormat = `"format":{"type":"json_schema","name":"weather","strict":true,"schema":{"type":"object","properties":{"bern":{"type":"string"}}}}`
	tests := []struct {
		name   string
		cfg    config.Target
		req    Request
		path   string
		answer string
		want   string
	}{
		{
			name: "chat, plain", req: user("Hello"), path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","messages":[{"role":"user","content":"Hello"}]}`,
		},
		{
			name: "chat, all", req: conversation(), path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","temperature":0,` + chatMessages + `,` + chatTools + `,` + chatFormat + `}`,
		},
		{
			name: "chat, parameters as configured, temperature over the request's",
			cfg: config.Target{Parameters: raw("temperature", "0.70", "seed", "7", "max_tokens", "100",
				"max_completion_tokens", "200", "stop", `["END"]`, "chat_template_kwargs", `{"think":false}`)},
			req: conversation(), path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","temperature":0.7,"seed":7,"max_tokens":100,"max_completion_tokens":200,"stop":["END"],
				"chat_template_kwargs":{"think":false},` + chatMessages + `,` + chatTools + `,` + chatFormat + `}`,
		},
		{
			name: "chat, a parameter that is null is not sent",
			cfg:  config.Target{Parameters: raw("temperature", "null")},
			req:  conversation(), path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1",` + chatMessages + `,` + chatTools + `,` + chatFormat + `}`,
		},
		{
			name: "chat, a configured format gives way to that of a request",
			cfg:  config.Target{Parameters: raw("response_format", `{"type":"json_object"}`)},
			req:  conversation(), path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","temperature":0,` + chatMessages + `,` + chatTools + `,` + chatFormat + `}`,
		},
		{
			name: "chat, a configured format",
			cfg:  config.Target{Parameters: raw("response_format", `{"type":"json_object"}`)},
			req:  user("U"), path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","messages":[{"role":"user","content":"U"}],"response_format":{"type":"json_object"}}`,
		},
		{
			name: "chat, a format that is null is not asked for",
			cfg:  config.Target{Parameters: raw("response_format", "null")},
			req:  conversation(), path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","temperature":0,` + chatMessages + `,` + chatTools + `}`,
		},
		{
			name: "chat, empty assistant message and system message in the conversation",
			req: Request{Messages: []schema.Message{
				{Role: schema.RoleSystem, Content: "S"}, {Role: schema.RoleUser, Content: "U"},
				{Role: schema.RoleAssistant}, {Role: schema.RoleUser, Content: ""},
			}},
			path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","messages":[{"role":"system","content":"S"},{"role":"user","content":"U"},
				{"role":"assistant","content":""},{"role":"user","content":""}]}`,
		},
		{
			name: "chat, an image and a file, and a file alone",
			req:  Request{Messages: []schema.Message{looks(schema.RoleUser), fileOnly(schema.RoleSystem), fileOnly(schema.RoleUser)}},
			path: "/v1/chat/completions", answer: chatReply,
			want: `{"model":"small-1","messages":[{"role":"user","content":[{"type":"text","text":"See:"},
				{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":"notes"}]},
				{"role":"system","content":"notes"},{"role":"user","content":"notes"}]}`,
		},
		{
			name: "responses, images and files, of the user and of a tool", cfg: config.Target{API: "responses"},
			req:  Request{Messages: []schema.Message{looks(schema.RoleUser), looked("c1"), fileOnly(schema.RoleAssistant)}},
			path: "/v1/responses", answer: responsesReply,
			want: `{"model":"small-1","input":[{"role":"user","content":[{"type":"input_text","text":"See:"},
				{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_text","text":"notes"}]},
				{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"See:"},
				{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_text","text":"notes"}]},
				{"role":"assistant","content":"notes"}]}`,
		},
		{
			name: "responses, all", cfg: config.Target{API: "responses"}, req: conversation(), path: "/v1/responses", answer: responsesReply,
			want: `{"temperature":0,` + responsesBody + `,"text":{` + responsesFormat + `}}`,
		},
		{
			name: "responses, parameters",
			cfg: config.Target{API: "responses", Parameters: raw("temperature", "1", "max_tokens", "100",
				"reasoning", `{"effort":"low"}`, "text", `{"verbosity":"low"}`)},
			req: conversation(), path: "/v1/responses", answer: responsesReply,
			want: `{"temperature":1,"max_output_tokens":100,"reasoning":{"effort":"low"},` + responsesBody +
				`,"text":{"verbosity":"low",` + responsesFormat + `}}`,
		},
		{
			name: "responses, a format that is null is not asked for",
			cfg:  config.Target{API: "responses", Parameters: raw("text", `{"verbosity":"low","format":null}`)},
			req:  conversation(), path: "/v1/responses", answer: responsesReply,
			want: `{"temperature":0,` + responsesBody + `,"text":{"verbosity":"low"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []byte
			target := openAITarget(t, tt.cfg, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != tt.path || r.Header.Get("Authorization") != "Bearer "+testKey {
					t.Errorf("got %s with %q", r.URL.Path, r.Header.Get("Authorization"))
				}
				got, _ = io.ReadAll(r.Body)
				io.WriteString(w, tt.answer)
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

func canonical(t *testing.T, data []byte) string {
	t.Helper()
	c, err := schema.Canonical(data)
	if err != nil {
		t.Fatalf("reading a tool call: %v: %s", err, data)
	}
	return string(c)
}

// choice is a chat completion with one message.
func choice(message, finish string) string {
	return `{"model":"m","choices":[{"finish_reason":"` + finish + `","message":` + message + `}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
}

func output(items string) string {
	return `{"model":"m","status":"completed","output":[` + items + `],"usage":{"input_tokens":1,"output_tokens":2}}`
}

func TestOpenAIReads(t *testing.T) {
	said := func(finish, text string, calls ...schema.ToolCall) Reply {
		return Reply{
			Messages: []schema.Message{{Role: schema.RoleAssistant, Content: text, ToolCalls: calls}},
			Model:    "m", Finish: finish, Traced: true, Usage: verdict.Usage{Calls: 1, InputTokens: 1, OutputTokens: 2},
		}
	}
	bern, rome := functionCall("c1", "get_weather", `{"city":"Bern"}`), functionCall("c2", "get_weather", `{"city":"Rome"}`)
	const bernCall = `{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bern\"}"}}`
	const romeCall = `{"id":"c2","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}`
	tests := []struct {
		name, api, body string
		want            Reply
	}{
		{"chat, text", "chat", choice(`{"role":"assistant","content":"Hé <b>"}`, "stop"), said("stop", "Hé <b>")},
		{"chat, tool call with content null", "chat", choice(`{"content":null,"tool_calls":[`+bernCall+`]}`, "tool_calls"), said("tool_calls", "", bern)},
		{"chat, parallel tool calls with text", "chat", choice(`{"content":"Wait.","tool_calls":[`+bernCall+`,`+romeCall+`]}`, "tool_calls"), said("tool_calls", "Wait.", bern, rome)},
		{"chat, tool call without id", "chat", choice(`{"tool_calls":[{"function":{"name":"now","arguments":""}}]}`, "tool_calls"), said("tool_calls", "", functionCall("call_1_0", "now", ""))},
		{"chat, content null, cut short", "chat", choice(`{"content":null}`, "length"), said("length", "")},
		{"chat, an empty text", "chat", choice(`{"content":""}`, "stop"), said("stop", "")},
		{"chat, refusal is an answer", "chat", choice(`{"content":null,"refusal":"I won't."}`, "stop"), said("stop", "I won't.")},
		{"chat, cut short", "chat", choice(`{"content":"Half"}`, "length"), said("length", "Half")},
		{"responses, text in parts", "responses", output(`{"type":"reasoning","id":"r","summary":[]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A"},{"type":"output_text","text":"B"}]}`), said("stop", "AB")},
		{"responses, parallel calls", "responses", output(`{"type":"function_call","call_id":"c1","name":"get_weather","arguments":"{\"city\":\"Bern\"}"},
			{"type":"function_call","call_id":"c2","name":"get_weather","arguments":"{\"city\":\"Rome\"}"}`), said("tool_calls", "", bern, rome)},
		{"responses, refusal", "responses", output(`{"type":"message","content":[{"type":"refusal","refusal":"No."}]}`), said("stop", "No.")},
		{"responses, incomplete", "responses", `{"model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],"usage":{"input_tokens":1,"output_tokens":2}}`, said("length", "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target := openAITarget(t, config.Target{API: tt.api}, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, tt.body)
			})
			got, err := target.Respond(t.Context(), user("Hello"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// status answers with a status, headers given as pairs, and a body.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// cut promises more than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `{"choices":[`)
}

// endless writes more than a reply may be.
func endless(w http.ResponseWriter, _ *http.Request) {
	block := strings.Repeat(" ", 1<<20)
	for range maxReply>>20 + 1 {
		io.WriteString(w, block)
	}
}

func complains(message string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, message) }

func TestOpenAIErrors(t *testing.T) {
	format := user("Hello")
	format.Format = &Format{Name: "x", Schema: json.RawMessage(`{}`)}
	tests := []struct {
		name    string
		api     string
		req     Request
		handler http.HandlerFunc
		want    Error // Message is a part of the whole
	}{
		{name: "429, seconds", handler: status(429, complains("slow down"), "Retry-After", "7"), want: Error{Status: 429, Retry: true, After: 7 * time.Second, Message: "429 Too Many Requests: slow down" + askLess}},
		{name: "429, date", handler: status(429, "", "Retry-After", "Sun, 01 Mar 2026 12:00:30 GMT"), want: Error{Status: 429, Retry: true, After: 30 * time.Second, Message: "429"}},
		{name: "429, past date", handler: status(429, "", "Retry-After", "Sun, 01 Mar 2026 11:00:00 GMT"), want: Error{Status: 429, Retry: true, Message: "429"}},
		{name: "429, milliseconds", handler: status(429, "", "Retry-After-Ms", "250", "Retry-After", "1"), want: Error{Status: 429, Retry: true, After: 250 * time.Millisecond, Message: "429"}},
		{name: "429, limits", handler: status(429, "", "X-Ratelimit-Remaining-Requests", "5", "X-Ratelimit-Reset-Requests", "1h", "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "1m30s"), want: Error{Status: 429, Retry: true, After: 90 * time.Second, Message: "429"}},
		{name: "429, nonsense", handler: status(429, "", "Retry-After", "soon"), want: Error{Status: 429, Retry: true, Message: "429"}},
		{name: "429, far date", handler: status(429, "", "Retry-After", "Sun, 01 Mar 2037 12:00:00 GMT"), want: Error{Status: 429, Retry: true, After: 24 * time.Hour, Message: "429"}},
		{name: "429, negative", handler: status(429, "", "Retry-After", "-5"), want: Error{Status: 429, Retry: true, Message: "429"}},
		{name: "429, huge", handler: status(429, "", "Retry-After", "1e300"), want: Error{Status: 429, Retry: true, After: 24 * time.Hour, Message: "429"}},
		{name: "429, no money", handler: status(429, `{"error":{"message":"quota","code":"insufficient_quota"}}`, "Retry-After", "7"), want: Error{Status: 429, Message: "quota"}},
		{name: "500", handler: status(500, complains("boom")), want: Error{Status: 500, Retry: true, Message: "500 Internal Server Error: boom"}},
		{name: "502, page", handler: status(502, "<h1>Bad\r\ngateway\x1b[2J</h1>"), want: Error{Status: 502, Retry: true, Message: "<h1>Bad  gateway [2J</h1>"}},
		{name: "503", handler: status(503, `{"detail":"loading"}`, "Retry-After", "2"), want: Error{Status: 503, Retry: true, After: 2 * time.Second, Message: "loading"}},
		{name: "408", handler: status(408, ""), want: Error{Status: 408, Retry: true, Message: "408 Request Timeout"}},
		{name: "400", handler: status(400, `{"error":"no such model"}`), want: Error{Status: 400, Message: "400 Bad Request: no such model"}},
		{name: "401 names the variable", handler: status(401, complains("wrong key "+testKey[:12])), want: Error{Status: 401, Message: "the key in " + testKeyEnv + " is not accepted"}},
		{name: "403 with the key", handler: status(403, complains("not for "+testKey)), want: Error{Status: 403, Message: "not for [redacted]"}},
		{name: "302", handler: status(302, "", "Location", "https://elsewhere.invalid/v1"), want: Error{Message: "to https://elsewhere.invalid"}},
		{name: "307 to another host", handler: status(307, "", "Location", "http://elsewhere.invalid/v1"), want: Error{Message: "refused a redirect from http://"}},
		{name: "303 on the host", handler: status(303, "", "Location", "/v2"), want: Error{Message: "redirects without the request"}},
		{name: "304", handler: status(304, ""), want: Error{Status: 304, Message: "304 Not Modified"}},
		{name: "cut in mid-body", handler: cut, want: Error{Retry: true, Message: "read the reply: unexpected EOF"}},
		{name: "too long", handler: endless, want: Error{Status: 200, Message: "the reply is longer than 8 MiB"}},
		{name: "not JSON", handler: status(200, "<!doctype html>"), want: Error{Message: "is base_url right?"}},
		{name: "malformed JSON", handler: status(200, chatReply[:100]), want: Error{Message: "unexpected EOF"}},
		{name: "no choices", handler: status(200, `{"choices":[],"error":{"message":"upstream"}}`), want: Error{Retry: true, Message: "upstream"}},
		{name: "refusal of JSON", req: format, handler: status(200, choice(`{"refusal":"I won't."}`, "stop")), want: Error{Message: "the model refused: I won't."}},
		{name: "null", handler: status(200, choice(`{"content":null}`, "stop")), want: Error{Message: "the reply has null in the place of an answer"}},
		{name: "no content", handler: status(200, choice(`{"role":"assistant"}`, "stop")), want: Error{Message: "the reply has null in the place of an answer"}},
		{name: "filtered", handler: status(200, choice(`{"content":""}`, "content_filter")), want: Error{Message: "content filter"}},
		{name: "unknown role", req: Request{Messages: []schema.Message{{Role: "robot"}}}, handler: status(200, chatReply), want: Error{Message: `the request cannot be sent: a message has the role "robot"`}},
		{name: "an image of a tool", req: Request{Messages: []schema.Message{looked("c1")}}, handler: status(200, chatReply), want: Error{Message: "the request cannot be sent: a message of the role tool has an image"}},
		{name: "a file that is not text", req: Request{Messages: []schema.Message{binary(schema.RoleUser)}}, handler: status(200, chatReply), want: Error{Message: "the request cannot be sent: the file a.bin is not text"}},
		{name: "responses, a file that is not text", api: "responses", req: Request{Messages: []schema.Message{binary(schema.RoleUser)}}, handler: status(200, responsesReply), want: Error{Message: "the file a.bin is not text"}},
		{name: "responses, a result that is not text", api: "responses", req: Request{Messages: []schema.Message{binary(schema.RoleTool)}}, handler: status(200, responsesReply), want: Error{Message: "the file a.bin is not text"}},
		{name: "responses, an image of the assistant", api: "responses", req: Request{Messages: []schema.Message{looks(schema.RoleAssistant)}}, handler: status(200, responsesReply), want: Error{Message: "a message of the role assistant has an image"}},
		{name: "responses failed", api: "responses", handler: status(200, `{"status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}`), want: Error{Retry: true, Message: "oops"}},
		{name: "responses without output", api: "responses", handler: status(200, `{"status":"completed","output":[]}`), want: Error{Retry: true, Message: "no output"}},
		{name: "responses filtered", api: "responses", handler: status(200, `{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`), want: Error{Message: "content filter"}},
		{name: "responses, unknown role", api: "responses", req: Request{Messages: []schema.Message{{Role: "robot"}}}, handler: status(200, responsesReply), want: Error{Message: `the request cannot be sent: a message has the role "robot"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.req.Messages == nil {
				tt.req = user("Hello")
			}
			calls := 0
			target := openAITarget(t, config.Target{API: tt.api}, func(w http.ResponseWriter, r *http.Request) {
				calls++
				tt.handler(w, r)
			})
			_, err := target.Respond(t.Context(), tt.req)
			checkError(t, err, tt.want)
			if calls > 1 {
				t.Errorf("%d requests were sent", calls)
			}
		})
	}
}

// checkError compares an error with one whose message is a part.
func checkError(t *testing.T, err error, want Error) {
	t.Helper()
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("got error %v, which is no *Error", err)
	}
	if !strings.Contains(got.Said(), want.Message) {
		t.Errorf("message %q does not hold %q", got.Said(), want.Message)
	}
	if strings.Contains(err.Error(), testKey[:12]) {
		t.Errorf("the credential stands in %q", err)
	}
	want.Target, want.Message, want.Hint, want.Err = "tested", got.Message, got.Hint, got.Err
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}

func TestOpenAITimeout(t *testing.T) {
	held := make(chan struct{})
	target := openAITarget(t, config.Target{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(held)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-held
		cancel(nil)
	}()
	_, err := target.Respond(ctx, user("Hello"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	_, err = target.Respond(late, user("Hello"))
	checkError(t, err, Error{Retry: true, Message: "no reply in time"})
}

// TestBaseURLKeepsItsQuery holds that a gateway gets the path below its own and
// what it wants behind it, such as a version.
func TestBaseURLKeepsItsQuery(t *testing.T) {
	for _, tt := range []struct{ provider, want string }{
		{"openai", "/a%2Fb/chat/completions?api-version=1"},
		{"gemini", "/a%2Fb/chat/completions?api-version=1"},
		{"anthropic", "/a%2Fb/v1/messages?api-version=1"},
	} {
		var got string
		srv, env := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.URL.RequestURI()
			io.WriteString(w, chatReply)
		})
		cfg := config.Target{Provider: tt.provider, Model: "m", BaseURL: srv.URL + "/a%2Fb/?api-version=1"}
		// The answer does not matter: the test only looks at the request.
		_, _ = openTest(t, cfg, env).Respond(t.Context(), user("Hello"))
		if got != tt.want {
			t.Errorf("%s: the request went to %s, want %s", tt.provider, got, tt.want)
		}
	}
}

func TestOpenAIRefusesConfiguration(t *testing.T) {
	tests := []struct {
		name string
		cfg  config.Target
		want string
	}{
		{"no model", config.Target{}, "open target t: model is not set"},
		{"no key", config.Target{Model: "m", APIKeyEnv: "UNSET"}, "environment variable UNSET (api_key_env) is not set"},
		{"base_url", config.Target{Model: "m", BaseURL: "ftp://host/v1"}, "base_url is not an http or https URL"},
		{"base_url that does not parse", config.Target{Model: "m", BaseURL: "http://u:" + testKey + "@h:x y"}, "base_url is not a URL"},
		{"api", config.Target{Model: "m", API: "grpc"}, `there is no api "grpc"`},
		{"own field", config.Target{Model: "m", Parameters: raw("messages", "[]")}, "parameter messages cannot be configured"},
		{"streaming", config.Target{Model: "m", Parameters: raw("stream", "true")}, "parameter stream cannot be configured"},
		{"no JSON", config.Target{Model: "m", Parameters: raw("seed", "{")}, "parameter seed is not JSON"},
		{"text", config.Target{Model: "m", API: "responses", Parameters: raw("text", "1")}, "parameter text is not an object"},
		{"text format", config.Target{Model: "m", API: "responses", Parameters: raw("text", `{"format":{}}`)}, "text.format cannot be configured"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Name, tt.cfg.Provider = "t", "openai"
			_, err := New(tt.cfg, Env{Lookup: lookup})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), testKey) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}

func BenchmarkOpenAI(b *testing.B) {
	target := openAITarget(b, config.Target{}, status(200, chatReply, "Content-Type", "application/json"))
	req := conversation()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := target.Respond(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
