package setup_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/setup"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

func unset(string) (string, bool) { return "", false }

func newSetup(t *testing.T, files map[string]string) setup.Setup {
	t.Helper()
	dir := t.TempDir()
	gittest.Init(t, dir, "trunk")
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return setup.Setup{Dir: dir, Out: io.Discard, LookupEnv: unset, Definitions: "test_definitions"}
}

func failure(t *testing.T, s setup.Setup) error {
	t.Helper()
	_, err := s.Run(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	return err
}

func read(t *testing.T, s setup.Setup, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSuitesOfAgentVStay: the one folder that has them is the definitions folder, to which no case
// is added; where there are several, each is named with what to write.
func TestSuitesOfAgentVStay(t *testing.T) {
	const suite = "tests: [{id: greets, input: Hello, assertions: [{type: contains, value: Hello}]}]\n"
	files := map[string]string{"evals/a/support.eval.yaml": suite, "evals/b/suite.yaml": suite, "README.md": "x"}
	s := newSetup(t, files)
	s.Flags = setup.Flags{Provider: "mock"}
	out, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := read(t, s, "gavel.yaml"); !strings.Contains(text, "definitions: evals\n") {
		t.Errorf("gavel.yaml is\n%s\nwant the folder evals", text)
	}
	for _, f := range out.Written.Written {
		if strings.HasPrefix(f.Path, "evals/") || strings.HasPrefix(f.Path, "test_definitions/") {
			t.Errorf("%s is written, want no further case", f.Path)
		}
	}
	files["agents/evals/suite.yaml"] = suite
	s = newSetup(t, files)
	s.Flags = setup.Flags{Provider: "mock"}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := read(t, s, "gavel.yaml"); !strings.Contains(text, "definitions: test_definitions\n") {
		t.Errorf("gavel.yaml is\n%s\nwant the usual folder where there are several", text)
	}
}

// TestAPersonAnswers gives the answers of a person line by line, wrong ones among them,
// and checks the questions and the written files.
func TestAPersonAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		answers []string
		asked   []string
		config  []string // what gavel.yaml holds
		not     []string // files that are not written
	}{
		{
			name:    "an agent over HTTP",
			answers: []string{"9", "1", "nonsense", "https://agent.example.com/chat", "/etc/prompts", "prompts/**, bot/*.py", "2", "n"},
			asked: []string{
				`"9" is not one of the numbers 1 to 5`, `"nonsense" is not an address`, "Which files of this repository is it made of",
				`"/etc/prompts" is not in the repository`, "Add a workflow",
			},
			config: []string{`url: "https://agent.example.com/chat"`, "\n    inputs: [\"prompts/**\", \"bot/*.py\"]\n"},
			not:    []string{".github/workflows/gavel.yml"},
		},
		{
			name:    "prompts that were found",
			files:   map[string]string{"src/prompts/system.md": "Be kind."},
			answers: []string{"1", "https://agent.example.com/chat", "", "2", "n"},
			asked:   []string{"Empty for none [src/prompts/**]: "},
			config:  []string{"\n    inputs: [\"src/prompts/**\"]\n"},
		},
		{
			name:    "the API that was found",
			files:   map[string]string{"openapi.yaml": "paths: {/ask: {post: {requestBody: {content: {application/json: {schema: {properties: {question: {}}}}}}}}}"},
			answers: []string{"", "", "", "y"},
			asked:   []string{"1  POST http://127.0.0.1:8000/ask (openapi.yaml)"},
			config:  []string{"\n    # inputs: [\"prompts/**\"]\n", `url: "http://127.0.0.1:8000/ask"`, `    body: {question: "{{message}}"}`, "    # reply: $.answer\n"},
		},
		{
			name: "an API with a form of its own",
			files: map[string]string{"openapi.json": `{"paths": {"/ask": {"post": {
				"requestBody": {"content": {"application/json": {"schema": {"properties": {"question": {}, "session": {}}}}}},
				"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}}}}}}},
				"components": {"schemas": {"Answer": {"properties": {"answer": {}, "took_ms": {}}}}}}`},
			answers: []string{"", "", "", "y"},
			config:  []string{`body: {question: "{{message}}"}`, "reply: $.answer"},
		},
		{
			name: "an API whose answer is below",
			files: map[string]string{"openapi.json": `{"paths": {"/ask": {"post": {
				"requestBody": {"content": {"application/json": {"schema": {"properties": {"question": {"type": "string"}}}}}},
				"responses": {"200": {"content": {"application/json": {"schema": {"properties": {"answers": {"type": "integer"},
					"answer": {"type": "integer"}, "data": {"$ref": "#/components/schemas/Data"}}}}}}}}}},
				"components": {"schemas": {"Data": {"properties": {"took_ms": {"type": "integer"}, "text": {"type": "string"}, "more": {"$ref": "#/components/schemas/Data"}}}}}}`},
			answers: []string{"", "", "", "y"},
			config:  []string{`body: {question: "{{message}}"}`, "    reply: $.data.text\n"},
		},
		{
			name:    "a model whose SDK is there, and a rubric",
			files:   map[string]string{"requirements.txt": "anthropic\n"},
			answers: []string{"1", "", "some-model", "4", ""},
			asked:   []string{"An answer is needed"},
			config:  []string{"provider: anthropic\n    model: some-model", "api_key_env: ANTHROPIC_API_KEY", "roles: {judge: agent}"},
		},
		{
			name:    "a program with a judge",
			answers: []string{"2", `python "my agent.py`, `python agent/main.py`, "3", "judge-1", "JUDGE_KEY", ""},
			asked:   []string{"has a quote that is not closed", "needs a model that judges"},
			config:  []string{"argv: [python, agent/main.py]", `inputs: ["agent/**"]`, "judge:\n    provider: openai\n    model: judge-1", "api_key_env: JUDGE_KEY"},
		},
		{
			name:    "a model of an account",
			answers: []string{"3", "4", "https://shop.openai.azure.com/openai/v1", "my-gpt", "", "", "n"},
			asked:   []string{"  4  azure\n", "Base URL: "},
			config:  []string{"provider: azure\n    model: my-gpt\n    base_url: ", "api_key_env: AZURE_OPENAI_API_KEY"},
		},
		{
			name:    "a local server",
			answers: []string{"3", "8", "llama", "", "n"},
			config:  []string{"provider: ollama\n    model: llama\n    temperature: 0"},
		},
		{
			name:    "a coding agent",
			answers: []string{"4", "2", "", "", ""},
			asked:   []string{"  1  claude-code\n", "Environment variable with the key [CODEX_API_KEY]"},
			config:  []string{"provider: codex\n", "# price: {"},
		},
		{
			name:    "a coding agent without a key of its own",
			answers: []string{"4", "4", "", "anthropic/m", "KEY", "", ""},
			asked:   []string{"An answer is needed"},
			config:  []string{"provider: opencode\n    model: anthropic/m\n", "api_key_env: KEY\n"},
		},
		{
			name:    "nothing yet",
			answers: []string{"5", ""},
			config:  []string{"default_target: mock"},
			not:     []string{"test_definitions/first.yaml"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t, c.files)
			var out bytes.Buffer
			s.Out = &out
			s.Console = &setup.Console{In: strings.NewReader(strings.Join(c.answers, "\n") + "\n"), Out: &out}
			if _, err := s.Run(t.Context()); err != nil {
				t.Fatalf("the setup returns %v, want success\n%s", err, out.String())
			}
			for _, want := range c.asked {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q was not asked:\n%s", want, out.String())
				}
			}
			text := read(t, s, "gavel.yaml")
			for _, want := range c.config {
				if !strings.Contains(text, want) {
					t.Errorf("gavel.yaml lacks %q:\n%s", want, text)
				}
			}
			for _, file := range c.not {
				if _, err := os.Stat(filepath.Join(s.Dir, file)); err == nil {
					t.Errorf("%s was written", file)
				}
			}
		})
	}
}

