package target

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

const agentHi = `{"messages":[{"role":"assistant","content":"Hi."}]}`

// agentTurns are replies that the http and the command target read alike.
var agentTurns = []struct {
	name, body string
	want       Reply
	err        string
}{
	{
		name: "all fields",
		body: `{"messages":[
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":"{\"a\":1}"}},
				{"id":"c2","function":{"name":"put","arguments":{"b": [1, 2]}}},{"id":"c3","function":{"name":"now"}}]},
			{"role":"tool","tool_call_id":"c1","name":"get","content":{"found": true}},
			{"role":"assistant","content":[{"type":"text","value":"One"},"two",{"type":"json","value":{"n": 3}},{"type":"text","text":"four"}]}],
			"model":"m-1","provider":"p","usage":{"input_tokens":5,"output_tokens":6},"metadata":{"end":true,"revision":"abc","other":1},"revision":"no"}`,
		want: Reply{
			Messages: []schema.Message{
				{Role: "assistant", ToolCalls: []schema.ToolCall{
					functionCall("c1", "get", `{"a":1}`), functionCall("c2", "put", `{"b":[1,2]}`), functionCall("c3", "now", "{}"),
				}},
				{Role: "tool", ToolCallID: "c1", Name: "get", Content: `{"found":true}`},
				{Role: "assistant", Content: "One\ntwo\n{\"n\":3}\nfour"},
			},
			Model: "m-1", Revision: "abc", End: true, Traced: true,
			Usage: verdict.Usage{Calls: 1, InputTokens: 5, OutputTokens: 6},
		},
	},
	{
		name: "other names of usage and place of revision",
		body: ` {"messages":[{"role":"assistant","content":"null"}],"usage":{"prompt_tokens":5,"completion_tokens":6},"revision":"abc","metadata":null}`,
		want: Reply{
			Messages: []schema.Message{{Role: "assistant", Content: "null"}}, Revision: "abc", Traced: true,
			Usage: verdict.Usage{Calls: 1, InputTokens: 5, OutputTokens: 6},
		},
	},
	{
		name: "an end without a word",
		body: `{"messages":[],"metadata":{"end":true}}`,
		want: Reply{Messages: []schema.Message{}, End: true, Traced: true, Usage: verdict.Usage{Calls: 1}},
	},
	{name: "no messages", body: `{"messages":[]}`, err: "the reply has no messages"},
	{name: "messages of another shape", body: `{"messages":"Hi"}`, err: "not of the form {messages: [{role, content}], model, usage, metadata}: messages cannot be a text"},
	{name: "usage of another shape", body: `{"messages":[{"role":"assistant","content":"Hi."}],"usage":{"input_tokens":1.5}}`, err: "metadata}: usage.input_tokens cannot be the number 1.5"},
	{name: "only the result of a tool", body: `{"messages":[{"role":"tool","tool_call_id":"c1","content":"rain"}]}`, err: "the reply has no message of the role assistant"},
	{name: "the whole conversation", body: `{"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi."}]}`, err: `message 1: its role is "user"`},
	{name: "call without a name", body: `{"messages":[{"role":"assistant","tool_calls":[{"id":"c"}]}]}`, err: "message 1: a tool call has no function name"},
}

func agentRequestJSON() string {
	return `{"messages":[{"role":"user","content":"Weather in Bern and Rome?"},
		{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bern\"}"}},
			{"id":"c2","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},
		{"role":"tool","content":"rain","tool_call_id":"c1","name":"get_weather"},{"role":"tool","content":"sun","tool_call_id":"c2","name":"get_weather"},
		{"role":"assistant","content":"Rain and sun."},{"role":"user","content":"As JSON."}],
		"system_prompt":"Be brief.","metadata":{"test_case_id":"shop/weather","turn_index":2}}`
}

func agentRequestValue() Request {
	req := conversation()
	req.Case, req.Turn = "shop/weather", 2
	return req
}

