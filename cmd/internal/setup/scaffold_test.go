package setup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/cmd/internal/setup"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

var agents = map[string]setup.Agent{
	"http":    {Provider: config.HTTP, URL: "http://127.0.0.1:8000/respond?a=1&b"},
	"command": {Provider: config.Command, Argv: []string{"python3", "agent.py", "--say", "it: #yes", "on"}},
	"model":   {Provider: config.OpenAI, Model: "llama3.2:3b", BaseURL: "http://127.0.0.1:11434/v1"},
	"key":     {Provider: config.Anthropic, Model: "some-model", KeyEnv: "ANTHROPIC_API_KEY"},
	"form":    {Provider: config.HTTP, URL: "http://127.0.0.1:8000/ask", Ask: "question", Answer: "answer"},
	"preset":  {Provider: "ollama", Model: "llama3.2:3b"},
	"account": {Provider: "azure", Model: "gpt", BaseURL: "https://shop.openai.azure.com/openai/v1", KeyEnv: "AZURE_OPENAI_API_KEY"},
	"coder":   {Provider: "claude-code", KeyEnv: "ANTHROPIC_API_KEY"},
	"other":   {Provider: "opencode", Model: "openai/gpt", BaseURL: "https://models.example", KeyEnv: "KEY"},
	"mock":    {Provider: config.Mock},
}

// fits holds that gavel.yaml and the tests can be read in a terminal of 80 columns.
func fits(t *testing.T, files fstest.MapFS) {
	t.Helper()
	for name, file := range files {
		if name != "gavel.yaml" && (!strings.HasPrefix(name, "tests/") || !strings.HasSuffix(name, ".yaml")) {
			continue
		}
		for line := range strings.Lines(string(file.Data)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s has a line of %d columns: %s", name, n, line)
			}
		}
	}
}

// TestFilesAreStrictlyValid loads the written files, for every way of reaching an agent
// and every format: there is not even a note.
func TestFilesAreStrictlyValid(t *testing.T) {
	for name, agent := range agents {
		for _, format := range []string{schema.DialectEvalcase, schema.DialectDomain, schema.DialectTestcase, schema.DialectPromptval} {
			t.Run(name+"/"+format, func(t *testing.T) {
				answers := setup.Answers{Agent: agent, Format: format, Definitions: "tests/agent", Branch: "main", Workflow: true, Editor: true}
				if !agent.IsModel() {
					answers.Judge = &setup.Agent{Provider: config.OpenAI, Model: "judge-1", KeyEnv: "OPENAI_API_KEY"}
				}
				fsys := filesOf(t, answers)
				fits(t, fsys)
				cfg, problems := config.Parse("gavel.yaml", fsys["gavel.yaml"].Data)
				found, err := load.Scan(t.Context(), fsys, load.Options{Settings: cfg.Settings()})
				if err != nil {
					t.Fatal(err)
				}
				needs := controller.FindRequirement(fsys, "gavel.yaml", cfg, func(string) (string, bool) { return "set", true })
				for _, p := range slices.Concat(problems, found.Problems(), needs.Validation(found, problems)) {
					t.Errorf("what was written has a problem, want none: %s:%d:%d: %s: %s", p.File, p.Line, p.Column, p.Message, p.Hint)
				}
				want := 2
				if agent.Provider == config.Mock {
					want = 1
				}
				if got := found.Totals().Cases; got != want {
					t.Errorf("%d cases, want %d", got, want)
				}
			})
		}
	}
}

func filesOf(t *testing.T, a setup.Answers) fstest.MapFS {
	t.Helper()
	files, err := setup.FirstFiles(a)
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for _, f := range files {
		if f.About == "" || out[f.Path] != nil {
			t.Errorf("%s is there twice, or without a word about it", f.Path)
		}
		out[f.Path] = &fstest.MapFile{Data: []byte(f.Text)}
	}
	return out
}

// TestTheWorkflowIsTheReadyOne replaces the branch and the keys and nothing else.
func TestTheWorkflowIsTheReadyOne(t *testing.T) {
	for _, tt := range []struct {
		name    string
		noForks bool
	}{{"gavel.yml", false}, {"without-forks.yml", true}} {
		t.Run(tt.name, func(t *testing.T) { isReady(t, tt.name, tt.noForks) })
	}
}

// isReady compares the written files with an example.
func isReady(t *testing.T, name string, noForks bool) {
	t.Helper()
	ready, err := os.ReadFile("../../../examples/workflow/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want  string
		lines int // other than the ready workflow's
		a     setup.Answers
	}{
		{"      A_KEY: ${{ secrets.A_KEY }}\n      B_KEY: ${{ secrets.B_KEY }}\n", 3, setup.Answers{
			Agent: setup.Agent{Provider: config.OpenAI, KeyEnv: "A_KEY"}, Judge: &setup.Agent{KeyEnv: "B_KEY"},
		}},
		{"    env: {}\n", 3, setup.Answers{Agent: setup.Agent{Provider: config.HTTP}}},
		{"      - run: npm install -g @anthropic-ai/claude-code\n", 3, setup.Answers{Agent: setup.Agent{Provider: "claude-code", KeyEnv: "ANTHROPIC_API_KEY"}}},
		{"        with:\n          sandbox-network: \"true\" # ", 5, setup.Answers{Agent: setup.Agent{Provider: "copilot", KeyEnv: "COPILOT_GITHUB_TOKEN"}}},
	} {
		tt.a.NoForks = noForks
		tt.a.Workflow, tt.a.Branch, tt.a.Definitions, tt.a.Format = true, "trunk", "test_definitions", schema.DialectEvalcase
		text := string(filesOf(t, tt.a)[".github/workflows/gavel.yml"].Data)
		if !strings.Contains(text, tt.want) || !strings.Contains(text, "branches: [trunk]") {
			t.Errorf("the workflow lacks %q or the branch:\n%s", tt.want, text)
		}
		changed := 0
		lines := strings.Split(string(ready), "\n")
		for line := range strings.SplitSeq(text, "\n") {
			if !slices.Contains(lines, line) {
				changed++
			}
		}
		if changed != tt.lines {
			t.Errorf("%d lines are not the ready workflow's, want %d", changed, tt.lines)
		}
	}
}