func TestThePersonLeaves(t *testing.T) {
	s := newSetup(t, nil)
	s.Console = &setup.Console{In: strings.NewReader("1\n"), Out: io.Discard}
	if err := failure(t, s); !errors.Is(err, setup.ErrUnanswered) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "gavel.yaml")); err == nil {
		t.Error("something was written before all was answered")
	}
}

// TestFlagsInsteadOfAPerson has every mistake in the flags without a terminal.
func TestFlagsInsteadOfAPerson(t *testing.T) {
	for _, tt := range []struct {
		want  string
		flags setup.Flags
	}{
		{"it is not known how your agent is reached; add one of", setup.Flags{}},
		{`--url "agent:8000" is not an address`, setup.Flags{URL: "agent:8000"}},
		{"--url has a password", setup.Flags{URL: "http://me:secret@example.com/"}},
		{"different ways to reach an agent", setup.Flags{URL: "http://a/", Command: "b"}},
		{"different ways to reach an agent: give", setup.Flags{Command: "b", Model: "m"}},
		{"the command is empty", setup.Flags{Command: "  "}},
		{"--provider http needs the address of the agent", setup.Flags{Provider: "http"}},
		{"--provider command needs the program", setup.Flags{Provider: "command"}},
		{"--provider \"opnai\" is not known; did you mean `openai`", setup.Flags{Provider: "opnai"}},
		{`--provider "watsonx" is not known; write one of openai`, setup.Flags{Provider: "watsonx"}},
		{"--provider azure needs the address of your account; add --base-url, such as https://RESOURCE", setup.Flags{Provider: "azure", Model: "m"}},
		{"--provider \"olama\" is not known; did you mean `ollama`", setup.Flags{Provider: "olama"}},
		{"--provider openai needs a model; add --model", setup.Flags{Provider: "openai"}},
		{"--provider \"claude-cod\" is not known; did you mean `claude-code`", setup.Flags{Provider: "claude-cod"}},
		{"--provider opencode needs the variable with the key of its model; add --key-env", setup.Flags{Provider: "opencode", Model: "openai/m"}},
		{"--provider opencode needs a model; add --model", setup.Flags{Provider: "opencode", KeyEnv: "KEY"}},
		{"copilot cannot be given an address with this model; leave --base-url out", setup.Flags{Provider: "copilot", BaseURL: "https://models.example"}},
		{`--base-url "localhost" is not an address`, setup.Flags{Provider: "codex", BaseURL: "localhost"}},
		{`--base-url "localhost" is not an address`, setup.Flags{BaseURL: "localhost", Model: "m"}},
		{"--format \"testcases\" is not known; did you mean `testcase`", setup.Flags{URL: "http://a/", Format: "testcases"}},
		{`--inputs "../prompts/**" is not in the repository; write a path from its root with slashes, such as prompts/**`, setup.Flags{URL: "http://a/", Inputs: []string{"../prompts/**"}}},
		{"--inputs names what an agent is made of that --url or --command reaches", setup.Flags{Provider: "mock", Inputs: []string{"prompts/**"}}},
		{"the testcase format needs a model that judges; add --judge-model", setup.Flags{URL: "http://a/", Format: "testcase"}},
		{"--judge-provider openai needs a model; add --judge-model", setup.Flags{URL: "http://a/", JudgeProvider: "openai"}},
	} {
		s := newSetup(t, nil)
		s.Flags = tt.flags
		if err := failure(t, s); !errors.As(err, new(*setup.Mistake)) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the flags %+v return %v, which is not the error that was wanted", tt.flags, err)
		}
	}
	s := newSetup(t, map[string]string{"gavel.yaml": "version: 1"})
	s.Model = "m"
	if err := failure(t, s); !errors.Is(err, setup.ErrConfigured) {
		t.Error(err)
	}
}

