package evalcase

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// extended reads the workspace and the extensions of a suite of AgentV 5.
func extended(t *testing.T, text string) testbed {
	t.Helper()
	doc, problems := document.Parse("suites/a.yaml", []byte(text))
	if doc == nil || schema.HasErrors(problems) {
		t.Fatalf("parse %s: %v", text, problems)
	}
	files := fstest.MapFS{
		"suites/hooks.mjs": {Data: []byte("export function beforeAll() {}")}, "suites/hooks.ts": {Data: []byte("")}, "suites/hooks.py": {Data: []byte("")}, "suites/notes.md": {Data: []byte("")},
		"suites/bench/a.txt": {Data: []byte("a")}, "suites/bench/skills/b.md": {Data: []byte("b")}, "rules/pdf/SKILL.md": {Data: []byte("pdf")}, "rules/AGENTS.md": {Data: []byte("be kind")},
	}
	reader := newTestbedReader(document.Source{FS: files, Root: "suites", KeyRoot: "suites"})
	return reader.Read(testbedSource{Suite: document.Place{Doc: doc, Path: []any{"environment"}}, Extensions: document.Place{Doc: doc, Path: []any{"extensions"}}})
}

// TestExtensions: programs run in the order of their events, by what runs their language, and
// rules are copied from where they are into the workspace.
func TestExtensions(t *testing.T) {
	got := extended(t, `environment: {type: host, workdir: bench}
extensions:
- file://hooks.py:afterAll
- file://hooks.ts:beforeEach
- file://hooks.mjs:beforeAll
- agentv:agent-rules:beforeEach
- {id: 'agentv:agent-rules', hook: beforeAll, skills: [bench/skills, ../rules/pdf], rules: ../rules/AGENTS.md}
`)
	if len(got.Problems) > 0 || got.Workspace == nil {
		t.Fatalf("workspace %+v and problems %v, want no problem", got.Workspace, got.Problems)
	}
	var ran []string
	for _, h := range append(got.Workspace.Before, got.Workspace.After...) {
		ran = append(ran, h.Event+" "+h.Argv[0]+" "+strings.Join(h.Argv[3:], " "))
	}
	if diff := cmp.Diff([]string{"beforeAll node hooks.mjs beforeAll beforeAll", "beforeEach bun hooks.ts beforeEach beforeEach", "afterAll python3 hooks.py afterAll afterAll"}, ran); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if files := strings.Join(got.Workspace.Before[0].Built.Paths(), " "); files != "suites/bench/a.txt suites/bench/skills/b.md suites/hooks.mjs suites/hooks.py suites/hooks.ts suites/notes.md" {
		t.Errorf("the first hook is made of %s, want what is around its file", files)
	}
	var staged []string
	for _, f := range got.Workspace.Staged {
		staged = append(staged, f.From+" > "+f.Path)
	}
	if diff := cmp.Diff([]string{"rules/pdf/SKILL.md > .agentv/agent-rules/skills/pdf/SKILL.md", "rules/AGENTS.md > .agentv/agent-rules/rules/AGENTS.md"}, staged); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestExtensionsWithoutAnEnvironment: rules change nothing there, and a program has an empty
// workspace, which a warning says.
func TestExtensionsWithoutAnEnvironment(t *testing.T) {
	if got := extended(t, "extensions: ['agentv:agent-rules', {id: 'agentv:agent-rules', skills: ../rules/pdf}]\n"); got.Workspace != nil || len(got.Problems) > 0 {
		t.Errorf("rules alone are read as %+v with problems %v, want nothing", got.Workspace, got.Problems)
	}
	got := extended(t, "extensions: ['file://hooks.mjs:beforeAll', 'file://hooks.mjs:afterEach']\n")
	if got.Workspace == nil || len(got.Workspace.Before) != 1 || len(got.Workspace.After) != 1 || len(got.Problems) != 1 || got.Problems[0].Severity != schema.Warning {
		t.Errorf("programs are read as %+v with problems %v, want two and a warning", got.Workspace, got.Problems)
	}
	if got := extended(t, "environment: {type: docker}\nextensions: ['file://gone.mjs:beforeAll']\n"); got.Lacks == "" || len(got.Problems) > 0 {
		t.Errorf("with a container: lacks %q and problems %v, want the container alone", got.Lacks, got.Problems)
	}
}

// TestMistakesInExtensions are named with their place.
func TestMistakesInExtensions(t *testing.T) {
	for _, tt := range []struct{ item, want string }{
		{"file://hooks.mjs", "suites/a.yaml:2:14: error: the extension does not say when it runs"},
		{"file://gone.mjs:beforeAll", "suites/a.yaml:2:14: error:"},
		{"file://notes.md:beforeAll", "how notes.md is run is not known"},
		{"agentv:agent-rule", "the extension \"agentv:agent-rule\" is not known; did you mean `agentv:agent-rules`?"},
		{"{id: 'agentv:agent-rules', skills: ../gone}", "the folder gone does not exist"},
	} {
		text := ""
		for _, p := range extended(t, "environment: {workdir: bench}\nextensions: ["+tt.item+"]\n").Problems {
			text += p.String() + "\n"
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: problems %q, want %q", tt.item, text, tt.want)
		}
	}
}

// TestTheOrderOfHooks: a hook that clears up follows the others.
func TestTheOrderOfHooks(t *testing.T) {
	var w schema.Workspace
	w.Add(schema.WorkspaceHook{Event: "afterEach"})
	w.Add(schema.WorkspaceHook{Event: "beforeEach"})
	if len(w.Before) != 1 || len(w.After) != 1 || w.After[0].Event != "afterEach" {
		t.Errorf("the hooks are %+v", w)
	}
}
