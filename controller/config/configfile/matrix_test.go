package configfile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
)

// TestProvidersOfMatrixFiles: a provider that a promptfooconfig.yaml names is the target
// that gavel.yaml would have.
func TestProvidersOfMatrixFiles(t *testing.T) {
	for _, tt := range []struct{ written, name, same string }{
		{"openai:chat:gpt-5", "openai:chat:gpt-5", "provider: openai, model: gpt-5, api_key_env: OPENAI_API_KEY"},
		{"openai:gpt-5", "openai:gpt-5", "provider: openai, model: gpt-5, api_key_env: OPENAI_API_KEY"},
		{"openai:responses:gpt-5", "openai:responses:gpt-5", "provider: openai, model: gpt-5, api: responses, api_key_env: OPENAI_API_KEY"},
		{"openai:embedding:small", "openai:embedding:small", "provider: openai, model: small, api: embeddings, api_key_env: OPENAI_API_KEY"},
		{"{id: 'openai:gpt-5', label: hot, config: {temperature: 1, max_tokens: 9, presence_penalty: 2, apiKeyEnvar: KEY}}", "hot", "provider: openai, model: gpt-5, temperature: 1, max_tokens: 9, parameters: {presence_penalty: 2}, api_key_env: KEY"},
		{"{'openai:gpt-5': {label: cold, config: {temperature: 0}}}", "cold", "provider: openai, model: gpt-5, temperature: 0, api_key_env: OPENAI_API_KEY"},
		{"file://p.yaml", "file://p.yaml", "provider: openai, model: gpt-5, temperature: 1, api_key_env: OPENAI_API_KEY"},
		{"anthropic:messages:claude", "anthropic:messages:claude", "provider: anthropic, model: claude, api_key_env: ANTHROPIC_API_KEY"},
		{"google:gemini-2.5-pro", "google:gemini-2.5-pro", "provider: gemini, model: gemini-2.5-pro, api_key_env: GEMINI_API_KEY"},
		{"'ollama:chat:llama3:8b'", "ollama:chat:llama3:8b", "provider: ollama, model: 'llama3:8b'"},
		{"openrouter:meta/llama", "openrouter:meta/llama", "provider: openrouter, model: meta/llama"},
		{"mistral:small", "mistral:small", "provider: openai, model: small, base_url: 'https://api.mistral.ai/v1', api_key_env: MISTRAL_API_KEY"},
		{"{id: 'azure:chat:d', config: {apiHost: r.openai.azure.com}}", "azure:chat:d", "provider: azure, model: d, base_url: 'https://r.openai.azure.com/openai/v1'"},
		{"echo", "echo", "provider: mock, replies: [{echo: true, echo_chat: true}], price: {input: 0, output: 0}"},
		{"'exec: ./agent.sh'", "exec: ./agent.sh", `provider: command, argv: [sh, -c, ' ./agent.sh "$2" "$1" "$3"', sh, '{"config":{},"id":"exec: ./agent.sh"}'], prompt: argument, row: true`},
		{"{id: 'https://a.example/chat', config: {method: POST, body: {q: '{{prompt}}'}, transformResponse: 'json.choices[0].text'}}", "https://a.example/chat", "provider: http, url: 'https://a.example/chat', method: POST, body: {q: '{{message}}'}, reply: '$.choices[0].text'"},
		{"{id: 'https://a.example/chat', config: {body: {q: '{{prompt}}'}, transformResponse: '(json, text) => json.out'}}", "https://a.example/chat", "provider: http, url: 'https://a.example/chat', body: {q: '{{message}}'}, reply: '$.out'"},
		{"{id: 'https://a.example/chat', config: {body: {q: '{{prompt}}'}, transformResponse: 'r => r.out[0];'}}", "https://a.example/chat", "provider: http, url: 'https://a.example/chat', body: {q: '{{message}}'}, reply: '$.out[0]'"},
	} {
		got, problems := added(t, ownTarget, map[string]string{"promptfooconfig.yaml": "prompts: [x]\nproviders: [" + tt.written + "]\ntests: []\n", "p.yaml": "id: openai:gpt-5\nconfig: {temperature: 1}\n"})
		want, wrong := config.Parse("gavel.yaml", []byte("version: 1\ndefault_target: x\ntargets: {x: {"+tt.same+"}}"))
		if schema.HasErrors(wrong) || len(problems)+len(got.Unusable) > 0 {
			t.Errorf("%s: as in gavel.yaml it has the problems %v; the file has the problems %v, and unusable are %v", tt.written, wrong, problems, got.Unusable)
		}
		if diff := cmp.Diff(want.Targets["x"], got.Targets[tt.name], cmpopts.IgnoreFields(config.Target{}, "File", "Name", "AddressAt")); diff != "" {
			t.Errorf("%s (-as in gavel.yaml +as read):\n%s", tt.written, diff)
		}
	}
}

