package evalcase

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// testbedRepository has the files that the workspaces of the tests name.
func testbedRepository() fstest.MapFS {
	return fstest.MapFS{
		"shop/shop.txt":            {Data: []byte("closed"), Mode: 0o644},
		"shop/bin/open":            {Data: []byte("#!/bin/sh"), Mode: 0o755},
		"shop/.git/config":         {Data: []byte("[core]")},
		"hooks/prepare.py":         {Data: []byte("import helper")},
		"hooks/helper.py":          {Data: []byte("x = 1")},
		"shared/workspace.yaml":    {Data: []byte("template: ../shop\nhooks: {after_all: {command: [date]}}\n")},
		"shared/broken.yaml":       {Data: []byte("template: [")},
		"suites/environments/a.md": {Data: []byte("text")},
	}
}

// readTestbed reads the workspace of a suite and of a test, each as YAML; empty for none.
func readTestbed(t *testing.T, suite, own string) testbed {
	t.Helper()
	value := func(text string) document.Place {
		if text == "" {
			return document.Place{}
		}
		doc, problems := document.Parse("suites/a.yaml", []byte("workspace: "+text+"\n"))
		if doc == nil || schema.HasErrors(problems) {
			t.Fatalf("parse %s: %v", text, problems)
		}
		return document.Place{Doc: doc, Path: []any{"workspace"}}
	}
	return newTestbedReader(document.Source{FS: testbedRepository(), Root: "suites", KeyRoot: "suites"}).Read(testbedSource{Suite: value(suite), Own: value(own)})
}

