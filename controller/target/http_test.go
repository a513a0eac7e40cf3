package target

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// anAgent is a server of somebody's own that keeps what it is sent.
type anAgent struct {
	url    string
	method string
	query  string
	header http.Header
	body   string
}

func serveAgent(t *testing.T, contentType, reply string) *anAgent {
	t.Helper()
	a := &anAgent{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a.method, a.query, a.header, a.body = r.Method, r.URL.RawQuery, r.Header, string(body)
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, reply)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// configured opens the only target of a gavel.yaml.
func configured(t *testing.T, fields string, env map[string]string) Target {
	t.Helper()
	cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ntargets:\n  bot:\n"+fields))
	if len(problems) > 0 {
		t.Fatalf("the configuration has problems: %v", problems)
	}
	target, err := New(cfg.Targets["bot"], Env{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// wireFormats are agents as they are deployed, each with its own form of requests
// and replies.
var wireFormats = []struct {
	name, fields       string
	contentType, reply string
	body               string
	want               Reply
}{
	{
		name: "LangServe",
		fields: `    body: {input: {messages: "{{messages}}"}, config: {tags: ["{{case}}#{{turn}}"]}}
    reply: {text: "$.output.content", tool_calls: "$.output.tool_calls[*]", usage: "$.output.usage_metadata"}
`,
		contentType: "application/json",
		reply: `{"output": {"content": "Thirty days.", "type": "ai", "tool_calls": [{"name": "policy", "args": {"topic": "refund"}, "id": "t1", "type": "tool_call"}],
			"usage_metadata": {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14}}, "metadata": {"run_id": "1"}}`,
		body: `{"config":{"tags":["shop/refund#1"]},"input":{"messages":[{"content":"Hi","role":"user"},{"content":"Hello.","role":"assistant"},{"content":"How long for \"a\" refund?","role":"user"}]}}`,
		want: Reply{Traced: true, Usage: verdict.Usage{Calls: 1, InputTokens: 11, OutputTokens: 3}, Messages: []schema.Message{
			{Role: "assistant", ToolCalls: []schema.ToolCall{functionCall("t1", "policy", `{"topic":"refund"}`)}},
			{Role: "assistant", Content: "Thirty days."},
		}},
	},
	{
		name: "Rasa", fields: `    body: {sender: "{{case}}", message: "{{message}}"}
    reply: "$[*].text"
`,
		contentType: "application/json", reply: `[{"recipient_id": "x", "text": "Thirty days."}, {"recipient_id": "x", "image": "i"}, {"recipient_id": "x", "text": "Anything else?"}]`,
		body: `{"message":"How long for \"a\" refund?","sender":"shop/refund"}`,
		want: Reply{Usage: verdict.Usage{Calls: 1}, Messages: []schema.Message{{Role: "assistant", Content: "Thirty days.\nAnything else?"}}},
	},
	{
		name: "Anthropic's blocks", fields: `    method: PUT
    body: {model: fixed, max_tokens: 10, system: "Be kind. {{system}}", messages: "{{messages}}"}
    reply: {text: "$.content[?@.type=='text'].text", tool_calls: "$.content[?@.type=='tool_use']", usage: $.usage, model: $.model}
`,
		contentType: "application/json; charset=utf-8",
		reply: `{"model": "m-1", "content": [{"type": "text", "text": "Thirty days."}, {"type": "tool_use", "id": "t1", "name": "policy", "input": {"n": 12345678901234567890}}],
			"usage": {"input_tokens": 5, "output_tokens": 2}}`,
		body: `{"max_tokens":10,"messages":[{"content":"Hi","role":"user"},{"content":"Hello.","role":"assistant"},{"content":"How long for \"a\" refund?","role":"user"}],"model":"fixed","system":"Be kind. Never lie."}`,
		want: Reply{Traced: true, Model: "m-1", Usage: verdict.Usage{Calls: 1, InputTokens: 5, OutputTokens: 2}, Messages: []schema.Message{
			{Role: "assistant", ToolCalls: []schema.ToolCall{functionCall("t1", "policy", `{"n":12345678901234567890}`)}},
			{Role: "assistant", Content: "Thirty days."},
		}},
	},
	{
		name: "a stream of OpenAI's chunks", fields: `    body: {stream: true, messages: "{{messages}}"}
    reply: {text: "$.choices[0].delta.content", tool_calls: "$.choices[0].delta.tool_calls[*]", usage: $.usage, model: $.model}
`,
		contentType: "text/event-stream",
		reply: ": ping\r\n\r\n" + `data: {"model":"m","choices":[{"delta":{"role":"assistant","content":""}}]}` + "\r\n\r\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"policy","arguments":""}}]}}]}` + "\r\n\r\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}` + "\r\n\r\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}` + "\r\n\r\n" +
			`data: {"choices":[{"delta":{"content":"Thirty "}}]}` + "\r\n\r\n" + `data: {"choices":[{"delta":{"content":"days."}}]}` + "\r\n\r\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":4}}` + "\r\n\r\n" + "data: [DONE]\r\n\r\n",
		body: `{"messages":[{"content":"Hi","role":"user"},{"content":"Hello.","role":"assistant"},{"content":"How long for \"a\" refund?","role":"user"}],"stream":true}`,
		want: Reply{Traced: true, Model: "m", Usage: verdict.Usage{Calls: 1, InputTokens: 7, OutputTokens: 4}, Messages: []schema.Message{
			{Role: "assistant", ToolCalls: []schema.ToolCall{functionCall("c1", "policy", `{"a":1}`)}},
			{Role: "assistant", Content: "Thirty days."},
		}},
	},
	{
		name: "Dify's stream", fields: `    body: {query: "{{message}}", inputs: {}, response_mode: streaming}
    reply: {text: "$.answer", usage: "$.metadata.usage"}
`,
		contentType: "text/event-stream; charset=utf-8",
		reply: `data: {"event": "message", "answer": "Thirty"}` + "\n\nevent: ping\n\n" + `data: {"event": "message", "answer": " days."}` + "\n\n" +
			`data: {"event": "message_end", "metadata": {"usage": {"prompt_tokens": 3, "completion_tokens": 9}}}`,
		body: `{"inputs":{},"query":"How long for \"a\" refund?","response_mode":"streaming"}`,
		want: Reply{Usage: verdict.Usage{Calls: 1, InputTokens: 3, OutputTokens: 9}, Messages: []schema.Message{{Role: "assistant", Content: "Thirty days."}}},
	},
	{
		name: "lines of JSON, the last with all of it", fields: `    body: ["{{message}}", "{{history}}"]
    reply: {text: "$.text", stream: last, end: $.done, revision: $.version}
    revision: reply
`,
		contentType: "application/x-ndjson", reply: "{\"text\": \"Thirty\"}\n{\"text\": \"Thirty days.\"}\n\n{\"done\": true, \"version\": \"abc\"}\n",
		body: `["How long for \"a\" refund?",[{"content":"Hi","role":"user"},{"content":"Hello.","role":"assistant"}]]`,
		want: Reply{End: true, Revision: "abc", Usage: verdict.Usage{Calls: 1}, Messages: []schema.Message{{Role: "assistant", Content: "Thirty days."}}},
	},
	{
		name: "calls of a form of their own", fields: `    reply: {text: $.said, tool_calls: {each: "$.steps[?@.kind=='tool']", name: $.what.id, arguments: $.what.with, result: $.got}}
`,
		contentType: "application/json", reply: `{"said": "Thirty days.", "steps": [{"kind": "thought"}, {"kind": "tool", "what": {"id": "policy", "with": {"a": 1}}, "got": {"days": 30}}]}`,
		body: `{"messages":[{"content":"Hi","role":"user"},{"content":"Hello.","role":"assistant"},{"content":"How long for \"a\" refund?","role":"user"}],"metadata":{"test_case_id":"shop/refund","turn_index":1},"system_prompt":"Never lie."}`,
		want: Reply{Traced: true, Usage: verdict.Usage{Calls: 1}, Messages: []schema.Message{
			{Role: "assistant", ToolCalls: []schema.ToolCall{functionCall("call_3_0", "policy", `{"a":1}`)}},
			{Role: "tool", ToolCallID: "call_3_0", Name: "policy", Content: `{"days":30}`},
			{Role: "assistant", Content: "Thirty days."},
		}},
	},
	{
		name: "Gavel's own contract in a stream", contentType: "text/event-stream",
		reply: "data: {\"status\": \"thinking\"}\n\ndata: {\"messages\": [{\"role\": \"assistant\", \"content\": \"Thirty days.\"}]}\n\n",
		body:  `{"messages":[{"content":"Hi","role":"user"},{"content":"Hello.","role":"assistant"},{"content":"How long for \"a\" refund?","role":"user"}],"metadata":{"test_case_id":"shop/refund","turn_index":1},"system_prompt":"Never lie."}`,
		want:  Reply{Traced: true, Usage: verdict.Usage{Calls: 1}, Messages: []schema.Message{{Role: "assistant", Content: "Thirty days."}}},
	},
}

// aTurn is the second turn of a conversation.
func aTurn() Request {
	return Request{System: "Never lie.", Case: "shop/refund", Turn: 1, Messages: []schema.Message{
		{Role: "user", Content: "Hi"}, {Role: "assistant", Content: "Hello."}, {Role: "user", Content: `How long for "a" refund?`},
	}}
}

// TestHTTPFormats asks agents of other forms over the wire.
func TestHTTPFormats(t *testing.T) {
	t.Parallel()
	for _, tt := range wireFormats {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			agent := serveAgent(t, tt.contentType, tt.reply)
			target := configured(t, "    provider: http\n    url: "+agent.url+"\n"+tt.fields, nil)
			got, err := target.Respond(t.Context(), aTurn())
			if err != nil {
				t.Fatal(err)
			}
			got.Latency = 0
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the reply is read otherwise (-want +got):\n%s", diff)
			}
			if sent := string(canonical(t, []byte(agent.body))); sent != tt.body {
				t.Errorf("the request is\n%s\nwant\n%s", sent, tt.body)
			}
			if want := map[bool]string{true: http.MethodPut, false: http.MethodPost}[strings.Contains(tt.fields, "PUT")]; agent.method != want {
				t.Errorf("the method is %s, want %s", agent.method, want)
			}
		})
	}
}

// TestHTTPHeaders sends what gavel.yaml says and what variables hold, and says of a
// reply of 401 whose key is not accepted.
func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	agent := serveAgent(t, "application/json", `{"text": "the key is s3cret-value"}`)
	fields := "    provider: http\n    url: " + agent.url + `
    headers: {x-team: evals, Authorization: {value_env: AGENT_KEY, prefix: "Token "}, Accept: text/plain}
    reply: $.answer
`
	env := map[string]string{"AGENT_KEY": "s3cret-value\n"}
	_, err := configured(t, fields, env).Respond(t.Context(), aTurn())
	if err == nil || !strings.Contains(err.Error(), "the reply has nothing at $.answer; it has $.text") {
		t.Errorf("the error is %v, want one that says what the reply has", err)
	}
	if agent.header.Get("Authorization") != "Token s3cret-value" || agent.header.Get("X-Team") != "evals" || agent.header.Get("Accept") != "text/plain" {
		t.Errorf("the headers are %v", agent.header)
	}
	cfg, _ := config.Parse("gavel.yaml", []byte("version: 1\ntargets:\n  bot:\n"+fields))
	if _, err := New(cfg.Targets["bot"], Env{}); err == nil || !strings.Contains(err.Error(), "environment variable AGENT_KEY (header Authorization) is not set") {
		t.Errorf("without the variable the error is %v", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, "no: s3cret-value")
	}))
	defer server.Close()
	_, err = configured(t, strings.Replace(fields, agent.url, server.URL, 1), env).Respond(t.Context(), aTurn())
	if err == nil || !strings.Contains(err.Error(), "the key in AGENT_KEY is not accepted") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error is %v, want one that names the variable and not its value", err)
	}
}

// TestHTTPGet asks without a body. The message cannot change the rest of the URL.
func TestHTTPGet(t *testing.T) {
	t.Parallel()
	agent := serveAgent(t, "application/json", `{"text": "Thirty days."}`)
	target := configured(t, "    provider: http\n    url: "+agent.url+`/ask?lang=en
    method: GET
    query: {q: "{{message}}", thread: "t-{{session}}", lang: de}
    headers: {X-Session: "{{session}}"}
    reply: $.text
`, nil)
	turn := aTurn()
	turn.Session = "S1"
	turn.Messages[2].Content = "a&q=b#c/../é"
	got, err := target.Respond(t.Context(), turn)
	if err != nil || got.Messages[0].Content != "Thirty days." {
		t.Fatalf("the reply is %+v, %v", got, err)
	}
	if want := "lang=de&q=a%26q%3Db%23c%2F..%2F%C3%A9&thread=t-S1"; agent.query != want || agent.method != http.MethodGet || agent.body != "" {
		t.Errorf("%s with the query %s and the body %q, want %s", agent.method, agent.query, agent.body, want)
	}
	if agent.header.Get("X-Session") != "S1" || agent.header.Get("Content-Type") != "" {
		t.Errorf("the headers are %v", agent.header)
	}
}

// TestHTTPUnreadable has unreadable replies and their errors.
func TestHTTPUnreadable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ reply, fields, contentType, want string }{
		{"<html>", "reply: $.a", "text/html", "the reply is a page and not JSON: <html>"},
		{"30 days", "reply: $.a", "text/plain", "the reply is not JSON: 30 days"},
		{`{"error": {"message": "quota exceeded"}}`, "reply: $.a", "application/json", "the agent answered with an error: quota exceeded; find its cause at the agent, or in its log"},
		{`{"b": "x"}`, "reply: $.a", "application/json", "the reply has nothing at $.a; it has $.b; if its text is at $.b, write reply: $.b at the target"},
		{`{"b": 1, "c": [2]}`, "reply: $.a", "application/json", "the reply has nothing at $.a; it has $.b, $.c"},
		{`{"a": null}`, "reply: $.a", "application/json", "the reply has null at $.a, and no tool call"},
		{`{"a": "x", "u": 3}`, "reply: {text: $.a, usage: $.u}", "application/json", "usage: $.u is not an object but 3"},
		{`{"a": "x", "t": ["y"]}`, `reply: {text: $.a, tool_calls: "$.t[*]"}`, "application/json", "finds y, which is not an object"},
		{`{"a": "x", "t": [{"args": {}}]}`, `reply: {text: $.a, tool_calls: "$.t[*]"}`, "application/json", "a call has no name"},
		{`{"a": "x", "t": [{"name": "f", "args": "{"}]}`, `reply: {text: $.a, tool_calls: "$.t[*]"}`, "application/json", "the arguments of f are not JSON"},
		{"event: error\ndata: {\"message\": \"overloaded\"}\n\n", "reply: $.a", "text/event-stream", `the stream has an error: {"message": "overloaded"}`},
		{"data: {\"b\": 1}\n\n", "reply: $.a", "text/event-stream", "none of the 1 events of the reply has anything at $.a; one has $.b"},
	} {
		agent := serveAgent(t, tt.contentType, tt.reply)
		_, err := configured(t, "    provider: http\n    url: "+agent.url+"\n    "+tt.fields+"\n", nil).Respond(t.Context(), aTurn())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s: the error is %v, want %q", tt.fields, tt.reply, err, tt.want)
		}
	}
}

// TestPresets asks every server that has a name as a provider, and compares the
// address, the header and the variable with what was asked.
func TestPresets(t *testing.T) {
	t.Parallel()
	for _, want := range []struct{ name, base, header, env string }{
		{"azure", "https://shop.openai.azure.com/openai/v1", "Api-Key: k", "AZURE_OPENAI_API_KEY"},
		{"bedrock", "https://bedrock-mantle.us-east-1.api.aws/v1", "Authorization: Bearer k", "AWS_BEARER_TOKEN_BEDROCK"},
		{"groq", "https://api.groq.com/openai/v1", "Authorization: Bearer k", "GROQ_API_KEY"},
		{"lmstudio", "http://localhost:1234/v1", "", ""},
		{"ollama", "http://localhost:11434/v1", "", ""},
		{"openrouter", "https://openrouter.ai/api/v1", "Authorization: Bearer k", "OPENROUTER_API_KEY"},
		{"together", "https://api.together.ai/v1", "Authorization: Bearer k", "TOGETHER_API_KEY"},
		{"vertex", "https://us-east1-aiplatform.googleapis.com/v1/projects/p/locations/us-east1/endpoints/openapi", "Authorization: Bearer k", "GOOGLE_OAUTH_ACCESS_TOKEN"},
		{"vllm", "http://localhost:8000/v1", "", ""},
	} {
		fields := "    provider: " + want.name + "\n    model: m\n"
		if want.name == "azure" || want.name == "bedrock" || want.name == "vertex" {
			fields += "    base_url: " + want.base + "\n"
		}
		cfg, problems := config.Parse("gavel.yaml", []byte("version: 1\ntargets:\n  bot:\n"+fields))
		if len(problems) > 0 {
			t.Fatalf("the target %s has problems, want none: %v", want.name, problems)
		}
		var sent *http.Request
		target, err := New(cfg.Targets["bot"], Env{
			Lookup: func(variable string) (string, bool) { return "k", variable == want.env && want.env != "" },
			Transport: carrier(func(r *http.Request) (*http.Response, error) {
				sent = r
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(
					`{"model": "m", "choices": [{"message": {"role": "assistant", "content": "yes"}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}`))}, nil
			}),
		})
		if err != nil {
			t.Fatalf("opening the target %s returns %v, want no error", want.name, err)
		}
		if reply, err := target.Respond(t.Context(), aTurn()); err != nil || reply.Messages[0].Content != "yes" {
			t.Errorf("%s: the reply is %v, %v", want.name, reply, err)
		}
		if sent.URL.String() != want.base+"/chat/completions" {
			t.Errorf("%s: asked %s, want %s/chat/completions", want.name, sent.URL, want.base)
		}
		header, value, _ := strings.Cut(want.header, ": ")
		for _, other := range []string{"Authorization", "Api-Key"} {
			if got := sent.Header.Get(other); (other == header) != (got != "") || other == header && got != value {
				t.Errorf("%s: the header %s is %q, want %q", want.name, other, got, want.header)
			}
		}
	}
}

// carrier is a transport.
type carrier func(*http.Request) (*http.Response, error)

func (f carrier) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
