package main

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/forge/forgetest"
	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
	"github.com/gavel-evals/gavel/controller/report"
)

// A program of these tests says the word in lib/rule.txt next to it; it says another one if
// that is gone or if lib/fresh.txt is there. No error comes out of it.
const (
	wordPython = `import os
def word():
    lib = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib')
    if os.path.exists(os.path.join(lib, 'fresh.txt')):
        return 'fresh'
    try:
        return open(os.path.join(lib, 'rule.txt')).read().strip()
    except OSError:
        return 'gone'
`
	wordNode = `const fs = require('fs'), path = require('path');
function word() {
  const lib = path.join(__dirname, 'lib');
  if (fs.existsSync(path.join(lib, 'fresh.txt'))) return 'fresh';
  try { return fs.readFileSync(path.join(lib, 'rule.txt'), 'utf8').trim(); } catch { return 'gone'; }
}
`
	wordShell = `word=$(cat DIR/lib/rule.txt 2>/dev/null || echo gone)
[ ! -e DIR/lib/fresh.txt ] || word=fresh
`
)

// judgedBy are programs of all kinds, each with the folder that it is in.
var judgedBy = []struct {
	key, folder string
	files       map[string]string
}{
	{"assertpy/promptfooconfig#one", "assertpy/checks", map[string]string{
		"assertpy/promptfooconfig.yaml": promptfooOf("'{{x}}'", "model", "{type: python, value: 'file://checks/a.py'}"),
		"assertpy/checks/a.py":          wordPython + "def get_assert(output, context):\n    return word() == 'walrus'\n",
	}},
	{"assertjs/promptfooconfig#one", "assertjs/checks", map[string]string{
		"assertjs/promptfooconfig.yaml": promptfooOf("'{{x}}'", "model", "{type: javascript, value: 'file://checks/a.js'}"),
		"assertjs/checks/a.js":          wordNode + "module.exports = () => word() === 'walrus';\n",
	}},
	{"promptpy/promptfooconfig#one", "promptpy/prompts", map[string]string{
		"promptpy/promptfooconfig.yaml": promptfooOf("'file://prompts/p.py:make'", "model", "{type: contains, value: walrus}"),
		"promptpy/prompts/p.py":         wordPython + "def make(context):\n    return word()\n",
	}},
	{"promptjs/promptfooconfig#one", "promptjs/prompts", map[string]string{
		"promptjs/promptfooconfig.yaml": promptfooOf("'file://prompts/p.js'", "model", "{type: contains, value: walrus}"),
		"promptjs/prompts/p.js":         wordNode + "module.exports = () => word();\n",
	}},
	{"promptsh/promptfooconfig#one", "promptsh/prompts", map[string]string{
		"promptsh/promptfooconfig.yaml": promptfooOf("'exec:sh prompts/p.sh'", "model", "{type: contains, value: walrus}"),
		"promptsh/prompts/p.sh":         strings.ReplaceAll(wordShell, "DIR", "prompts") + "echo $word\n",
	}},
	{"providerpy/promptfooconfig#one", "providerpy/prov", map[string]string{
		"providerpy/promptfooconfig.yaml": promptfooOf("'{{x}}'", "'file://prov/p.py'", "{type: contains, value: walrus}"),
		"providerpy/prov/p.py":            wordPython + "def call_api(prompt, options, context):\n    return {'output': word()}\n",
	}},
	{"providerjs/promptfooconfig#one", "providerjs/prov", map[string]string{
		"providerjs/promptfooconfig.yaml": promptfooOf("'{{x}}'", "'file://prov/p.js'", "{type: contains, value: walrus}"),
		"providerjs/prov/p.js":            wordNode + "module.exports = class { id() { return 'own'; } async callApi() { return { output: word() }; } };\n",
	}},
	{"providersh/promptfooconfig#one", "providersh/prov", map[string]string{
		"providersh/promptfooconfig.yaml": promptfooOf("'{{x}}'", "'exec:sh test_definitions/providersh/prov/p.sh'", "{type: contains, value: walrus}"),
		"providersh/prov/p.sh":            strings.ReplaceAll(wordShell, "DIR", "$(dirname $0)") + "echo $word\n",
	}},
	{"coded/one#one", "coded/judges", map[string]string{
		"coded/one.yaml":    suiteOf("{name: j, type: code_judge, script: [python3, judges/j.py]}"),
		"coded/judges/j.py": wordPython + "print('{\"score\": %d}' % (word() == 'walrus'))\n",
	}},
	{"nextto/one#one", "nextto", map[string]string{
		"nextto/one.yaml": suiteOf("{name: j, type: code_judge, script: [sh, j.sh]}"),
		"nextto/j.sh":     "cat >/dev/null\n" + strings.ReplaceAll(wordShell, "DIR", ".") + "[ $word = walrus ] && echo '{\"score\": 1}' || echo '{\"score\": 0}'\n",
	}},
	{"asked/one#one", "asked/judges", map[string]string{
		"asked/one.yaml":      suiteOf("{name: j, type: llm_judge, prompt: {script: [python3, judges/ask.py]}}"),
		"asked/judges/ask.py": wordPython + "print('Is it ' + word())\n",
	}},
	{"own/one#one", "own/.agentv/assertions", map[string]string{
		"own/one.yaml":                   "execution: {target: model}\ntests:\n- {id: one, input: z, assertions: [{type: tone}]}\n",
		"own/.agentv/assertions/tone.sh": "cat >/dev/null\n" + strings.ReplaceAll(wordShell, "DIR", "$(dirname $0)") + "[ $word = walrus ] && echo '{\"score\": 1}' || echo '{\"score\": 0}'\n",
	}},
	{"hooked/one#one", "hooked/hooks", map[string]string{
		"hooked/one.yaml":   "execution: {target: reader}\nworkspace: {hooks: {before_all: {command: [python3, hooks/h.py, '{{workspace_path}}']}}}\ntests:\n- {id: one, input: z, assertions: [{type: contains, value: walrus}]}\n",
		"hooked/hooks/h.py": wordPython + "import sys\nopen(sys.argv[1] + '/word.txt', 'w').write(word())\n",
	}},
	{"extended/one#one", "extended/hooks", map[string]string{
		"extended/one.yaml":   "prompts: ['{{input}}']\nproviders: [reader]\nextensions: ['file://hooks/h.js:beforeAll']\nenvironment: {type: host}\ntests:\n- {id: one, vars: {input: z}, assert: [{type: contains, value: walrus}]}\n",
		"extended/hooks/h.js": wordNode + "module.exports.beforeAll = (context) => fs.writeFileSync(context.workspace_path + '/word.txt', word());\n",
	}},
	{"talk/level_1/one", "agents/domain", map[string]string{
		"talk/domain.json":      `{"id": "talk", "name": "Talk", "evaluator_id": "keyword"}`,
		"talk/level_1/one.json": `{"id": "one", "name": "One", "prompt": "hi", "expected": {"keywords": ["walrus"]}}`,
	}},
	{"case", "agents/case", map[string]string{
		"case.json": `{"name": "case", "initial_message": "say hi", "max_turns": 1, "evaluation_criteria_override": "Does it bark?"}`,
	}},
	{"rated", "agents/rated", map[string]string{
		"rated.json": `{"test_type": "agent", "name": "rated", "user_input": "Say hi", "testing_prompt": "Is it polite?", "analysis": false, "checks": [{"contains": "walrus"}]}`,
	}},
}