// words are the files of a workspace by path, with a star where they may be run.
func words(files []schema.WorkspaceFile) string {
	var out []string
	for _, f := range files {
		name := f.Path
		if f.Executable {
			name += "*"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// TestTemplate reads the files of a folder without git's, by their content.
func TestTemplate(t *testing.T) {
	got := readTestbed(t, "{template: ../shop, isolation: shared}", "")
	if len(got.Problems) > 0 || got.Workspace == nil {
		t.Fatalf("problems %v, want none", got.Problems)
	}
	if files := words(got.Workspace.Files); got.Workspace.Template != "shop" || files != "bin/open* shop.txt" {
		t.Errorf("template %s with %s, want shop with bin/open* shop.txt", got.Workspace.Template, files)
	}
	want := []schema.Input{{File: "shop", Role: "workspace"}, {File: "shop/bin/open", Role: "workspace"}, {File: "shop/shop.txt", Role: "workspace"}}
	if diff := cmp.Diff(want, got.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if again := readTestbed(t, "../shared/workspace.yaml", ""); again.Workspace == nil || words(again.Workspace.Files) != "bin/open* shop.txt" || len(again.Workspace.After) != 1 {
		t.Errorf("the workspace of a file is %+v with problems %v, want the template and a hook after", again.Workspace, again.Problems)
	}
}

// TestHooks reads the program of each event, and the test's wins.
func TestHooks(t *testing.T) {
	suite := `{hooks: {before_all: {command: [python3, ../hooks/prepare.py, "{{workspace_path}}"], timeout_ms: 1500}, before_each: {reset: fast}, after_each: {script: "echo bye", cwd: "{{workspace_path}}"}}}`
	got := readTestbed(t, suite, "")
	if len(got.Problems) > 0 || got.Workspace == nil || len(got.Workspace.Before) != 1 || len(got.Workspace.After) != 1 {
		t.Fatalf("workspace %+v, problems %v; want one hook before and one after", got.Workspace, got.Problems)
	}
	before, after := got.Workspace.Before[0], got.Workspace.After[0]
	if before.Dir != "suites" || before.Timeout != 1500*time.Millisecond || strings.Join(before.Argv, " ") != "python3 ../hooks/prepare.py {{workspace_path}}" {
		t.Errorf("the hook before is %+v", before)
	}
	if files := strings.Join(before.Built.Paths(), " "); files != "hooks/helper.py hooks/prepare.py" {
		t.Errorf("the hook is made of %s, want what it names and what is around it", files)
	}
	if !after.InWorkspace || after.Timeout != time.Minute || strings.Join(after.Argv, "|") != "sh|-c|echo bye" {
		t.Errorf("the hook after is %+v, want one for the shell that starts in the workspace", after)
	}
	own := readTestbed(t, suite, "{hooks: {before_all: {command: [date]}}}")
	if len(own.Workspace.Before) != 1 || own.Workspace.Before[0].Argv[0] != "date" || len(own.Workspace.After) != 1 {
		t.Errorf("with a hook of the test: %+v, want that one and the suite's after", own.Workspace)
	}
}

// TestWhatIsNotMade names what a workspace needs that is not made here.
func TestWhatIsNotMade(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{docker: {image: x}}", "a container"}, {"{type: docker}", "a container"}, {"{path: /agent}", "a folder of one machine"},
		{"{mode: static}", "a folder of one machine"}, {"{repos: [{path: a}]}", "a clone of another repository"}, {"{env: {A: b}}", "environment variables"},
		{"{template: ../shop, mode: pooled}", ""},
	} {
		if got := readTestbed(t, tt.text, ""); !strings.Contains(got.Lacks, tt.want) || tt.want == "" && got.Lacks != "" {
			t.Errorf("%s lacks %q, want %q", tt.text, got.Lacks, tt.want)
		}
	}
	if got := readTestbed(t, "", ""); got.Workspace != nil || got.Lacks != "" {
		t.Errorf("no workspace is read as %+v", got)
	}
}

// TestMistakes are named with their place.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{template: ../gone}", "suites/a.yaml:1:13: error: the folder gone does not exist"},
		{"{template: ../..}", `the path "../.." leaves the repository`},
		{"{template: ../shop/shop.txt}", "does not exist"},
		{"gone.yaml", "the file suites/gone.yaml does not exist"},
		{"../shared/broken.yaml", "shared/broken.yaml:"},
		{"{hooks: {before_all: {command: []}}}", "the hook names no program"},
		{"{hooks: {before_all: {command: [x], cwd: ../gone}}}", "the folder gone does not exist"},
		{"{hooks: {before_all: {command: [./gone.sh]}}}", "gone.sh does not exist"},
		{"{mode: shared}", "write one of pooled, temp, static"},
	} {
		got := readTestbed(t, tt.text, "")
		text := ""
		for _, p := range got.Problems {
			text += p.String() + "\n"
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: problems %q, want %q", tt.text, text, tt.want)
		}
	}
}

// TestALargeTemplate is refused before all of it is read.
func TestALargeTemplate(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 2001 {
		files["big/"+string(rune('a'+i%26))+time.Duration(i).String()] = &fstest.MapFile{Data: []byte("x")}
	}
	doc, _ := document.Parse("suites/a.yaml", []byte("workspace: {template: ../big}\n"))
	got := newTestbedReader(document.Source{FS: files}).Read(testbedSource{Suite: document.Place{Doc: doc, Path: []any{"workspace"}}})
	if len(got.Problems) != 1 || got.Problems[0].Rule != "too-large" {
		t.Errorf("problems %v, want one of the rule too-large", got.Problems)
	}
}

// TestIdentity holds what counts for a workspace: what the files hold, and not where they are.
func TestIdentity(t *testing.T) {
	encode := func(text string) string {
		raw, err := json.Marshal(readTestbed(t, text, "").Workspace)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	a := encode("{template: ../shop}")
	if strings.Contains(a, "shop/") || a != encode("{template: /shop, isolation: per_test}") {
		t.Errorf("the identity of a template has its place: %s", a)
	}
	if a == encode("{template: ../hooks}") {
		t.Error("two templates have one identity")
	}
}

// TestEnvironment reads the environment of AgentV 5: a folder that may be there, and the
// program that prepares it.
func TestEnvironment(t *testing.T) {
	for _, tt := range []struct {
		name, text, files, argv string
		starts                  bool // in the workspace
	}{
		{"a folder", "{type: host, workdir: ../shop}", "bin/open* shop.txt", "", false},
		{"a folder that is not there", "{type: host, workdir: ./made}", "", "", false},
		{"a program", `{workdir: ./made, setup: {command: [sh, ../hooks/prepare.py]}}`, "", "sh ../hooks/prepare.py", true},
		{"a program that is told the folder", `{workdir: ./made, setup: {command: [python3, ../hooks/prepare.py, ./made, made], cwd: "."}}`, "", "python3 ../hooks/prepare.py {{workspace_path}} {{workspace_path}}", false},
		{"a program in the folder", `{workdir: ../shop, setup: {command: [ls], cwd: ../shop}}`, "bin/open* shop.txt", "ls", true},
	} {
		got := readTestbed(t, tt.text, "")
		if len(got.Problems) > 0 || got.Workspace == nil || got.Lacks != "" {
			t.Errorf("%s: problems %v, lacks %q; want neither", tt.name, got.Problems, got.Lacks)
			continue
		}
		var argv string
		var starts bool
		for _, h := range got.Workspace.Before {
			argv, starts = strings.Join(h.Argv, " "), h.InWorkspace
		}
		if files := words(got.Workspace.Files); files != tt.files || argv != tt.argv || starts != tt.starts {
			t.Errorf("%s: files %q, command %q, starts in the workspace: %v; want %q, %q, %v", tt.name, files, argv, starts, tt.files, tt.argv, tt.starts)
		}
	}
}
