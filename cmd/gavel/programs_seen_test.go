package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/reporters"
)

// A seenProgram is a repository in which one case depends on a program, and another one
// does not.
type seenProgram struct {
	name  string
	files map[string]string
	// key is the case, module and data are files that its program may load.
	key, module, data string
	// aside is a file next to the definition that no program may load.
	aside string
}

const (
	echoing = "version: 1\ntargets: {model: {provider: mock, replies: [{echo: true}]}}\n"
	byProg  = "version: 1\ndefault_target: bot\ntargets:\n  model: {provider: mock, replies: [{echo: true}]}\n  bot: {provider: command, argv: [sh, agent/run.sh]}\n"
)

// promptfooOf is a definition with two tests: only the first has the assertion.
func promptfooOf(prompts, providers, assert string) string {
	return "prompts: [" + prompts + "]\nproviders: [" + providers + "]\ntests:\n" +
		"  - {description: one, vars: {x: hello}, assert: [" + assert + "]}\n"
}

// other is a definition without programs.
const other = "prompts: ['{{x}}']\nproviders: [model]\ntests: [{description: other, vars: {x: hi}, assert: [{type: contains, value: hi}]}]\n"

// suiteOf is one of evalcase with an evaluator.
func suiteOf(evaluator string) string {
	return "evalcases:\n  - id: one\n    expected_outcome: It is right.\n    input: say six\n    execution: {target: model, evaluators: [" + evaluator + "]}\n"
}