// TestEditorsFindTheSchemas follows each reference of the settings and each
// modeline to a schema that is written.
func TestEditorsFindTheSchemas(t *testing.T) {
	for _, existing := range [][]load.FileSummary{nil, {
		{File: "test_definitions/a.yaml", Dialect: schema.DialectPromptval},
		{File: "test_definitions/b.json", Dialect: schema.DialectTestcase},
		{File: "test_definitions/x/level_1/c.json", Dialect: schema.DialectDomain},
	}} {
		fsys := filesOf(t, setup.Answers{
			Agent: agents["http"], Format: schema.DialectEvalcase, Definitions: "test_definitions", Editor: true, Existing: existing,
		})
		var settings struct {
			YAML map[string][]string `json:"yaml.schemas"`
			JSON []struct {
				FileMatch []string
				URL       string
			} `json:"json.schemas"`
		}
		if err := json.Unmarshal(fsys[".vscode/settings.json"].Data, &settings); err != nil {
			t.Fatal(err)
		}
		var named []string
		for file := range settings.YAML {
			named = append(named, file)
		}
		for _, m := range settings.JSON {
			named = append(named, m.URL)
		}
		for name, f := range fsys {
			if line, _, _ := strings.Cut(string(f.Data), "\n"); strings.HasPrefix(line, "# yaml-language-server: $schema=") {
				_, to, _ := strings.Cut(line, "=")
				named = append(named, "./"+filepath.ToSlash(filepath.Join(filepath.Dir(name), to)))
			}
		}
		if len(named) < 4 {
			t.Errorf("only %v are named", named)
		}
		for _, file := range named {
			if f := fsys[strings.TrimPrefix(file, "./")]; f == nil || !json.Valid(f.Data) {
				t.Errorf("%s is named and is not a schema", file)
			}
		}
	}
}

// TestWriteNeverOverwrites keeps what there is, and follows no link out of the
// folder.
func TestWriteNeverOverwrites(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := setup.WriteFiles(dir, []setup.File{{Path: "a.yaml", Text: "new"}, {Path: "b/c.yaml", Text: "new"}})
	if err != nil || len(out.Kept) != 1 || len(out.Written) != 1 {
		t.Errorf("Write returns %+v and %v, want one file kept and one written", out, err)
	}
	for _, tt := range []struct{ file, want string }{{"a.yaml", "mine"}, {"b/c.yaml", "new"}} {
		if got, err := os.ReadFile(filepath.Join(dir, tt.file)); string(got) != tt.want {
			t.Errorf("%s is %q, %v", tt.file, got, err)
		}
	}
	for _, name := range []string{"../x/a.yaml", "a.yaml/x.yaml"} {
		if _, err := setup.WriteFiles(dir, []setup.File{{Path: "first.yaml", Text: "new"}, {Path: name, Text: "new"}}); err == nil || !strings.Contains(err.Error(), "nothing is written") {
			t.Errorf("writing %s returns %v, want an error", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "first.yaml")); err == nil {
			t.Errorf("a file is written before %s is found wrong", name)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skipf("this system does not let this user make a symbolic link: %v", err)
	}
	if _, err := setup.WriteFiles(dir, []setup.File{{Path: "link/x.yaml", Text: "new"}}); err == nil || !strings.Contains(err.Error(), "link/x.yaml") {
		t.Errorf("writing through a link returns %v, want an error that names link/x.yaml", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Error("a file was written outside of the folder")
	}
}

// TestSeveralProviders are compared as their file has them, unless all are a mock.
func TestSeveralProviders(t *testing.T) {
	for _, tt := range []struct{ provider, want string }{
		{"openai", "\n# aliases:\n#   \"openai:a\": agent\n#   \"openai:b\": agent\n"},
		{"mock", "\naliases:\n  \"openai:a\": mock\n  \"openai:b\": mock\n"},
	} {
		files, err := setup.FirstFiles(setup.Answers{Definitions: "test_definitions", Agent: setup.Agent{Provider: tt.provider, Model: "m"}, Providers: []string{"openai:a", "openai:b"}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f setup.File) bool { return f.Path == "gavel.yaml" })
		if i < 0 || !strings.Contains(files[i].Text, tt.want) {
			t.Errorf("gavel.yaml with %s does not have %q: %v", tt.provider, tt.want, files)
		}
	}
}