// everyProgram is a repository with all of them, and with a case that has none.
func everyProgram() map[string]string {
	files := map[string]string{
		"gavel.yaml": `version: 1
default_target: domain
roles: {judge: judge, simulator: model}
targets:
  model: {provider: mock, replies: [{echo: true}]}
  judge:
    provider: mock
    replies:
      - {match: "Is it walrus", reply: '{"score": 1, "reason": "It is."}'}
      - {match: "Is it ", reply: '{"score": 0, "reason": "It is not."}'}
      - {match: walrus, reply: '{"metrics": {"overall": {"score": 5}}, "summary": "Fine."}'}
      - {reply: '{"metrics": {"overall": {"score": 0}}, "summary": "Bad."}'}
  reader: {provider: command, argv: [sh, reader/run.sh]}
  domain: {provider: command, argv: [sh, test_definitions/agents/domain/run.sh]}
  case: {provider: command, argv: [sh, test_definitions/agents/case/run.sh], inputs: [README.md]}
  rated: {provider: command, argv: [sh, test_definitions/agents/rated/run.sh]}
`,
		"reader/run.sh": "cat >/dev/null; cat word.txt\n",
		"test_definitions/other/promptfooconfig.yaml": other,
	}
	for _, p := range judgedBy {
		for name, text := range p.files {
			files["test_definitions/"+name] = text
		}
		files["test_definitions/"+p.folder+"/lib/rule.txt"] = "walrus\n"
		if strings.HasPrefix(p.folder, "agents/") {
			files["test_definitions/"+p.folder+"/run.sh"] = "cat >/dev/null\n" + strings.ReplaceAll(wordShell, "DIR", "test_definitions/"+p.folder) + "echo $word\n"
		}
	}
	return files
}