// seenPrograms are all kinds of programs in all formats.
var seenPrograms = []seenProgram{
	{"assertion in JavaScript", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'{{x}}'", "model", "{type: javascript, value: 'file://checks/a.js'}"),
		"checks/a.js": "const h = require('./lib/h.js'); require('fs'); module.exports = (o) => h(o)",
	}, "promptfooconfig#one", "checks/lib/h.js", "checks/words.json", "lib/h.js"},
	{"assertion in Python", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'{{x}}'", "model", "{type: python, value: 'file://checks/a.py'}"), "checks/a.py": "import h",
	}, "promptfooconfig#one", "checks/h.py", "checks/rules.txt", "lib/h.py"},
	{"prompt in JavaScript", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'file://prompts/p.js'", "model", ""), "prompts/p.js": "module.exports = () => process.version",
	}, "promptfooconfig#one", "prompts/shared/tone.js", "prompts/tone.txt", "shared/tone.js"},
	{"prompt in Python", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'file://prompts/p.py:make'", "model", ""), "prompts/p.py": "import tone",
	}, "promptfooconfig#one", "prompts/tone.py", "prompts/deep/tone.txt", "shared/tone.txt"},
	{"prompt by a command", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'exec:prompts/p.sh'", "model", ""), "prompts/p.sh": ". ./tone.sh",
	}, "promptfooconfig#one", "prompts/tone.sh", "prompts/tone.txt", "shared/tone.sh"},
	{"provider in Python", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'{{x}}'", "'file://prov/p.py'", ""), "prov/p.py": "import tone",
	}, "promptfooconfig#one", "prov/tone.py", "prov/data/tone.txt", "shared/tone.py"},
	{"provider in JavaScript", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'{{x}}'", "'file://prov/p.js'", ""), "prov/p.js": "require('./tone')",
	}, "promptfooconfig#one", "prov/tone.js", "prov/tone.txt", "shared/tone.js"},
	{"provider by a command", map[string]string{
		"gavel.yaml": echoing, "promptfooconfig.yaml": promptfooOf("'{{x}}'", "'exec:sh prov/p.sh'", ""), "prov/p.sh": "echo hello",
	}, "promptfooconfig#one", "prov/tone.sh", "prov/tone.txt", "shared/tone.sh"},
	{"code judge", map[string]string{
		"gavel.yaml": echoing, "test_definitions/s/one.yaml": suiteOf("{name: j, type: code_judge, script: [python3, judges/j.py]}"), "test_definitions/s/judges/j.py": "import x",
	}, "s/one#one", "test_definitions/s/judges/lib/x.py", "test_definitions/s/judges/rules.json", "test_definitions/other/x.py"},
	{"code judge next to its suite", map[string]string{
		"gavel.yaml": echoing, "test_definitions/s/one.yaml": suiteOf("{name: j, type: code_judge, script: [python3, j.py]}"), "test_definitions/s/j.py": "import x",
	}, "s/one#one", "test_definitions/s/lib/x.py", "test_definitions/s/words.json", "test_definitions/x.py"},
	{"prompt of a judge by a program", map[string]string{
		"gavel.yaml":                  echoing + "roles: {judge: model}\n",
		"test_definitions/s/one.yaml": suiteOf("{name: j, type: llm_judge, prompt: {script: [python3, judges/ask.py]}}"), "test_definitions/s/judges/ask.py": "import x",
	}, "s/one#one", "test_definitions/s/judges/x.py", "test_definitions/s/judges/words.txt", "test_definitions/s/x.py"},
	{"own assertion of AgentV", map[string]string{
		"gavel.yaml": echoing, "test_definitions/s/one.yaml": "tests:\n- {id: one, input: z, assertions: [{type: tone}]}\n", "test_definitions/s/.agentv/assertions/tone.py": "import x",
	}, "s/one#one", "test_definitions/s/.agentv/assertions/x.py", "test_definitions/s/.agentv/assertions/words.txt", "test_definitions/s/x.py"},
	{"hook of a workspace", map[string]string{
		"gavel.yaml":                  strings.Replace(byProg, "default_target: bot\n", "default_target: bot\ndefinitions: [test_definitions]\n", 1),
		"test_definitions/s/one.yaml": "tests:\n- id: one\n  input: z\n  workspace: {hooks: {before_all: {command: [python3, hooks/prepare.py]}}}\n  assertions: [{type: contains, value: z}]\n",
		"agent/run.sh":                "echo z", "test_definitions/s/hooks/prepare.py": "import x",
	}, "test_definitions/s/one#one", "test_definitions/s/hooks/x.py", "test_definitions/s/hooks/words.txt", "test_definitions/s/x.py"},
	{"extension of AgentV", map[string]string{
		"gavel.yaml":                  byProg,
		"test_definitions/s/one.yaml": "extensions: ['file://hooks/h.mjs:beforeAll']\nenvironment: {type: host}\ntests:\n- {id: one, vars: {input: z}, assert: [{type: contains, value: z}]}\nprompts: ['{{input}}']\n",
		"agent/run.sh":                "echo z", "test_definitions/s/hooks/h.mjs": "import './x.mjs'",
	}, "s/one#one", "test_definitions/s/hooks/x.mjs", "test_definitions/s/hooks/words.txt", "test_definitions/s/x.mjs"},
	{"command target of a test case", map[string]string{
		"gavel.yaml": byProg + "roles: {judge: model, simulator: model}\n", "agent/run.sh": ". ./agent/x.sh",
		"test_definitions/one.json": `{"name": "one", "initial_message": "say hi", "expected_outcomes": {"said": true}}`,
	}, "", "agent/lib/x.sh", "agent/words.txt", "words.txt"},
	{"command target of a domain", map[string]string{
		"gavel.yaml": byProg, "test_definitions/talk/domain.json": `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`, "agent/run.sh": ". ./agent/x.sh",
		"test_definitions/talk/level_1/one.json": `{"id": "one", "name": "One", "prompt": "hi", "expected": {"keywords": ["hi"]}}`,
	}, "talk/level_1/one", "agent/lib/x.sh", "agent/words.txt", "words.txt"},
	{"command target with inputs", map[string]string{
		"gavel.yaml":                  "version: 1\ndefault_target: bot\ntargets:\n  model: {provider: mock, replies: [{echo: true}]}\n  bot: {provider: command, argv: [sh, agent/run.sh], inputs: [\"shared/*.txt\"]}\n",
		"agent/run.sh":                ". ./agent/lib/x.sh",
		"test_definitions/s/one.yaml": "tests:\n- {id: one, input: z, assertions: [{type: contains, value: z}]}\n",
	}, "s/one#one", "agent/lib/x.sh", "shared/words.txt", "shared/deep/words.txt"},
	{"command target of promptval", map[string]string{
		"gavel.yaml": byProg + "roles: {judge: model}\n", "agent/run.sh": ". ./agent/x.sh",
		"test_definitions/one.json": `{"test_type": "agent", "name": "bot", "user_input": ["Say hi"], "testing_prompt": "It says hi."}`,
	}, "", "agent/lib/x.sh", "agent/words.txt", "words.txt"},
}

