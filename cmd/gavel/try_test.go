package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// tryKey and tryTeam are secrets, one of them too short to be looked for in texts.
const tryKey, tryTeam = "sk-0123456789abcdef", "abc12"

// tried is a repository with an agent of its own form, which repeats its key.
func tried(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input, System string }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &asked); err != nil || r.Header.Get("Authorization") != "Bearer "+tryKey || r.Header.Get("X-Team") != tryTeam {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": "who is %s?"}`, r.Header.Get("Authorization"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", "today")
		fmt.Fprintf(w, `{"answer": "%s%s to you, %s", "steps": [{"tool": "greet", "input": {"loud": true}}], "usage": {"prompt_tokens": 1000, "completion_tokens": 500}}`,
			asked.System, asked.Input, tryKey)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	gittest.Commit(t, dir, map[string]string{"gavel.yaml": `version: 1
default_target: own
aliases: {agent: own}
targets:
  own:
    provider: http
    url: ` + server.URL + `/chat
    headers: {Authorization: {value_env: TRY_KEY, prefix: "Bearer "}, X-Team: {value_env: TRY_TEAM}}
    body: {input: "{{message}}", system: "{{system}}"}
    reply: {text: $.answer, tool_calls: "$.steps[*]", usage: $.usage}
    price: {input: 1, output: 4}
  scripted: {provider: mock, replies: [{match: bye, reply: Goodbye.}, {reply: Hello.}]}
  away: {provider: ollama, model: m, base_url: "http://127.0.0.1:1/v1"}
`})
	return dir
}

// try runs the command with the two secrets.
func try(t *testing.T, dir string, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Dir: dir, LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	code = execute(t.Context(), a, append([]string{"try"}, args...))
	return out.String(), errs.String(), code
}

// TestTry shows the request and reply without secrets, and the values that were read.
func TestTry(t *testing.T) {
	t.Parallel()
	dir, env := tried(t), map[string]string{"TRY_KEY": tryKey, "TRY_TEAM": tryTeam}
	stdout, stderr, code := try(t, dir, env, "own", "say hi")
	stdout = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(stdout, "HOST")
	stdout = regexp.MustCompile(`after \d+ ms`).ReplaceAllString(stdout, "after N ms")
	want := `POST http://HOST/chat
  Accept: application/json, text/event-stream;q=0.9, application/x-ndjson;q=0.9
  Authorization: Bearer [redacted]
  Content-Type: application/json
  X-Team: [redacted]

  {
    "input": "say hi",
    "system": ""
  }

200 OK after N ms
  Content-Length: 163
  Content-Type: application/json
  Date: today

  {
    "answer": "say hi to you, [redacted]",
    "steps": [
      {
        "tool": "greet",
        "input": {
          "loud": true
        }
      }
    ],
    "usage": {
      "prompt_tokens": 1000,
      "completion_tokens": 500
    }
  }

read from the reply of the target own
  text        say hi to you, [redacted]
  tool call   greet {"loud":true}
  tokens      1000 in, 500 out
  cost        $0.0030
`
	if diff := cmp.Diff(want, stdout); diff != "" || stderr != "" || code != exitPass {
		t.Errorf("exit code %d, %s (-want +got):\n%s", code, stderr, diff)
	}
}

// TestTryFails ends with 1 if the target does not reply, and with 2 if the call or the
// configuration is wrong.
func TestTryFails(t *testing.T) {
	t.Parallel()
	dir, env := tried(t), map[string]string{"TRY_KEY": tryKey, "TRY_TEAM": tryTeam}
	for _, tt := range []struct {
		args []string
		env  map[string]string
		code int
		want string
	}{
		{[]string{"own"}, map[string]string{"TRY_KEY": "sk-wrong-0123456", "TRY_TEAM": tryTeam}, exitGate, "error: target own: 401 Unauthorized: the key in TRY_KEY is not accepted"},
		{[]string{"away", "hi"}, env, exitGate, "error: target away: 127.0.0.1:1: "},
		{[]string{"own", "hi"}, nil, exitUsage, "environment variable TRY_KEY (header Authorization) is not set"},
		{[]string{"onw", "hi"}, env, exitUsage, "unknown target \"onw\"; did you mean `own`?"},
		{[]string{"nobody", "hi"}, env, exitUsage, `unknown target "nobody"; known: away, own, scripted`},
		{[]string{"own", "hello", "there"}, env, exitUsage, "put the message in quotes"},
	} {
		stdout, stderr, code := try(t, dir, tt.env, tt.args...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) || strings.Contains(stdout+stderr, "sk-wrong") {
			t.Errorf("%v: exit code %d, want %d and %q without the key:\n%s%s", tt.args, code, tt.code, tt.want, stdout, stderr)
		}
	}
	empty := t.TempDir()
	gittest.Init(t, empty, "master")
	if _, stderr, code := try(t, empty, env, "hi"); code != exitUsage || !strings.Contains(stderr, "gavel init") {
		t.Errorf("without a gavel.yaml: exit code %d: %s", code, stderr)
	}
}