// verdictsOf are the verdicts and classes of a run by key.
func verdictsOf(t *testing.T, stdout, stderr string) map[string]string {
	t.Helper()
	var run report.Report
	if err := json.Unmarshal([]byte(stdout), &run); err != nil {
		t.Fatalf("%v:\n%s%s", err, stdout, stderr)
	}
	out := map[string]string{}
	for _, c := range run.Cases {
		said := string(c.Action)
		if c.Verdict != nil {
			said = string(*c.Verdict)
		}
		if c.Error != nil {
			said += ": " + *c.Error
		}
		if c.Class != nil {
			said += " " + string(*c.Class)
		}
		out[c.Key] = said
	}
	return out
}

// TestEveryProgramIsJudgedAgain takes changes of what the programs of all kinds load through
// a run against base and through a pull request: no verdict of base stays. (abuse 43)
func TestEveryProgramIsJudgedAgain(t *testing.T) {
	needsPrograms(t, "node", "python3")
	base := everyProgram()
	want := map[string]string{"other/promptfooconfig#other": "pass unchanged"}
	for _, p := range judgedBy {
		want[p.key] = "fail regression"
	}
	for _, change := range []struct {
		name string
		make func(lib string, files map[string]string)
	}{
		{"another content", func(lib string, files map[string]string) { files[lib+"/rule.txt"] = "zebra\n" }},
		{"a new file", func(lib string, files map[string]string) { files[lib+"/fresh.txt"] = "new\n" }},
		{"a removed file", func(lib string, files map[string]string) { delete(files, lib+"/rule.txt") }},
		{"a renamed file", func(lib string, files map[string]string) {
			files[lib+"/renamed.txt"] = files[lib+"/rule.txt"]
			delete(files, lib+"/rule.txt")
		}},
	} {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			head := maps.Clone(base)
			for _, p := range judgedBy {
				change.make("test_definitions/"+p.folder+"/lib", head)
			}
			dir := t.TempDir()
			gittest.Init(t, dir, "main")
			gittest.Commit(t, dir, base)
			stdout, stderr, code := gavel(t, dir, "run", "--json")
			for key, got := range verdictsOf(t, stdout, stderr) {
				if got != "pass" {
					t.Errorf("base: %s is %s, want pass (exit code %d)", key, got, code)
				}
			}
			write(t, dir, base, head)
			stdout, stderr, _ = gavel(t, dir, "run", "--base", "main", "--json")
			sameVerdicts(t, "run --base", verdictsOf(t, stdout, stderr), want)

			j := newJob(t, forgetest.Pull{}, forgetest.TokenUser)
			j.replace(t, base, nil)
			write(t, j.folder, base, head)
			gittest.Run(t, j.folder, "add", "-A")
			gittest.Run(t, j.folder, "commit", "-q", "-m", "change")
			j.head = gittest.Resolve(t, j.folder, "HEAD")
			j.move(t, j.head)
			j.forge.Push("friendlier-support", j.head, "maintainer")
			stdout, stderr, _ = j.run(t, "--json")
			sameVerdicts(t, "pr", verdictsOf(t, stdout, stderr), want)
		})
	}
}

// write brings a folder from one state to another.
func write(t *testing.T, dir string, from, to map[string]string) {
	t.Helper()
	for name := range from {
		if _, stays := to[name]; !stays {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range to {
		if from[name] == text {
			continue
		}
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(path.Dir(filepath.ToSlash(at)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func sameVerdicts(t *testing.T, door string, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		is := got[key]
		if want[key] == "pass unchanged" && (is == "" || strings.HasPrefix(is, "reuse")) {
			continue // not in the report, since nothing affects it
		}
		if is != want[key] {
			t.Errorf("%s: %s is %q, want %q", door, key, is, want[key])
		}
	}
	for key, is := range got {
		if want[key] == "" {
			t.Errorf("%s has %s, which is %s and was not expected", door, key, is)
		}
	}
}
