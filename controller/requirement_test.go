package controller

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

func unset(string) (string, bool) { return "", false }

// problems are the problems of a repository, a line each.
func problems(t *testing.T, files map[string]string) string {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	cfg := config.Default()
	if text, found := files["gavel.yaml"]; found {
		var wrong []schema.Problem
		if cfg, wrong = config.Parse("gavel.yaml", []byte(text)); len(wrong) > 0 {
			t.Fatal(wrong)
		}
	}
	found, err := load.Scan(t.Context(), fsys, load.Options{Settings: cfg.Settings()})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	needs := found.Needs()
	for _, p := range append(ConfigurationProblems(fsys, "gavel.yaml", cfg, needs), FindRequirement(fsys, "gavel.yaml", cfg, unset).Problems(needs)...) {
		fmt.Fprintf(&b, "%s %s %s\n", p.Position, p.Severity, p.Rule)
	}
	return b.String()
}

const (
	mock = "{provider: mock, replies: [{reply: x}]}"
	talk = `{"name": "Talk"}`
)

func TestProblems(t *testing.T) {
	const file = "test_definitions/a.json"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing is to be judged", map[string]string{file: `{"name": "a", "status": "draft"}`}, ""},
		{"no configuration", map[string]string{file: talk}, "gavel.yaml:1:1 note no-configuration\n"},
		{"no targets", map[string]string{file: talk, "gavel.yaml": "version: 1"}, "gavel.yaml:1:1 note no-configuration\n"},
		{"another extension", map[string]string{file: talk, "gavel.yml": "targets: {}"}, "gavel.yml:1:1 error no-configuration\n"},
		{"a dot", map[string]string{file: talk, ".gavel.yaml": "targets: {}"}, ".gavel.yaml:1:1 error no-configuration\n"},
		{"JSON", map[string]string{file: talk, "gavel.json": `{"targets": {}}`}, "gavel.json:1:1 error no-configuration\n"},
		{"capitals", map[string]string{file: talk, "Gavel.yaml": "targets: {}"}, "Gavel.yaml:1:1 error no-configuration\n"},
		{"a typing error", map[string]string{file: talk, "gravel.yaml": "targets: {}"}, "gravel.yaml:1:1 error no-configuration\n"},
		{"among the definitions", map[string]string{file: talk, "test_definitions/gavel.yaml": "targets: {}"}, "test_definitions/gavel.yaml:1:1 error no-configuration\n"},
		{"another file of a like name", map[string]string{file: talk, "navel.yaml": "oranges: 7"}, "gavel.yaml:1:1 note no-configuration\n"},
		{"a second configuration", map[string]string{file: talk, "gavel.yml": "targets: {}", "gavel.yaml": "version: 1\ntargets: {a: " + mock + "}\nroles: {judge: a}"}, ""},
		{"no judge and no simulator", map[string]string{file: talk, "gavel.yaml": "version: 1\ntargets: {a: " + mock + "}"}, file + ":1:1 error missing-role\n" + file + ":1:1 error missing-role\n"},
		{"a simulator without a judge", map[string]string{file: talk, "gavel.yaml": "version: 1\ntargets: {a: " + mock + "}\ndefault_target: a\nroles: {simulator: a}"}, file + ":1:1 error missing-role\n"},
		{"a key of a judge", map[string]string{file: talk, "gavel.yaml": "version: 1\ntargets: {a: " + mock + ", j: {provider: openai, model: m, api_key_env: KEY}}\ndefault_target: a\nroles: {judge: j}"}, "gavel.yaml:2:87 warning unset-variable\n"},
		{"a variable of a program", map[string]string{file: talk, "gavel.yaml": "version: 1\ntargets: {a: {provider: command, argv: [sh], inputs: [a],\n env: [KEY]}, j: " + mock + "}\ndefault_target: a\nroles: {judge: j}"}, "gavel.yaml:3:8 warning unset-variable\n"},
		{"a key in a header", map[string]string{file: talk, "gavel.yaml": "version: 1\ntargets: {a: {provider: http, url: \"http://a\",\n headers: {X-Key: {value_env: KEY}}, revision: reply}, j: " + mock + "}\ndefault_target: a\nroles: {judge: j}"}, "gavel.yaml:3:12 warning unset-variable\n"},
		{"a key of nobody who is asked", map[string]string{file: talk, "gavel.yaml": "version: 1\ntargets: {a: " + mock + ", j: {provider: openai, model: m, api_key_env: KEY}}\ndefault_target: a\nroles: {judge: a}"}, ""},
		{"an editor", map[string]string{
			file:         `{"test_type": "agent", "name": "a", "user_input": "x", "testing_prompt": "y", "analysis": false, "expected_tools": [{"name": "t", "eq": 1}], "retry": true, "max_retries": 1, "edit_prompt": true}`,
			"gavel.yaml": "version: 1\ntargets: {a: " + mock + "}",
		}, file + ":1:1 warning missing-role\n"},
	} {
		if got := problems(t, tt.files); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestOneProblemForEachCause has many cases that lack the same.
func TestOneProblemForEachCause(t *testing.T) {
	files := map[string]string{"gavel.yaml": "version: 1\ntargets: {a: " + mock + "}\ndefault_target: a\nroles: {simulator: a}"}
	for i := range 20 {
		files[fmt.Sprintf("test_definitions/%02d.json", i)] = talk
	}
	if got, want := problems(t, files), "test_definitions/00.json:1:1 error missing-role\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTheRepairWithoutAJudge names a target that may judge, or the whole of one.
func TestTheRepairWithoutAJudge(t *testing.T) {
	for targets, want := range map[string]string{
		"{bot: " + mock + "}": "add targets: {judge: {provider: openai, model: …}} and roles: {judge: judge} to gavel.yaml",
		"{bot: {provider: http, url: \"http://127.0.0.1:1/\"}}":                                                 "add targets: {judge: {provider: openai, model: …}} and roles: {judge: judge} to gavel.yaml",
		"{bot: " + mock + ", m: {provider: openai, model: m, base_url: \"http://127.0.0.1:1/v1\"}}":             "add roles: {judge: …} to gavel.yaml, with the name of a target",
		"{bot: " + mock + ", m: {provider: openai, api: embeddings, model: m, base_url: \"http://127.0.0.1\"}}": "add targets: {judge: {provider: openai, model: …}} and roles: {judge: judge} to gavel.yaml",
	} {
		cfg, wrong := config.Parse("gavel.yaml", []byte("version: 1\ndefault_target: bot\ntargets: "+targets+"\n"))
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		found := FindRequirement(fstest.MapFS{}, "gavel.yaml", cfg, unset).Problems([]load.Need{{Callee: load.Callee{Role: schema.Judge}, Cases: 1}})
		if len(found) != 1 || found[0].Hint != want {
			t.Errorf("%s: %v, want the repair %q", targets, found, want)
		}
	}
}