// TestWhatAnAgentIsMadeOf without a person: the files that a flag names, else the
// existing folders of prompts, with a message.
func TestWhatAnAgentIsMadeOf(t *testing.T) {
	for _, tt := range []struct {
		files map[string]string
		flags setup.Flags
		want  string
		note  string
	}{
		{nil, setup.Flags{URL: "http://a/"}, "\n    # inputs: [\"prompts/**\"]\n", "a change of a prompt in this repository reruns nothing until gavel.yaml names it under inputs"},
		{map[string]string{"prompts/system.md": "x", "node_modules/a/prompts/x": "x"}, setup.Flags{URL: "http://a/"}, "\n    inputs: [\"prompts/**\"]\n", "the agent is taken to be made of prompts/**: correct inputs in gavel.yaml, or give --inputs"},
		{map[string]string{"prompts/system.md": "x"}, setup.Flags{URL: "http://a/", Inputs: []string{"bot/**"}}, "\n    inputs: [\"bot/**\"]\n", ""},
		{nil, setup.Flags{Command: "python agent.py", Inputs: []string{"agent.py", "prompts/**"}}, "\n    inputs: [agent.py, \"prompts/**\"]\n", ""},
	} {
		s := newSetup(t, tt.files)
		s.Flags = tt.flags
		out, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text := read(t, s, "gavel.yaml"); !strings.Contains(text, tt.want) {
			t.Errorf("%+v: gavel.yaml lacks %q:\n%s", tt.flags, tt.want, text)
		}
		if said := strings.Join(out.Notes, "\n"); !strings.Contains(said, tt.note) || tt.note == "" && strings.Contains(said, "inputs") {
			t.Errorf("%+v: the notes are %q, want %q", tt.flags, said, tt.note)
		}
	}
}