func TestHTTP(t *testing.T) {
	for _, tt := range agentTurns {
		t.Run(tt.name, func(t *testing.T) {
			srv, env := serve(t, status(200, tt.body, "Content-Type", "text/plain"))
			got, err := openTest(t, config.Target{Provider: "http", URL: srv.URL}, env).Respond(t.Context(), user("Hello"))
			if tt.err != "" {
				checkError(t, err, Error{Status: 200, Message: tt.err})
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHTTPSends(t *testing.T) {
	var got []byte
	srv, env := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/0a1b/7" || r.Header.Get("Authorization") != "Bearer "+testKey ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s %s with %v", r.Method, r.URL.Path, r.Header)
		}
		got, _ = io.ReadAll(r.Body)
		io.WriteString(w, agentHi)
	})
	env.Commit, env.PullRequest = "0a1b", "7"
	target := openTest(t, config.Target{Provider: "http", URLTemplate: srv.URL + "/{sha}/{pr}", APIKeyEnv: testKeyEnv}, env)
	if _, err := target.Respond(t.Context(), agentRequestValue()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canonical(t, []byte(agentRequestJSON())), canonical(t, got)); diff != "" {
		t.Error(diff)
	}
}

// TestAgentsGetPaths holds that an agent gets the paths of files and images, and does
// not get the data that only the provider of a model reads.
func TestAgentsGetPaths(t *testing.T) {
	inline := pixel
	inline.Path = ""
	raw, err := agentRequest(Request{Messages: []schema.Message{
		{Role: schema.RoleUser, Content: "See.\n\nnotes\n\n7", Blocks: []schema.Block{
			{Type: "text", Text: "See."}, pixel, inline, {Type: "file", Text: "notes", Path: "a.txt"},
			{Type: "file", Data: []byte{0xff}, Path: "a.bin"}, {Type: "json", Text: `{"n":7}`},
		}},
		{Role: schema.RoleAssistant, Content: "Seen.", Opaque: json.RawMessage(`{"content":[]}`)},
	}, Case: "shop/see"}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":[{"role":"user","content":[{"type":"text","value":"See."},{"type":"image","value":"shots/a.png"},
		{"type":"image","value":"data:image/png;base64,iVBORw0KGgo="},{"type":"file","value":"a.txt"},{"type":"file","value":"a.bin"},{"type":"json","value":{"n":7}}]},
		{"role":"assistant","content":"Seen."}],"metadata":{"test_case_id":"shop/see","turn_index":0}}`
	if diff := cmp.Diff(canonical(t, []byte(want)), canonical(t, raw)); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPErrors(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    Error
	}{
		{"error page", status(200, "<html>"), Error{Status: 200, Message: "the reply is a page and not JSON: <html>; does a sign-in or a proxy answer in the place of the agent?"}},
		{"a page with a title", status(404, "<!DOCTYPE html><title>Gone</title><p>long"), Error{Status: 404, Message: "404 Not Found: Gone; is the address in gavel.yaml right?"}},
		{"empty", status(200, ""), Error{Status: 200, Message: `the reply is empty; the agent has to answer {"messages": [`}},
		{"text", status(200, "30 days"), Error{Status: 200, Message: "the reply is not JSON: 30 days; the agent has to answer"}},
		{"an error in place of an answer", status(200, `{"error":{"code":"q1","message":"quota exceeded"}}`), Error{Status: 200, Message: "the agent answered with an error: quota exceeded; find its cause at the agent, or in its log"}},
		{"a list of errors", status(200, `{"errors":[{"message":"quota exceeded"}]}`), Error{Status: 200, Message: "the agent answered with an error: quota exceeded; find its cause at the agent, or in its log"}},
		{"an answer next to an empty error", status(200, `{"error":{"message":"none"},"answer":"30 days"}`), Error{Status: 200, Message: `the reply has no messages: {"error":{"message":"none"},"answer":"30 days"}; if its text is at $.answer, write reply: $.answer at the target`}},
		{"another object", status(200, `{"id":"7","result":{"answer":"30 days"}}`), Error{Status: 200, Message: `the reply has no messages: {"id":"7","result":{"answer":"30 days"}}; if its text is at $.result.answer, write reply: $.result.answer at the target`}},
		{"a completion of OpenAI", status(200, `{"id":"c","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"30 days"}}]}`), Error{Status: 200, Message: "write reply: $.choices[0].message.content at the target"}},
		{"a name with a hyphen", status(200, `{"the-answer":"30 days"}`), Error{Status: 200, Message: `write reply: $["the-answer"] at the target`}},
		{"not UTF-8", status(200, "{\"messages\":[{\"role\":\"assistant\",\"content\":\"Gr\xF6\xDFe\"}]}"), Error{Status: 200, Message: "the reply is not UTF-8: byte 47 is 0xF6"}},
		{"422", status(422, `{"detail":"query is required"}`), Error{Status: 422, Message: `query is required; if the agent takes another form than messages, write it at the target, such as body: {question: "{{message}}"}`}},
		{"403", status(403, "no"), Error{Status: 403, Message: "403 Forbidden: no; write api_key_env: AGENT_TOKEN at the target for a bearer token, or headers: {X-Token: {value_env: AGENT_TOKEN}} for another header"}},
		{"list", status(200, "[]"), Error{Status: 200, Message: "not a JSON object"}},
		{"cut", cut, Error{Retry: true, Message: "unexpected EOF"}},
		{"too long", endless, Error{Status: 200, Message: "longer than 8 MiB"}},
		{"503", status(503, "busy", "Retry-After", "3"), Error{Status: 503, Retry: true, After: 3 * time.Second, Message: "503 Service Unavailable: busy"}},
		{"401 without a key", status(401, "who?"), Error{Status: 401, Message: "401 Unauthorized: who?; write api_key_env: AGENT_TOKEN at the target for a bearer token, or headers: {X-Token: "}},
		{"to a metadata address", status(307, "", "Location", "http://169.254.169.254/latest"), Error{Message: "refused a redirect"}},
		{"in circles", status(307, "", "Location", "/"), Error{Message: "more than 3 redirects"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv, env := serve(t, tt.handler)
			_, err := openTest(t, config.Target{Provider: "http", URL: srv.URL}, env).Respond(t.Context(), user("Hello"))
			checkError(t, err, tt.want)
		})
	}
}

func TestHTTPFollowsItsHost(t *testing.T) {
	srv, env := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/new" {
			http.Redirect(w, r, "/new", http.StatusPermanentRedirect)
			return
		}
		if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "Hello") || r.Header.Get("Authorization") == "" {
			t.Errorf("the request did not follow: %s", body)
		}
		io.WriteString(w, agentHi)
	})
	target := openTest(t, config.Target{Provider: "http", URL: srv.URL + "/old", APIKeyEnv: testKeyEnv}, env)
	if _, err := target.Respond(t.Context(), user("Hello")); err != nil {
		t.Error(err)
	}
}

