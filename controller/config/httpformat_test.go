package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/target/httpagent"
)

// TestHTTPFormat reads every key of an http target that does not speak Gavel's own
// contract.
func TestHTTPFormat(t *testing.T) {
	cfg, problems := Parse("gavel.yaml", []byte(`version: 1
targets:
  bot:
    provider: http
    url: https://agent.example/chat
    method: PATCH
    headers:
      x-team: evals
      authorization: {value_env: AGENT_TOKEN, prefix: "Bearer "}
    query: {thread: "{{session}}"}
    body: {messages: "{{messages}}", n: 1.50, deep: [{text: "{{ system }}/{{case}}"}]}
    reply: {text: $.a, tool_calls: {each: "$.b[*]", name: $.n}, usage: $.u, stream: last}
`))
	want := httpagent.Format{
		Method: "PATCH",
		Headers: []httpagent.Header{
			{Name: "Authorization", Env: "AGENT_TOKEN", Prefix: "Bearer "}, {Name: "X-Team", Value: "evals"},
		},
		Query: []httpagent.Parameter{{Name: "thread", Value: "{{session}}"}},
		Body:  []byte(`{"deep":[{"text":"{{ system }}/{{case}}"}],"messages":"{{messages}}","n":1.5}`),
		Reply: &httpagent.Paths{Text: "$.a", ToolCalls: httpagent.CallPaths{Each: "$.b[*]", Name: "$.n"}, Usage: "$.u", Stream: "last"},
	}
	if diff := cmp.Diff(want, cfg.Targets["bot"].HTTP); diff != "" || len(problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
	if got := cfg.Targets["bot"].Variables(); !cmp.Equal(got, []string{"AGENT_TOKEN"}) {
		t.Errorf("the variables are %q, want AGENT_TOKEN", got)
	}
	all := fmt.Sprint(cfg.Targets["bot"].Identity(func(string) (string, bool) { return "s3cret", true }, nil))
	for _, part := range []string{"{method PATCH }", "{header Authorization Bearer … }", "{header X-Team evals }", "{body {", "{query thread {{session}} }", "{reply {"} {
		if !strings.Contains(all, part) {
			t.Errorf("the identity %s lacks %s", all, part)
		}
	}
	if strings.Contains(all, "s3cret") || strings.Contains(all, "AGENT_TOKEN") {
		t.Errorf("the identity has the variable or its value: %s", all)
	}
}

// TestHTTPMistakes names the place of each mistake, and what to write instead.
func TestHTTPMistakes(t *testing.T) {
	for _, tt := range []struct{ fields, want, hint string }{
		{"headers: {Authorization: Bearer s3cret}", "6:15: error: the header Authorization would put a secret into the repository", "Authorization: {value_env: AGENT_KEY}"},
		{"headers: {X-Api-Key: s3cret}", "the header X-Api-Key would put a secret", "value_env"},
		{"headers: {X-Key: {value_env: sk-s3cret-abc}}", "6:23: error: this is not the name of an environment variable", "the value stays out of the file"},
		{"headers: {X-Key: {env: KEY}}", "unknown field `env`", ""},
		{"headers: {Host: example.org}", "the header Host follows from the request itself", "remove it"},
		{"headers: {\"X Team\": a}", `"X Team" is not the name of a header`, "hyphens"},
		{"headers: {X-Team: a, x-team: b}", "the header X-Team is set twice", "remove one"},
		{"headers: {X-Team: \"a\\nb: c\"}", "the value of a header is one line", "line break"},
		{"headers: {Authorization: {value_env: A}}\n    api_key_env: B", "both say what authorizes the request", "remove one"},
		{"method: GETT", "method", "GET"},
		{"method: GET", "6:5: error: `method`: a GET request needs the conversation in its query", "add query: {q: \"{{message}}\"}"},
		{"method: GET\n    body: {a: \"{{message}}\"}", "7:5: error: `body`: a GET request has no body", "move it to query"},
		{"method: GET\n    query: {q: \"{{mesage}}\"}", "7:13: error: `query`: there is no {{mesage}} to fill in", "did you mean `message`?"},
		{"query: {api_key: s3cret}", "6:13: error: the parameter api_key would put a secret into the repository", "headers: {Authorization: {value_env: AGENT_KEY}}"},
		{"headers: {x-session: \"{{message}}\"}", "6:15: error: `headers`: {{message}} does not fit here", "only {{session}} is known"},
		{"headers: {x-session: \"{{sesion}}\"}", "6:15: error: `headers`: there is no {{sesion}} to fill in", "did you mean `session`?"},
		{"body: {input: \"{{mesages}}\"}", "6:12: error: `body`: there is no {{mesages}} to fill in", "did you mean `messages`?"},
		{"body: {a: [{b: \"{{user}}\"}]}", "6:17: error: `body`: there is no {{user}} to fill in", "there are {{messages}}, {{message}}"},
		{"body: {input: \"{{message\"}", "a {{ is not closed by }}", "write {{message}}"},
		{"body: {system: \"{{system}}\"}", "6:5: error: `body`: it does not contain the conversation", "add {{messages}}"},
		{"reply: choices[0].text", `6:5: error: "choices[0].text" is not a JSONPath: `, "$.output.text"},
		{"reply: {text: $.a, usage: \"$.u[\"}", `6:24: error: "$.u[" is not a JSONPath: `, "RFC 9535"},
		{"reply: {text: $.a, tool_calls: {each: $.c, name: n}}", `"n" is not a JSONPath: `, "RFC 9535"},
		{"reply: {usage: $.u}", "text", ""},
		{"reply: \"\"", "`reply` does not say where the agent's text is", "add text"},
		{"revision: reply\n    reply: $.a", "`revision: reply` needs the place of the revision", "add revision: $.version"},
	} {
		_, problems := Parse("gavel.yaml", []byte("version: 1\ntargets:\n  bot:\n    provider: http\n    url: https://agent.example\n    "+tt.fields+"\n"))
		found := false
		for _, p := range problems {
			found = found || strings.Contains(p.String(), tt.want) && strings.Contains(p.Hint, tt.hint)
			if strings.Contains(p.String()+p.Hint, "s3cret") {
				t.Errorf("%s: the message shows the secret: %s", tt.fields, p)
			}
		}
		if !found {
			t.Errorf("%s: the problems are %v, want %q with the hint %q", tt.fields, problems, tt.want, tt.hint)
		}
	}
}

// TestPresetMistakes asks for what differs from account to account, and explains
// fields by the name that was written.
func TestPresetMistakes(t *testing.T) {
	for _, tt := range []struct{ fields, want, hint string }{
		{"provider: azure\n    model: m", "a target of provider azure needs `base_url`", "add base_url: https://RESOURCE.openai.azure.com/openai/v1"},
		{"provider: ollama", "a target of provider ollama needs `model`", "add model: …"},
		{"provider: ollama\n    model: m\n    url: http://localhost", "`url` means nothing to provider ollama; it is a field of http", "remove it"},
		{"provider: olama\n    model: m", "provider", "ollama"},
	} {
		_, problems := Parse("gavel.yaml", []byte("version: 1\ntargets:\n  bot:\n    "+tt.fields+"\n"))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, tt.want) || !strings.Contains(problems[0].Hint, tt.hint) {
			t.Errorf("%q: the problems are %v, want %q with the hint %q", tt.fields, problems, tt.want, tt.hint)
		}
	}
}

// TestPresetIsOpenAI: a target by the name of a server and one by its address are
// the same to a digest.
func TestPresetIsOpenAI(t *testing.T) {
	identity := func(fields string) []Property {
		cfg, problems := Parse("gavel.yaml", []byte("version: 1\ntargets: {bot: {"+fields+", model: m}}\n"))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return cfg.Targets["bot"].Identity(nil, nil)
	}
	if diff := cmp.Diff(identity("provider: ollama"), identity("provider: openai, base_url: http://localhost:11434/v1")); diff != "" {
		t.Error(diff)
	}
}

// TestAgentsPage holds the configurations of the page for readers against the schema.
func TestAgentsPage(t *testing.T) {
	page, err := os.ReadFile("../../examples/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if _, problems := Parse("gavel.yaml", []byte(text)); len(problems) > 0 {
			t.Errorf("%v in\n%s", problems, text)
		}
	}
	if len(blocks) < 5 {
		t.Errorf("%d configurations are on the page, want at least 5", len(blocks))
	}
}
