package setup_test

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/cmd/internal/setup"
)

func look(t *testing.T, files map[string]string, ports ...int) *setup.Survey {
	t.Helper()
	fsys := fstest.MapFS{"empty": {Mode: fs.ModeDir}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	out, err := setup.Explore(t.Context(), fsys, setup.SurveyOptions{Definitions: []string{"test_definitions"}, Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDefinitionsAndConfiguration(t *testing.T) {
	got := look(t, map[string]string{
		"gavel.yml":                   "version: 1",
		"test_definitions/a.yaml":     "evalcases:\n  - {id: a, expected_outcome: x, input: y}",
		"test_definitions/notes.json": `{"oranges": 7}`,
	})
	if got.Config != "" || got.Misspelt != "gavel.yml" || len(got.Definitions) != 1 || got.Definitions[0].Dialect != "evalcase" {
		t.Errorf("the survey finds %+v, which is not what the files hold", got)
	}
	if got := look(t, map[string]string{"gavel.yaml": "version: 1", ".gavel.yml": "x"}); got.Config != "gavel.yaml" {
		t.Errorf("the survey finds %+v, want the configuration gavel.yaml", got)
	}
}

// TestForeignFilesAreToldTruthfully names what this version reads, and what it
// does not.
func TestForeignFilesAreToldTruthfully(t *testing.T) {
	got := look(t, map[string]string{
		"promptfooconfig.yaml":                "prompts: [\"Say {{x}}\"]\nproviders: [openai:x]\ntests: [{vars: {x: 1}}, {vars: {x: 2}}]",
		"evals/old/suite.yaml":                "evalcases:\n  - {id: a, expected_outcome: x, input: y}",
		"evals/new/suite.yaml":                "tests:\n  - {id: a, criteria: x, input: y}",
		"evals/five/suite.yaml":               "prompts: [\"{{ input }}\"]\nproviders: [bot]\ntests:\n  - {id: a, vars: {input: x}, assert: [good]}",
		"evals/shop/settings.yaml":            "oranges: 7",
		".agentv/targets.yaml":                "targets: []",
		"node_modules/x/promptfooconfig.yaml": "prompts: [x]\ntests: [{}]",
		"other/config.yaml":                   "tests: [1]",
	})
	var said []string
	for _, f := range got.Foreign {
		said = append(said, f.Summary())
	}
	slices.Sort(said)
	want := []string{
		".agentv/targets.yaml has targets of AgentV: gavel reads those of the providers anthropic, azure, cli, mock and openai, and gavel.yaml wins",
		"evals/five/suite.yaml is a file of AgentV with 1 test, which gavel reads as it is (evalcase): add its folder to definitions in gavel.yaml",
		"evals/new/suite.yaml is a file of AgentV with 1 test, which gavel reads as it is (evalcase): add its folder to definitions in gavel.yaml",
		"evals/old/suite.yaml is a file of AgentV with 1 test, which gavel reads as it is (evalcase): add its folder to definitions in gavel.yaml",
		"promptfooconfig.yaml is a file of promptfoo with 2 tests, which gavel reads as it is (matrix): add the file to definitions in gavel.yaml",
	}
	if !slices.Equal(said, want) {
		t.Errorf("the survey says the wrong things:\n%s", strings.Join(said, "\n"))
	}
}

const described = `
openapi: 3.1.0
info: {title: Shop}
servers: [{url: /api/}]
paths:
  /health: {get: {}}
  /orders/{id}/chat: {post: {}}
  /feedback: {post: {}}
  /v1/chat/completions: {post: {}}
  /respond:
    post:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Turn"}}}}
components:
  schemas:
    Turn: {properties: {messages: {}, metadata: {}}}
    Loop: {$ref: "#/components/schemas/Loop"}
`

func TestAPIs(t *testing.T) {
	got := look(t, map[string]string{"docs/openapi.yaml": described}).APIs
	if len(got) != 2 || got[0].URL != "http://127.0.0.1:8000/api/respond" || !got[0].Speaks() ||
		got[1].URL != "" || got[1].BaseURL != "http://127.0.0.1:8000/api/v1" || got[1].Speaks() {
		t.Errorf("the survey finds %+v, want /api/respond, which speaks the contract, and the base /api/v1", got)
	}
	old := `{"swagger": "2.0", "host": "agent.example.com", "basePath": "/v2", "paths": {"/ask": {"post": {}}}}`
	if got := look(t, map[string]string{"swagger.json": old}).APIs; len(got) != 1 || got[0].URL != "https://agent.example.com/v2/ask" {
		t.Errorf("the survey finds %+v, want https://agent.example.com/v2/ask", got)
	}
	for _, broken := range []string{"", "{", "openapi: [", "paths: 7", strings.Replace(described, "schemas/Turn", "schemas/Loop", 1)} {
		look(t, map[string]string{"openapi.yaml": broken})
	}
}

func TestPackages(t *testing.T) {
	for _, tt := range []struct {
		text string
		want setup.Package
	}{
		{`package.json {"name": "shop", "dependencies": {"@anthropic-ai/sdk": "1", "left-pad": "1"}}`, setup.Package{Name: "shop", Provider: "anthropic"}},
		{"package.json {\"name\": \"openai\"}", setup.Package{Name: "openai"}},
		{"pyproject.toml [project]\nname = \"shop\"\ndependencies = [\"fastapi\", \"openai>=1\"]\n", setup.Package{Name: "shop", Provider: "openai"}},
		{"pyproject.toml [build-system]\nrequires = [\"x\"]\n[tool.poetry]\nversion = \"1\"\nname = 'shop'\n[tool.poetry.dependencies]\ngoogle-genai = \"^1\"\n", setup.Package{Name: "shop", Provider: "gemini"}},
		{"requirements.txt flask\nlangchain-openai==1\n", setup.Package{Provider: "openai"}},
		{"requirements.txt flask\nmy-openai-fork==1\n", setup.Package{}},
	} {
		file, text, _ := strings.Cut(tt.text, " ")
		tt.want.File = file
		if got := look(t, map[string]string{file: text}).Packages; len(got) != 1 || got[0] != tt.want {
			t.Errorf("in %s with %q the survey finds %+v, want %+v", file, text, got, tt.want)
		}
	}
}

// TestServers asks loopback: a server of models, one that describes itself, one that
// says nothing, and a port where nobody listens.
func TestServers(t *testing.T) {
	port := func(h http.HandlerFunc) int {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.Listener.Addr().(*net.TCPAddr).Port
	}
	models := port(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data": [{"id": "llama"}, {"id": "qwen"}]}`)
	})
	agent := port(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/openapi.json" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"paths": {"/chat": {"post": {}}}}`)
	})
	leaves := port(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, fmt.Sprintf("http://127.0.0.1:%d/v1/models", models), http.StatusFound)
	})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().(*net.TCPAddr).Port
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	got := look(t, nil, models, agent, leaves, nobody).Servers
	if len(got) != 3 || !slices.Equal(got[0].Models, []string{"llama", "qwen"}) || got[0].BaseURL != fmt.Sprintf("http://127.0.0.1:%d/v1", models) ||
		len(got[1].APIs) != 1 || got[1].APIs[0].URL != fmt.Sprintf("http://127.0.0.1:%d/chat", agent) || got[2].Models != nil || got[2].APIs != nil {
		t.Errorf("the survey finds %+v, want the two models, the agent at /chat, and a server that says nothing", got)
	}
}