// TestProgramsAsProviders are started with the file that is named, from the folder of
// the definition.
func TestProgramsAsProviders(t *testing.T) {
	c, _ := added(t, ownTarget, map[string]string{"test_definitions/promptfooconfig.yaml": "prompts: [x]\nproviders: [{id: 'file://p.py:ask', config: {tone: kind, depth: [1]}}, 'python:q.py', 'file://r.mjs']\ntests: []\n"})
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"file://p.py:ask", []string{"python3", "test_definitions/p.py", "ask", `{"config":{"depth":[1],"tone":"kind"},"id":"file://p.py:ask"}`}}, {"python:q.py", []string{"python3", "test_definitions/q.py", "call_api", `{"config":{},"id":"python:q.py"}`}}, {"file://r.mjs", []string{"node", "test_definitions/r.mjs", `{"config":{},"id":"file://r.mjs"}`}},
	} {
		argv := c.Targets[tt.name].Argv
		if len(argv) < 3 || !slices.Equal(slices.Delete(slices.Clone(argv), 1, 3), tt.want) {
			t.Errorf("%s: argv %q, want %q besides the program", tt.name, argv, tt.want)
		}
		if !c.Targets[tt.name].TakesRow {
			t.Errorf("%s is not told the row", tt.name)
		}
	}
}

// TestUnusableProviders say why, at their line, and cost the others nothing.
func TestUnusableProviders(t *testing.T) {
	for _, tt := range []struct{ written, want string }{
		{"{id: 'openai:x', config: {apiKey: sk-1}}", "`apiKey` would put a secret into the repository"},
		{"{id: 'openai:x', config: {model: '{{env.M}}'}}", "`model` is filled in when it is asked"},
		{"{id: 'file://p.py', config: {key: '{{env.KEY}}'}}", "its config has a template, which is filled in when it is asked"},
		{"{id: 'exec: ./a.sh', config: {of: 'file://c.json'}}", "its config names a file, which is not read"},
		{"'openai:assistant:asst_1'", "models of the kind assistant are not asked"},
		{"file://gone.yaml", "the file gone.yaml cannot be read"},
		{"file://empty.yaml", "the file empty.yaml does not have the `id` of a provider"},
		{"vendor:x", `the provider "vendor:x" is not known here`},
		{"'{{ env.AGENT }}'", `the variable AGENT is not filled in, and so the provider "{{ env.AGENT }}" is not known here`},
		{"'https://a.example'", "its config does not say where the answer is in a reply (`transformResponse`)"},
		{"{id: 'https://a.example', config: {headers: {Authorization: x}}}", "the header Authorization may be a secret"},
		{"{id: 'https://a.example', config: {transformResponse: 'f => f.x.y()'}}", "`transformResponse` of its config is a function"},
		{"{id: 'https://a.example', config: {transformResponse: '(json, text) => text'}}", "`transformResponse` of its config is a function"},
		{"file://p.ts", "a provider in a .ts file is not run"},
	} {
		c, _ := added(t, ownTarget, map[string]string{"promptfooconfig.yaml": "prompts: [x]\nproviders:\n- echo\n- " + tt.written + "\ntests: []\n", "empty.yaml": "label: x\n"})
		if _, ok := c.Targets["echo"]; !ok || len(c.Unusable) != 1 {
			t.Errorf("%s: targets %v, unusable %v", tt.written, c.Targets, c.Unusable)
		}
		for _, p := range c.Unusable {
			if p.Message != tt.want || p.Line != 4 {
				t.Errorf("%s: %v, want %q in line 4", tt.written, p, tt.want)
			}
		}
	}
}