// TestTheForgeOfTheRemote writes the workflow where Gavel can comment, for the
// branch that is checked out, and says what to do elsewhere.
func TestTheForgeOfTheRemote(t *testing.T) {
	for _, tt := range []struct {
		remote string
		want   bool
	}{
		{"", true},
		{"https://github.com/octo/shop.git", true},
		{"git@git.example.com:octo/shop.git", true},
		{"https://gitlab.com/octo/shop.git", false},
		{"git@bitbucket.org:octo/shop.git", false},
	} {
		s := newSetup(t, nil)
		if tt.remote != "" {
			gittest.Run(t, s.Dir, "remote", "add", "origin", tt.remote)
		}
		s.Provider = "mock"
		out, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		written := slices.ContainsFunc(out.Written.Written, func(f setup.File) bool { return f.Path == ".github/workflows/gavel.yml" })
		if written != tt.want || written && !strings.Contains(read(t, s, ".github/workflows/gavel.yml"), "branches: [trunk]") {
			t.Errorf("%q: the workflow is written: %v", tt.remote, written)
		}
		if !tt.want && !strings.Contains(strings.Join(out.Notes, "\n"), "gavel run --base trunk --junit report.xml") {
			t.Errorf("with the remote %q the notes are %v, want one that names gavel run --base trunk --junit report.xml", tt.remote, out.Notes)
		}
	}
}

// TestAProgramThatIsNotThere is written down all the same, with a note.
func TestAProgramThatIsNotThere(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"sh agent.sh", ""},
		{"sh agnet.sh", "the file agnet.sh does not exist: write it, or correct the command in gavel.yaml"},
		{"no-such-interpreter agent.sh", "no-such-interpreter is not found on this machine: install it, or correct the command in gavel.yaml"},
		{"./agnet.sh", "the file agnet.sh does not exist: write it, or correct the command in gavel.yaml"},
	} {
		s := newSetup(t, map[string]string{"agent.sh": "cat"})
		s.Command = tt.line
		out, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(out.Notes, "\n"); got != tt.want {
			t.Errorf("--command %q has the notes %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestPythonIsPython3: python3 is started where python is missing, and no note says that
// it has to be installed.
func TestPythonIsPython3(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows starts a program by its ending, so that a file python3 does not count as one")
	}
	path := t.TempDir()
	for name, program := range map[string]string{"python3": "sh", "git": "git"} {
		file, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path)
	s := newSetup(t, map[string]string{"agent.py": "print()"})
	s.Command = "python agent.py"
	out, err := s.Run(t.Context())
	if err != nil || len(out.Notes) > 0 {
		t.Errorf("the notes are %q (%v), want none", out.Notes, err)
	}
}

func TestNoRepository(t *testing.T) {
	s := newSetup(t, nil)
	s.Dir, s.Provider = t.TempDir(), "mock"
	if err := failure(t, s); !errors.Is(err, gitrepo.ErrNoRepository) || !strings.Contains(err.Error(), "--git") {
		t.Error(err)
	}
	s.Git = true
	if _, err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if got := gittest.Run(t, s.Dir, "symbolic-ref", "--short", "HEAD"); got != "main" {
		t.Errorf("the branch is %q", got)
	}
}

// TestASecondTimeChangesNothing keeps every file as it is.
func TestASecondTimeChangesNothing(t *testing.T) {
	s := newSetup(t, nil)
	s.URL = "http://127.0.0.1:8000/respond"
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, ".vscode/settings.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.URL = ""
	out, err := s.Run(t.Context())
	if err != nil || len(out.Written.Written) != 0 || !strings.Contains(out.Text(), "Kept .vscode/settings.json, which existed") {
		t.Errorf("the setup returns %v, want success and a note that .vscode/settings.json was kept\n%s", err, out.Text())
	}
	if got := read(t, s, ".vscode/settings.json"); got != "{}" {
		t.Errorf("settings.json is %q", got)
	}
}

// TestTheServerAtTheURLIsAsked: an agent that says in its OpenAPI document how it is
// asked is asked so, without a person who writes it down.
func TestTheServerAtTheURLIsAsked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/openapi.json" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"paths": {"/ask": {"post": {"requestBody": {"content": {"application/json": {"schema": {"properties": {"question": {"type": "string"}}}}}},
			"responses": {"200": {"content": {"application/json": {"schema": {"properties": {"data": {"properties": {"answer": {"type": "string"}}}}}}}}}}}}}`)
	}))
	t.Cleanup(server.Close)
	s := newSetup(t, nil)
	s.URL = strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/ask"
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := read(t, s, "gavel.yaml")
	for _, want := range []string{`url: "` + s.URL + `"`, `    body: {question: "{{message}}"}`, "    reply: $.data.answer\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("gavel.yaml lacks %q:\n%s", want, text)
		}
	}
}