// digestsIn are the digests of the planned cases by key.
func digestsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	digests := map[string]string{}
	for _, c := range planIn(t, dir).Cases {
		if c.Digest != nil {
			digests[c.Key] = *c.Digest
		}
	}
	return digests
}

func planIn(t *testing.T, dir string, args ...string) (plan reporters.Plan) {
	t.Helper()
	stdout, stderr, code := gavel(t, dir, append([]string{"plan", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil || code != 0 {
		t.Fatalf("gavel plan ends with %d, %v:\n%s%s", code, err, stdout, stderr)
	}
	return plan
}

// TestVerdictsDependOnWhatProgramsSee takes each kind of program through changes of the
// files around it, in the working tree and as a pull request. (abuse 43)
func TestVerdictsDependOnWhatProgramsSee(t *testing.T) {
	for _, tt := range seenPrograms {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := maps.Clone(tt.files)
			files["test_definitions/other/promptfooconfig.yaml"], files[tt.module], files[tt.data], files[tt.aside] = other, "1", "1", "1"
			gittest.Init(t, dir, "main")
			gittest.Commit(t, dir, files)
			before := digestsIn(t, dir)
			if tt.key == "" {
				for key := range before {
					if !strings.HasSuffix(key, "#other") {
						tt.key = key
					}
				}
			}
			if len(before) < 2 || before[tt.key] == "" {
				t.Fatalf("the cases are %v, want %s and another one", before, tt.key)
			}
			for _, change := range changesOf(tt) {
				gittest.Run(t, dir, "checkout", "-q", "-f", "main")
				gittest.Run(t, dir, "clean", "-qfd", "-e", ".gavel")
				change.make(t, dir)
				var changed []string
				for key, digest := range digestsIn(t, dir) {
					if digest != before[key] {
						changed = append(changed, key)
					}
				}
				if slices.Sort(changed); strings.Join(changed, " ") != change.want {
					t.Errorf("%s changes the digests of %q, want %q", change.name, changed, change.want)
				}
				gittest.Run(t, dir, "checkout", "-q", "-b", strings.ReplaceAll(change.name, " ", "-"))
				gittest.Run(t, dir, "add", "-A")
				gittest.Run(t, dir, "commit", "-q", "-m", "change")
				var affected []string
				for _, c := range planIn(t, dir, "--base", "main").Cases {
					if c.Action != "reuse" && c.Action != "skip" {
						affected = append(affected, c.Key)
						if len(c.Reasons) == 0 || !strings.Contains(c.Reasons[0].Message+c.Reasons[0].File, filepath.Base(change.file)) {
							t.Errorf("%s: the reasons of %s are %+v, want that they name %s", change.name, c.Key, c.Reasons, change.file)
						}
					}
				}
				if slices.Sort(affected); strings.Join(affected, " ") != change.want {
					t.Errorf("%s affects %q, want %q", change.name, affected, change.want)
				}
			}
		})
	}
}

// A change is one of files, with the case that it affects.
type change struct {
	name, file, want string
	make             func(t *testing.T, dir string)
}

func changesOf(p seenProgram) []change {
	write := func(file, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			at := filepath.Join(dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh := filepath.ToSlash(filepath.Join(filepath.Dir(p.module), "fresh"+filepath.Ext(p.module)))
	return []change{
		{"another module", p.module, p.key, write(p.module, "2")},
		{"other data", p.data, p.key, write(p.data, "2")},
		{"a new file", fresh, p.key, write(fresh, "new")},
		{"a removed file", p.data, p.key, func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(p.data))); err != nil {
				t.Fatal(err)
			}
		}},
		{"a renamed file", filepath.Base(p.module), p.key, func(t *testing.T, dir string) {
			at := filepath.Join(dir, filepath.FromSlash(p.module))
			if err := os.Rename(at, filepath.Join(filepath.Dir(at), "renamed-"+filepath.Base(at))); err != nil {
				t.Fatal(err)
			}
		}},
		{"what it does not see", p.aside, "", write(p.aside, "2")},
	}
}