// TestProvidersOfSeveralFiles: gavel.yaml wins, files with another target under one name
// keep theirs, and the providers of judges count, too. Tests in these files are not
// configuration.
func TestProvidersOfSeveralFiles(t *testing.T) {
	one := "prompts: [x]\nproviders: [{id: 'openai:m', config: {temperature: 0}}, {id: 'openai:m', config: {temperature: 1}}, bot]\ndefaultTest: {options: {provider: 'openai:judge'}}\ntests: [{assert: [{type: similar, value: x, provider: {embedding: {id: 'openai:embedding:e'}}}]}]\n"
	two := "prompts: [x]\nproviders: [{id: 'openai:m', config: {temperature: 2}}]\ntests: []\n"
	c, _ := added(t, ownTarget, map[string]string{"promptfooconfig.yaml": one, "test_definitions/promptfooconfig.two.yaml": two})
	heat := func(name string) string { return string(c.Targets[name].Parameters["temperature"]) }
	if heat("openai:m") != "0" || heat("openai:m #2") != "1" || heat("openai:m (test_definitions/promptfooconfig.two.yaml)") != "2" {
		t.Errorf("targets %v", c.Targets)
	}
	if c.Targets["openai:judge"].Model != "judge" || c.Targets["openai:embedding:e"].API != "embeddings" || c.Targets["bot"].Provider != config.Mock {
		t.Errorf("targets %v", c.Targets)
	}
	again, _ := added(t, ownTarget, map[string]string{"promptfooconfig.yaml": strings.Replace(one, "value: x", "value: y", 1), "test_definitions/promptfooconfig.two.yaml": two})
	if diff := cmp.Diff(c.TargetsFiles, again.TargetsFiles); diff != "" || c.Digest != again.Digest {
		t.Errorf("a changed test changes the configuration: %s", diff)
	}
	other, _ := added(t, ownTarget, map[string]string{"promptfooconfig.yaml": strings.Replace(one, "temperature: 0", "temperature: 0.5", 1), "test_definitions/promptfooconfig.two.yaml": two})
	if got := c.ChangedFiles(other, "gavel.yaml"); !slices.Equal(got, []string{"promptfooconfig.yaml"}) {
		t.Errorf("a changed provider changes %q, want its file", got)
	}
}

// TestUnreadConfig: a key of a config that is not read is a warning at its place, and the model
// is asked without it. Tools are read with the tests.
func TestUnreadConfig(t *testing.T) {
	c, problems := added(t, ownTarget, map[string]string{"promptfooconfig.yaml": "prompts: [x]\nproviders:\n- id: openai:chat:x\n  config:\n    tools: [{name: a}]\n    tool_choice: auto\n    stop: [a]\n    passthrough: {a: 1}\ntests: []\n"})
	x, ok := c.Targets["openai:chat:x"]
	if !ok || len(x.Parameters) != 2 || string(x.Parameters["tool_choice"]) != `"auto"` {
		t.Errorf("the target is %+v, want one with the parameters stop and tool_choice", x)
	}
	want := "`passthrough` of the config of the provider \"openai:chat:x\" is not read; the model is asked without it"
	if len(problems) != 1 || problems[0].Message != want || problems[0].Line != 8 {
		t.Errorf("problems %v, want %q in line 8", problems, want)
	}
}

// TestProvidersBehindManyFiles are taken over, however many files come before theirs.
func TestProvidersBehindManyFiles(t *testing.T) {
	files := map[string]string{"test_definitions/z/promptfooconfig.yaml": "prompts: [x]\nproviders: [openai:gpt-5]\ntests: []\n", "test_definitions/z/s.eval.yaml": suiteOf("[{id: mock, label: late, response: x}]")}
	for i := range 6000 {
		files[fmt.Sprintf("test_definitions/a/%04d.txt", i)] = "x"
	}
	c, problems := added(t, "definitions: [test_definitions]\n"+ownTarget, files)
	for _, name := range []string{"openai:gpt-5", "late"} {
		if _, there := c.Targets[name]; !there {
			t.Errorf("the targets are %v, with the problems %v; want %s", slices.Sorted(maps.Keys(c.Targets)), problems, name)
		}
	}
}