func TestHTTPUnreachable(t *testing.T) {
	srv, env := serve(t, status(200, agentHi))
	srv.Close()
	_, err := openTest(t, config.Target{Provider: "http", URL: srv.URL}, env).Respond(t.Context(), user("Hello"))
	checkError(t, err, Error{Retry: true, Message: "connection refused; start it, or correct the address in gavel.yaml"})
}

// shell opens a command target that runs a script in a folder of its own.
func shell(t testing.TB, script string, env ...string) Target {
	t.Helper()
	return openTest(t, config.Target{Provider: "command", Argv: []string{"sh", "-c", script}, Env: env},
		Env{Lookup: lookup, Dir: t.TempDir(), Programs: unboxed(t, t.TempDir()), Now: clock})
}

// unboxed runs programs as they are; what a sandbox does is tested there.
func unboxed(t testing.TB, scratch string) *sandbox.Box {
	t.Helper()
	box, err := sandbox.Open(t.Context(), sandbox.Policy{Accept: sandbox.Off, Scratch: scratch})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestCommand(t *testing.T) {
	for _, tt := range agentTurns {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shell(t, "cat >/dev/null; cat <<'END'\n"+tt.body+"\nEND").Respond(t.Context(), user("Hello"))
			if tt.err != "" {
				checkError(t, err, Error{Message: tt.err})
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCommandNotUTF8: a text that the program did not write is not judged.
func TestCommandNotUTF8(t *testing.T) {
	_, err := shell(t, `printf 'a\377b'`).Respond(t.Context(), user("Hello"))
	checkError(t, err, Error{Message: "stdout: the reply is not UTF-8: byte 2 is 0xFF; encode it as UTF-8"})
}

func TestCommandPlainText(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"lines", `printf 'One\n two \r\n\n'`, "One\n two "},
		{"JSON without messages", `echo '{"answer": 42}'`, `{"answer": 42}`},
		{"JSON list", `echo '["messages"]'`, `["messages"]`},
		{"does not read", `echo done`, "done"},
		{"stderr is not part", `echo warn >&2; echo ok`, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shell(t, tt.script).Respond(t.Context(), user(strings.Repeat("long ", 50_000)))
			if err != nil {
				t.Fatal(err)
			}
			want := Reply{Messages: []schema.Message{{Role: "assistant", Content: tt.want}}, Usage: verdict.Usage{Calls: 1}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCommandErrors(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"exit", `echo broken >&2; exit 3`, "sh: exit status 3: broken"},
		{"silent exit", `exit 3`, "sh: exit status 3: nothing on stderr"},
		{"end of stderr", `i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`, "line 2999"},
		{"prints nothing", `echo`, "the program printed nothing"},
		{"prints without end", `while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done`, "stdout is longer than 8 MiB"},
		{"control characters", `printf '\033[2Jgone' >&2; exit 1`, " [2Jgone"},
		{"killed", `kill -9 $$`, "signal: killed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := shell(t, tt.script).Respond(t.Context(), user("Hello"))
			checkError(t, err, Error{Message: tt.want})
		})
	}
}

func TestCommandSees(t *testing.T) {
	t.Setenv("GAVEL_TEST_AMBIENT", "must not be seen")
	dir, scratch := t.TempDir(), t.TempDir()
	script := `cat > "$HOME/in"; cp "$HOME/in" received; pwd > where; env > environment; [ -d "$TMPDIR" ] && echo ok`
	if err := os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	target := openTest(t, config.Target{Provider: "command", Argv: []string{"sh", "./agent.sh"}, Env: []string{testKeyEnv}},
		Env{Lookup: lookup, Dir: dir, Programs: unboxed(t, scratch)})
	if _, err := target.Respond(t.Context(), agentRequestValue()); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if diff := cmp.Diff(canonical(t, []byte(agentRequestJSON())), canonical(t, []byte(read("received")))); diff != "" {
		t.Error(diff)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(read("where")); got != dir && got != real {
		t.Errorf("ran in %s, want %s", got, dir)
	}
	names := map[string]bool{}
	for line := range strings.Lines(read("environment")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		names[name] = true
		if (name == "HOME" || name == "TMPDIR") && !strings.HasPrefix(value, scratch) {
			t.Errorf("%s is %s, want a folder in %s", name, value, scratch)
		}
	}
	// The shell adds variables of its own.
	for _, own := range []string{"PWD", "OLDPWD", "SHLVL", "_"} {
		delete(names, own)
	}
	if diff := cmp.Diff(map[string]bool{"HOME": true, "TMPDIR": true, "PATH": true, testKeyEnv: true}, names); diff != "" {
		t.Error(diff)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left %v in the scratch folder (%v)", left, err)
	}
}

// TestCommandUnset names the variable that a program misses, and no other one.
func TestCommandUnset(t *testing.T) {
	for _, tt := range []struct{ stderr, want string }{
		{`KeyError: 'OPENAI_API_KEY' in os.environ`, "write env: [OPENAI_API_KEY] at the target"},
		{"set " + testKeyEnv + " or the OTHER_KEY environment variable", "write env: [OTHER_KEY] at the target"},
		{"SQL_ERROR near WHERE_", ""},
	} {
		_, err := shell(t, `echo "`+tt.stderr+`" >&2; exit 1`, testKeyEnv).Respond(t.Context(), user("Hello"))
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.want == "" && strings.Contains(err.Error(), "write env") {
			t.Errorf("%s: the error is %v, want %q", tt.stderr, err, tt.want)
		}
	}
}