// TestTryHints plays agents with other interfaces: the output says what to write into
// gavel.yaml, and that is right.
func TestTryHints(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Question string }
		raw, err := io.ReadAll(r.Body)
		switch {
		case err != nil || json.Unmarshal(raw, &asked) != nil || r.Header.Get("X-Token") != "key of this test":
			http.Error(w, `{"detail": "no token"}`, http.StatusUnauthorized)
		case asked.Question == "":
			http.Error(w, `{"detail": "question is missing"}`, http.StatusUnprocessableEntity)
		default:
			fmt.Fprint(w, `{"id": 7, "data": {"answer": "Thirty days."}}`)
		}
	}))
	t.Cleanup(agent.Close)
	dir, target := t.TempDir(), `provider: http, url: "`+agent.URL+`"`
	gittest.Init(t, dir, "master")
	for _, want := range []string{"headers: {X-Token: {value_env: AGENT_TOKEN}}", `body: {question: "{{message}}"}`, "reply: $.data.answer"} {
		gittest.Commit(t, dir, oneTarget(target))
		stdout, stderr, code := try(t, dir, map[string]string{"AGENT_TOKEN": "key of this test"}, "bot", "How long?")
		if code != exitGate || !strings.Contains(stdout, want) {
			t.Fatalf("with %s: exit code %d, want %q\n%s%s", target, code, want, stdout, stderr)
		}
		target += ", " + want
	}
	const object = "the text is an object; a text in it is at reply: $.data.answer"
	for _, tt := range []struct{ path, want string }{{"reply: $.data.answer", "text        Thirty days."}, {"reply: $.data", object}} {
		gittest.Commit(t, dir, oneTarget(strings.Replace(target, "reply: $.data.answer", tt.path, 1)))
		stdout, stderr, code := try(t, dir, map[string]string{"AGENT_TOKEN": "key of this test"}, "bot", "How long?")
		if code != exitPass || !strings.Contains(stdout, tt.want) || strings.Contains(stdout, object) != (tt.want == object) {
			t.Errorf("with all that was said and %s: exit code %d, want %q\n%s%s", tt.path, code, tt.want, stdout, stderr)
		}
	}
}

// TestTryJSON gives programs the same, and finds the target that the arguments mean.
func TestTryJSON(t *testing.T) {
	t.Parallel()
	dir, env := tried(t), map[string]string{"TRY_KEY": tryKey, "TRY_TEAM": tryTeam}
	type document struct {
		Target, Provider, Error string
		Request, Response       *struct {
			Method  string
			Status  int
			Headers map[string]string
			Body    any
		}
		Read *struct {
			Text  string
			Calls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			Input *int `json:"input_tokens"`
		}
		Cost *float64 `json:"cost_usd"`
	}
	get := func(args ...string) (d document) {
		stdout, stderr, _ := try(t, dir, env, append(args, "--json")...)
		if err := json.Unmarshal([]byte(stdout), &d); err != nil {
			t.Fatalf("gavel %v ended with %v, want success\n%s%s", args, err, stdout, stderr)
		}
		return d
	}
	own := get("agent", "hi", "--system", "Oh: ")
	if own.Target != "own" || own.Read.Text != "Oh: hi to you, [redacted]" || own.Read.Calls[0].Function.Arguments != `{"loud":true}` || *own.Cost != 0.003 || *own.Read.Input != 1000 {
		t.Errorf("the document is %+v, read %+v", own, own.Read)
	}
	if diff := cmp.Diff(map[string]any{"input": "hi", "system": "Oh: "}, own.Request.Body); diff != "" || own.Request.Headers["X-Team"] != "[redacted]" || own.Response.Status != 200 {
		t.Errorf("the request is %+v: %s", own.Request, diff)
	}
	if d := get("bye"); d.Target != "own" || !strings.HasPrefix(d.Read.Text, "bye to you") {
		t.Errorf("one argument that is not a target asks %s %+v, want the default target", d.Target, d.Read)
	}
	if d := get("scripted"); d.Read.Text != "Hello." || d.Request != nil || d.Provider != "mock" {
		t.Errorf("a mock gives %+v, read %+v", d, d.Read)
	}
	if d := get("away", "hi"); d.Error == "" || d.Read != nil || d.Response != nil || d.Request.Method != "POST" || d.Provider != "ollama" {
		t.Errorf("a server that is away gives %+v", d)
	}
}

// TestARunNamesTheTrial: a run without an answer names the command that shows why.
func TestARunNamesTheTrial(t *testing.T) {
	t.Parallel()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"detail": "question is missing"}`, http.StatusUnprocessableEntity)
	}))
	t.Cleanup(agent.Close)
	dir := t.TempDir()
	gittest.Init(t, dir, "master")
	files := oneTarget(`provider: http, url: "` + agent.URL + `"`)
	files[mistakeFile] = mistakeCase
	gittest.Commit(t, dir, files)
	stdout, stderr, code := gavel(t, dir, "run")
	if want := "\ngavel try bot shows what the target is sent and what it answers\n"; code != exitGate || !strings.HasSuffix(stdout, want) {
		t.Errorf("exit code %d, want %q\n%s%s", code, want, stdout, stderr)
	}
}

// TestTryFindsTheUsage names the path of numbers of tokens that the target does not read.
func TestTryFindsTheUsage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"output": {"text": "hello"}, "stats": {"prompt_tokens": 11, "completion_tokens": 4}}`)
	}))
	t.Cleanup(server.Close)
	for reply, want := range map[string]string{
		"$.output.text":                         "unknown; write usage: $.stats in reply of the target",
		"{text: $.output.text, usage: $.stats}": "11 in, 4 out",
	} {
		dir := t.TempDir()
		gittest.Init(t, dir, "main")
		gittest.Commit(t, dir, map[string]string{"gavel.yaml": "version: 1\ntargets:\n  own: {provider: http, url: " + server.URL + ", reply: " + reply + "}\n"})
		if stdout, stderr, code := try(t, dir, nil, "own", "hi"); code != exitPass || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	}
}
