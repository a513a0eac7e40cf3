package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// A mistake is a mistake of beginners: files that differ from a correct repository's
// (empty for a missing one), a command, how it ends and its output.
type mistake struct {
	name  string
	files map[string]string
	// prepare changes the repository after the files are written.
	prepare func(t *testing.T, dir string)
	args    string
	code    int
	says    []string
	// never are texts that the output must not have.
	never []string
}

const (
	mistakeConfig = "version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}]}\n"
	mistakeCase   = "evalcases:\n  - id: window\n    input: hi\n    checks: [{contains: hello}]\n"
	mistakeFile   = "test_definitions/refund.yaml"
)

// oneTarget is a gavel.yaml with one target of these fields.
func oneTarget(fields string) map[string]string {
	return map[string]string{"gavel.yaml": "version: 1\ntargets:\n  bot: {" + fields + "}\n"}
}

func commitAll(t *testing.T, dir string) {
	gittest.Run(t, dir, "add", "-A")
	gittest.Run(t, dir, "commit", "-q", "-m", "evals")
}

// shallow commits twice and leaves git without the first commit.
func shallow(t *testing.T, dir string) {
	commitAll(t, dir)
	gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "more")
	head := gittest.Resolve(t, dir, "HEAD")
	if err := os.WriteFile(filepath.Join(dir, ".git", "shallow"), []byte(head+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rowsOf are a file of promptfoo whose first row fails, in place of the case of the others.
func rowsOf(assert string) map[string]string {
	return map[string]string{mistakeFile: "", "promptfooconfig.yaml": "prompts: ['{{x}}']\nproviders: [bot]\ntests:\n- {description: one, vars: {x: a}, assert: [" + assert + "]}\n- {description: two, vars: {x: b}, assert: [{type: contains, value: hello}]}\n"}
}

// breaks writes another assertion into the first row once it failed.
func breaks(assert string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		commitAll(t, dir)
		if _, _, code := gavel(t, dir, "run"); code != exitGate {
			t.Errorf("base ends with %d, want %d: a row fails", code, exitGate)
		}
		if err := os.WriteFile(filepath.Join(dir, "promptfooconfig.yaml"), []byte(rowsOf(assert)["promptfooconfig.yaml"]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var mistakes = []mistake{
	{name: "a pattern with a typing error in place of one that fails", files: rowsOf("{type: regex, value: '^bye'}"), prepare: breaks("{type: regex, value: '^(bye'}"),
		args: "run --base HEAD", code: exitUsage, says: []string{"promptfooconfig.yaml:4:59: error: the pattern ^(bye of regex cannot be read", "gate undetermined: 1 definition is invalid"}, never: []string{"gate pass"}},
	{name: "an assertion that nobody has in place of one that fails", files: rowsOf("{type: regex, value: '^bye'}"), prepare: breaks("{type: matchs, value: '^bye'}"),
		args: "run --base HEAD", code: exitUsage, says: []string{"error: the assertion \"matchs\" is not known", "gate undetermined: 1 definition is invalid"}, never: []string{"gate pass"}},
	{name: "assertions under another name in place of one that fails", files: rowsOf("{type: regex, value: '^bye'}"), prepare: breaks("], asserts: [{type: regex, value: '^bye'}"),
		args: "run --base HEAD", code: exitUsage, says: []string{"error: unknown field `asserts`", "gate undetermined: 1 definition is invalid"}, never: []string{"gate pass"}},
	{name: "the variable of the key is not set", files: oneTarget(`provider: openai, model: m, api_key_env: NO_SUCH_KEY, base_url: "http://127.0.0.1:1"`),
		args: "run", code: exitUsage, says: []string{"gavel.yaml:3:37: ", "the environment variable NO_SUCH_KEY is not set", "write export NO_SUCH_KEY=…"}, never: []string{"open target bot: open target"}},
	{name: "an unset key is said once", files: oneTarget(`provider: openai, model: m, api_key_env: NO_SUCH_KEY, base_url: "http://127.0.0.1:1"`),
		args: "run", code: exitUsage, says: []string{": error: the environment variable NO_SUCH_KEY", "gavel: nothing was judged"}, never: []string{"warning", "nothing was judged: "}},
	{name: "the only row has an error", files: rowsOf("{type: matchs, value: '^bye'}"), args: "run", code: exitUsage,
		says: []string{"error: the assertion \"matchs\" is not known", "gate undetermined: 1 definition is invalid"}, never: []string{"no case is active", "a test without errors: "}},
	{name: "a domain with an unknown evaluator", args: "validate", code: exitUsage, files: map[string]string{
		"test_definitions/math/domain.json":      `{"id": "math", "name": "Math", "evaluator_id": "keywrod"}`,
		"test_definitions/math/level_1/add.json": `{"id": "add", "name": "Add", "prompt": 3, "expected": {"keywords": ["42"]}}`,
	}, says: []string{"domain.json:1:32: error: unknown evaluator \"keywrod\"", "add.json:1:40: error: `prompt` must be"}, never: []string{"add.json:1:1: error: unknown evaluator"}},
	{name: "validate says so, too", files: oneTarget("provider: openai, model: m, api_key_env: NO_SUCH_KEY"), args: "validate", says: []string{"the environment variable NO_SUCH_KEY is not set"}},
	{name: "plan says so, too", files: oneTarget("provider: openai, model: m, api_key_env: NO_SUCH_KEY"), args: "plan", says: []string{"the environment variable NO_SUCH_KEY is not set"}},
	{name: "a timeout without a unit", files: oneTarget("provider: mock, timeout: 30, replies: [{reply: a}]"),
		args: "validate", code: exitUsage, says: []string{"gavel.yaml:3:34: error: `timeout` must be a string, not a number", "write 30s, if these are seconds"}},
	{name: "the repair of a timeout is right", files: oneTarget("provider: mock, timeout: 30s, replies: [{reply: a}]"), args: "validate", says: []string{"0 errors"}},
	{name: "retries", files: oneTarget(`provider: http, url: "http://127.0.0.1:1/", retries: 3`),
		args: "validate", code: exitUsage, says: []string{"gavel.yaml:3:", "`retries` does not belong here: Gavel retries a failed call by itself", "remove it"}, never: []string{"replies"}},
	{name: "headers of a model", files: oneTarget("provider: openai, model: m, headers: {X-A: b}"),
		args: "validate", code: exitUsage, says: []string{"gavel.yaml:3:37: error: `headers` means nothing to provider openai; it is a field of http"}},
	{name: "gavel.yml", files: map[string]string{"gavel.yaml": "", "gavel.yml": mistakeConfig}, args: "run", code: exitUsage,
		says: []string{"gavel.yml:1:1: error", "rename it: git mv gavel.yml gavel.yaml"}},
	{name: "gavel.yml in a plan", files: map[string]string{"gavel.yaml": "", "gavel.yml": mistakeConfig}, args: "plan", code: exitUsage, says: []string{"git mv gavel.yml gavel.yaml"}},
	{name: "gavel.yml in validate", files: map[string]string{"gavel.yaml": "", "gavel.yml": mistakeConfig}, args: "validate", code: exitUsage, says: []string{"git mv gavel.yml gavel.yaml"}},
	{name: "no gavel.yaml", files: map[string]string{"gavel.yaml": ""}, args: "run", code: exitUsage, says: []string{"no targets are configured in gavel.yaml: the file does not exist", "run gavel init"}},
	{name: "no judge", files: map[string]string{mistakeFile: "evalcases:\n  - {id: a, input: hi, expected_outcome: It greets.}\n"},
		args: "validate", code: exitUsage, says: []string{mistakeFile + ":2:5: error: the case needs a judge", "add targets: {judge: {provider: openai, model: …}} and roles: {judge: judge} to gavel.yaml"}},
	{name: "no judge, and nothing is paid", files: map[string]string{mistakeFile: "evalcases:\n  - {id: a, input: hi, expected_outcome: It greets.}\n"},
		args: "run", code: exitUsage, says: []string{"0 calls", "the case needs a judge"}},
	{name: "too many requests", files: map[string]string{"gavel.yaml": "version: 1\ntargets:\n  bot: {provider: openai, model: m, requests_per_minutes: 5}\n"}, args: "validate", code: exitUsage,
		says: []string{"did you mean `requests_per_minute`?"}},
	{name: "a provider that does not exist", files: oneTarget("provider: azur, model: m"), args: "validate", code: exitUsage,
		says: []string{"gavel.yaml:3:19: error: `provider` is \"azur\"", "did you mean `azure`?", "ollama"}},
	{name: "a program that does not exist", files: oneTarget(`provider: command, argv: ["shh", "agent.sh"], inputs: ["agent.sh"]`), args: "run --sandbox off", code: exitUsage,
		says: []string{"gavel: open target bot: argv: no program shh in ", "correct argv, or add the folder of the program (--sandbox-path"}, never: []string{"open target bot: open target", "judge head"}},
	{name: "a configuration elsewhere", args: "run --config /etc/passwd", code: exitUsage, says: []string{"--config /etc/passwd: name a file of the repository, relative to its root"}},
	{name: "no commit yet", args: "plan --base HEAD", code: exitUsage, says: []string{"the repository does not have one yet; commit first, or leave --base out"}},
	{name: "a base of the remote that was not fetched", prepare: func(t *testing.T, dir string) {
		commitAll(t, dir)
		gittest.Run(t, dir, "remote", "add", "origin", dir)
	}, args: "run --base origin/main", code: exitUsage, says: []string{`called "origin/main": run git fetch origin main`}},
	{name: "a shallow clone", prepare: shallow, args: "run --base HEAD~1", code: exitUsage, says: []string{"the clone is shallow: run git fetch --unshallow, or set fetch-depth: 0"}},
	{name: "a base that a shallow clone lacks", prepare: shallow, args: "run --base origin/main", code: exitUsage, says: []string{"git fetch --unshallow"}},
	{name: "a misspelt base", prepare: commitAll, args: "run --base mian", code: exitUsage, says: []string{"did you mean `main`?"}},
	{name: "an empty base", args: "run --base=", code: exitUsage, says: []string{"it is empty; write a branch, a tag or a commit"}, never: []string{"gate"}},
	{name: "an empty tag", args: "run --tag=", code: exitUsage, says: []string{"--tag: it is empty"}, never: []string{"gate"}},
	{name: "an empty target", args: "plan --target=", code: exitUsage, says: []string{"--target: it is empty"}},
	{name: "an empty since", args: "plan --since=", code: exitUsage, says: []string{"it is empty"}},
	{name: "a misspelt case", args: "run refnd#window", code: exitUsage, says: []string{"did you mean `refund#window`?"}, never: []string{"0 cases", "gate"}},
	{name: "a file by its name", args: "run refund", says: []string{"1 case: 1 passed"}},
	{name: "a file by its path", args: "run " + mistakeFile, says: []string{"1 case: 1 passed"}},
	{name: "a path that is not there", args: "run test_definitions/refnd.yaml", code: exitUsage, says: []string{`no case is in the file "test_definitions/refnd.yaml"`, "refund#window"}},
	{name: "a malformed glob", args: "run [", code: exitUsage, says: []string{`"["`}},
	{name: "a tag that no case has", args: "run --tag smoke", code: exitUsage, says: []string{`no case has the tag "smoke"`}},
	{name: "a domain that no case has", args: "run --domain math", code: exitUsage, says: []string{`no case has the domain "math"`}, never: []string{"0 cases"}},
	{name: "a level that no case has", args: "run --level 9", code: exitUsage, says: []string{`no case has the level "9"`}, never: []string{"0 cases"}},
	{name: "a difficulty that no case has", args: "run --difficulty soft", code: exitUsage, says: []string{`no case has the difficulty "soft"`}, never: []string{"0 cases"}},
	{name: "a status that does not exist", args: "run --status activ", code: exitUsage, says: []string{"did you mean `active`?"}, never: []string{"0 cases"}},
	{name: "a result that does not exist", args: "run --only fialed", code: exitUsage, says: []string{"did you mean `failed`?"}},
	{name: "a byte order mark is not a mistake", files: map[string]string{"gavel.yaml": "\ufeff" + mistakeConfig, mistakeFile: "\ufeff" + mistakeCase}, args: "run", says: []string{"1 case: 1 passed"}},
	{name: "places after a byte order mark are an editor's", files: map[string]string{mistakeFile: "\ufeffevalcase: []\n"}, args: "validate", code: exitUsage, says: []string{mistakeFile + ":1:1: "}},
	{name: "tags at the case", files: map[string]string{mistakeFile: "evalcases:\n  - {id: a, input: hi, tags: [slow], checks: [{contains: hello}]}\n"}, args: "validate", code: exitUsage,
		says: []string{mistakeFile + ":2:24: error: `tags` does not belong here", "write `metadata: {tags: [slow]}`, by which --tag selects"}},
	{name: "the repair of tags is right", files: map[string]string{mistakeFile: "evalcases:\n  - {id: a, input: hi, metadata: {tags: [slow]}, checks: [{contains: hello}]}\n"}, args: "run --tag slow", says: []string{"1 case: 1 passed"}},
	{name: "rubrics without an outcome", files: map[string]string{mistakeFile: "evalcases:\n  - {id: a, input: hi, rubrics: [It greets.]}\n"}, args: "validate", code: exitUsage,
		says: []string{"the field `expected_outcome` is missing, of which the rubrics are parts", "gavel.yaml needs roles: {judge: …}"}},
	{name: "the only definition cannot be read", files: map[string]string{mistakeFile: "evalcases: [\n"}, args: "run", code: exitUsage, says: []string{"gate undetermined: 1 definition is invalid"}, never: []string{"there is no case"}},
	{name: "a key in a file of promptfoo", files: map[string]string{mistakeFile: "", "gavel.yaml": "", "promptfooconfig.yaml": "prompts: [hi]\nproviders: [{id: 'openai:gpt-5', config: {apiKey: sk-1}}]\ntests: [{assert: [{type: contains, value: h}]}]\n"},
		args: "validate", code: exitUsage, says: []string{"`apiKey` would put a secret into the repository", "remove it, and write export OPENAI_API_KEY=…, or name another variable as apiKeyEnvar"}, never: []string{"aliases"}},
	{name: "a key of one of two providers", files: map[string]string{mistakeFile: "", "promptfooconfig.yaml": "prompts: [hi]\nproviders: [bot, {id: 'openai:gpt-5', config: {apiKey: sk-1}}]\ntests: [{assert: [{type: contains, value: h}]}]\n"},
		args: "run", says: []string{"1 of 2 cases are run", "`apiKey` would put a secret into the repository", "gate pass: no case fails (fail_on: any_failure); 1 case is not run (see the warnings)"}},
	{name: "an assertion that is not read", files: map[string]string{mistakeFile: "", "promptfooconfig.yaml": "prompts: [hi]\nproviders: [bot]\ntests:\n- {vars: {x: a}, assert: [{type: contains, value: h}]}\n- {vars: {x: b}, assert: [{type: pi, value: h}]}\n- {vars: {x: c}, assert: [{type: pi, value: h}]}\n"},
		args: "run", says: []string{"1 of 3 cases are run", "2 cases are not run (see the warnings)"}},
	{name: "a disabled case lacks nothing", files: map[string]string{mistakeFile: "", "test_definitions/a/domain.json": `{"id": "a", "name": "A", "evaluator_id": "keyword"}`, "test_definitions/a/level_1/x.json": `{"id": "x", "name": "X", "prompt": "p", "expected": {"keywords": ["hello"]}}`, "test_definitions/a/level_1/y.json": `{"id": "y", "name": "Y", "prompt": "p", "enabled": false, "expected": {"keywords": ["hello"]}}`},
		args: "run", says: []string{"gate pass"}, never: []string{"not run, see"}},
	{name: "UTF-16", files: map[string]string{mistakeFile: "\xff\xfee\x00v\x00a\x00l\x00"}, args: "validate", code: exitUsage,
		says: []string{mistakeFile + ":1:1: error: the file is not UTF-8 but UTF-16", "save it as UTF-8"}},
	{name: "Latin-1", files: map[string]string{mistakeFile: "evalcases:\n  - {id: a, input: \"caf\xe9\", checks: [{contains: x}]}\n"}, args: "validate", code: exitUsage,
		says: []string{mistakeFile + ":2:24: error: the line is not valid UTF-8", "save the file as UTF-8"}},
	{name: "a tab", files: map[string]string{mistakeFile: "evalcases:\n\t- {id: a, input: hi, checks: [{contains: x}]}\n"}, args: "validate", code: exitUsage,
		says: []string{mistakeFile + ":2:1: error: the line is indented with a tab, and YAML allows only spaces", "use spaces"}},
	{name: "a folder that is not there", args: "run -C elsewhere", code: exitUsage, says: []string{"there is no folder ", "elsewhere"}, never: []string{"lstat"}},
	{name: "a suite of promptfoo under another name", files: map[string]string{"test_definitions/other.yaml": "prompts: [hi]\nproviders: [echo]\nx: 1\n"}, args: "validate --strict", code: exitUsage,
		says: []string{"test_definitions/other.yaml"}},
	{name: "an empty folder of definitions", files: map[string]string{mistakeFile: "", "test_definitions/.keep": " "}, args: "run", code: exitGate,
		says: []string{"no definition was found: gavel init writes the first tests"}},
	{name: "no folder of definitions", files: map[string]string{mistakeFile: ""}, args: "run", code: exitUsage, says: []string{"run gavel init, which writes the first test"}},
	{name: "a question mark in braces", files: map[string]string{mistakeFile: "evalcases:\n  - {id: a, input: How long for a refund?, checks: [{contains: x}]}\n"},
		args: "validate", says: []string{"1 definition, 1 case, 0 errors"}}, // YAML reads it as text
	{name: "a provider's key is not set", files: map[string]string{mistakeFile: "", "gavel.yaml": "", "promptfooconfig.yaml": "prompts: [hi]\nproviders:\n- {id: 'openai:gpt-5', label: big}\ntests: [{assert: [{type: contains, value: h}]}]\n"},
		args: "validate", says: []string{"promptfooconfig.yaml:3:3: warning: the environment variable OPENAI_API_KEY is not set, and the target big needs it"}},
	{name: "a provider is unlike another in name only", files: map[string]string{mistakeFile: "", "gavel.yaml": mistakeConfig + "aliases: {\"openai:gpt\": bot}\n", "promptfooconfig.yaml": "prompts: [hi]\nproviders: [bot, 'openai:gpt']\ntests: [{assert: [{type: contains, value: h}]}]\n"},
		args: "run", says: []string{"promptfooconfig.yaml:2:18: warning: the provider is the target \"bot\", as an earlier one is", "1 case: 1 passed"}, never: []string{"defined twice"}},
	{name: "no judge, and providers in the definitions", files: map[string]string{mistakeFile: "", "gavel.yaml": "", "promptfooconfig.yaml": "prompts: [hi]\nproviders: ['openai:gpt-5']\ntests: [{assert: [{type: llm-rubric, value: h}]}]\n"},
		args: "validate", code: exitUsage, says: []string{"the case needs a judge", `write version: 1 and roles: {judge: "openai:gpt-5"} into gavel.yaml`}},
	{name: "a judge that no file has", files: map[string]string{mistakeFile: "", "gavel.yaml": "version: 1\nroles: {judge: \"openai:gpt-6\"}\n", "promptfooconfig.yaml": "prompts: [hi]\nproviders: ['openai:gpt-5']\ntests: [{assert: [{type: llm-rubric, value: h}]}]\n"},
		args: "validate", code: exitUsage, says: []string{`gavel.yaml:2:9: error: unknown target "openai:gpt-6"`}},
	{name: "files of promptfoo in another folder", files: map[string]string{mistakeFile: "", "gavel.yaml": "", "evals/a/promptfooconfig.yaml": "prompts: [hi]\n", "evals/b/promptfooconfig.yaml": "prompts: [hi]\n"},
		args: "validate", code: exitUsage, says: []string{"evals/a/promptfooconfig.yaml and evals/b/promptfooconfig.yaml can be read: write version: 1 and definitions: [evals/a/promptfooconfig.yaml, evals/b/promptfooconfig.yaml] into gavel.yaml"}},
	{name: "a file of promptfoo outside of the definitions, validated", files: map[string]string{"evals/promptfooconfig.yaml": "prompts: [hi]\n"},
		args: "validate", says: []string{"evals/promptfooconfig.yaml is outside of the definitions and is not read; to read it, add it to definitions: in gavel.yaml", "0 errors, 0 warnings"}},
	{name: "a suite of AgentV outside of the definitions, run", files: map[string]string{"evals/a.eval.yaml": "tests: []\n"},
		args: "run", says: []string{"evals/a.eval.yaml is outside of the definitions and is not read"}},
	{name: "files of skills outside of the definitions, listed", files: map[string]string{"skills/a/evals/evals.json": "{}", "skills/b/evals/evals.json": "{}"},
		args: "list", says: []string{"skills/a/evals/evals.json and skills/b/evals/evals.json are outside of the definitions and are not read"}},
	{name: "a file of promptfoo among the definitions", files: map[string]string{"gavel.yaml": mistakeConfig + "definitions: [test_definitions, evals]\n", "evals/promptfooconfig.yaml": "prompts: [hi]\ntests: [{assert: [{type: contains, value: h}]}]\n"},
		args: "validate", says: []string{"0 errors"}, never: []string{"outside of the definitions"}},
	{name: "no moderator", files: map[string]string{mistakeFile: "", "gavel.yaml": mistakeConfig, "promptfooconfig.yaml": "prompts: [hi]\nproviders: [bot]\ntests: [{assert: [{type: moderation}]}]\n"},
		args: "validate", code: exitUsage, says: []string{"the case needs a moderator", "roles: {moderator: moderations} to gavel.yaml"}},
	{name: "no embedder", files: map[string]string{mistakeFile: "", "gavel.yaml": mistakeConfig, "promptfooconfig.yaml": "prompts: [hi]\nproviders: [bot]\ntests: [{assert: [{type: similar, value: h}]}]\n"},
		args: "validate", code: exitUsage, says: []string{"the case needs an embedder", "add targets: {embeddings: {provider: openai, api: embeddings, model: …}} and roles: {embedder: embeddings} to gavel.yaml"}},
	{name: "init with providers in the definitions", files: map[string]string{mistakeFile: "", "gavel.yaml": "", "promptfooconfig.yaml": "prompts: [hi]\nproviders: ['openai:a', 'openai:b']\n"},
		args: "init", says: []string{"gavel.yaml the judge .github/workflows/gavel.yml judges pull requests", "export OPENAI_API_KEY=…"}, never: []string{"mock", ".vscode", "cannot be read"}},
	{name: "a dialect of no file", files: map[string]string{"gavel.yaml": mistakeConfig + "dialects: {\"test_definitions/*.json\": testcase}\n"}, args: "validate",
		says: []string{`warning: "test_definitions/*.json" matches no file, so that it decides no format`, "correct it, or remove it", "0 errors, 1 warning"}},
	{name: "a misspelt dialect's folder", files: map[string]string{"gavel.yaml": mistakeConfig + "dialects: {\"test_definition/**\": evalcase}\n"}, args: "validate",
		says: []string{"did you mean `test_definitions/**`?", "0 errors, 1 warning"}},
	{name: "a dialect's path that begins with a dot", files: map[string]string{"gavel.yaml": mistakeConfig + "dialects: {\"./test_definitions/**\": evalcase}\n"}, args: "validate",
		says: []string{"did you mean `test_definitions/**`?", "0 errors, 1 warning"}},
	{name: "a dialect of a file", files: map[string]string{"gavel.yaml": mistakeConfig + "dialects: {\"test_definitions/*\": evalcase}\n"}, args: "validate", says: []string{"0 errors"}, never: []string{"warning:"}},
	{name: "inputs of programs that match no file", files: map[string]string{"gavel.yaml": mistakeConfig + "programs: {inputs: [\"promts/**\", \"later/**\"]}\n", "prompts/a.md": "Be kind."}, args: "validate",
		says: []string{`warning: the inputs "promts/**" of programs match no file, so that no change of them reruns a case`, "did you mean `prompts/**`?", "0 errors, 1 warning"}},
	{name: "inputs that match no file", files: map[string]string{"gavel.yaml": "version: 1\ntargets:\n  bot: {provider: mock, replies: [{reply: hello}], inputs: [\"promts/**\", \"prompts/*.md\"]}\n", "prompts/a.md": "Be kind."},
		args: "validate", says: []string{`gavel.yaml:3:61: warning: the inputs "promts/**" of the target bot match no file, so that no change of them reruns a case`, "did you mean `prompts/**`?", "0 errors, 1 warning"}},
	{name: "init in another repository's folder", files: map[string]string{mistakeFile: "", "gavel.yaml": ""},
		args: "init --yes --provider mock --definitions ../x", code: exitUsage, says: []string{"--definitions ../x: name a folder of the repository, relative to its root"}, never: []string{"Written"}},
	{name: "init with a key of another name in the definitions", files: map[string]string{mistakeFile: "", "gavel.yaml": "", "promptfooconfig.yaml": "prompts: [hi]\nproviders: [{id: 'openai:a', config: {apiKeyEnvar: PF_KEY}}]\n"},
		args: "init", says: []string{"export PF_KEY=…"}, never: []string{"OPENAI_API_KEY"}},
	{name: "what init writes for labelled providers is right", files: map[string]string{mistakeFile: "", "gavel.yaml": "", "promptfooconfig.yaml": "prompts: [hi]\nproviders: [echo, {id: 'openai:embedding:e'}, {id: 'openai:gpt-5', label: big}]\ntests: [{assert: [{type: llm-rubric, value: h}]}]\n"},
		prepare: func(t *testing.T, dir string) {
			if _, stderr, code := gavel(t, dir, "init"); code != ExitPass {
				t.Errorf("init ends with %d\n%s", code, stderr)
			}
		}, args: "validate", says: []string{"0 errors"}, never: []string{"needs a judge"}},
	{name: "a configuration of promptfoo is read", files: map[string]string{mistakeFile: "", "gavel.yaml": mistakeConfig + "aliases: {\"openai:gpt\": bot}\n",
		"promptfooconfig.yaml": "prompts: [hi]\nproviders: [\"openai:gpt\"]\ntests: [{assert: [{type: contains, value: hello}]}]\n", "test_definitions/.keep": " "},
		args: "run", says: []string{"1 case: 1 passed"}},
	{name: "the word of other tools for a run", args: "test", code: exitUsage, says: []string{`unknown command "gavel test"; did you mean gavel run?`}},
	{name: "another one, with a flag", args: "eval --base main", code: exitUsage, says: []string{`unknown command "gavel eval"; did you mean gavel run?`}},
	{name: "the word of other tools for pages", args: "view", code: exitUsage, says: []string{"did you mean gavel ui?"}},
	{name: "days in a duration", args: "ledger gc --max-age 90d", says: []string{"removed: "}},
	{name: "a format that does not exist", args: "schema foo", code: exitUsage, says: []string{`unknown format "foo"; known: testcase, `}, never: []string{"  known"}},
	{name: "an old key of the command line", args: "run --fromat json", code: exitUsage, says: []string{"unknown flag: --fromat"}},
}

// TestMistakesOfBeginners makes each of them.
func TestMistakesOfBeginners(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"gavel.yaml": mistakeConfig, mistakeFile: mistakeCase}
			maps.Copy(files, m.files)
			dir := t.TempDir()
			gittest.Init(t, dir, "main")
			for name, text := range files {
				if text == "" {
					continue
				}
				name = filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if m.prepare != nil {
				m.prepare(t, dir)
			}
			stdout, stderr, code := gavel(t, dir, strings.Fields(m.args)...)
			m.held(t, stdout+stderr, code)
		})
	}
}

// held compares the output, however its lines are broken.
func (m mistake) held(t *testing.T, said string, code int) {
	t.Helper()
	flat := strings.Join(strings.Fields(said), " ")
	if code != m.code {
		t.Errorf("gavel %s ends with %d, want %d\n%s", m.args, code, m.code, said)
	}
	for _, want := range m.says {
		if !strings.Contains(flat, want) {
			t.Errorf("gavel %s does not say %q\n%s", m.args, want, said)
		}
	}
	for _, never := range m.never {
		if strings.Contains(said, never) {
			t.Errorf("gavel %s says %q\n%s", m.args, never, said)
		}
	}
}

// TestAnAddressThatIsWrong: a server that does not exist, and one that exists but not
// at this path. The address appears once.
func TestAnAddressThatIsWrong(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for _, tt := range []struct{ address, want string }{
		{"http://127.0.0.1:1", "127.0.0.1:1: connect: connection refused = start it, or correct the address in gavel.yaml:3"},
		{strings.Replace(server.URL, "http:", "https:", 1), "= write http:// in the place of https://, or correct the address in gavel.yaml:3"},
		{server.URL, "404 Not Found: 404 page not found = is the address in gavel.yaml:3 right?"},
	} {
		dir := t.TempDir()
		gittest.Init(t, dir, "main")
		gittest.Commit(t, dir, oneTarget(`provider: openai, model: m, base_url: "`+tt.address+`"`))
		stdout, stderr, code := gavel(t, dir, "try", "bot", "hi")
		mistake{args: "try", code: exitGate, says: []string{tt.want}, never: []string{"dial tcp"}}.held(t, stdout+stderr, code)
	}
}

// TestAnEmptyArgument is refused: it would select everything.
func TestAnEmptyArgument(t *testing.T) {
	p := newProject(t)
	for _, command := range []string{"run", "plan", "list", "validate", "watch", "explain"} {
		stdout, stderr, code := gavel(t, p.folder, command, "")
		if code != exitUsage || !strings.Contains(stderr, "an argument is empty") || strings.Contains(stdout, "gate") {
			t.Errorf("%s: exit code %d, stderr %q, stdout %q", command, code, stderr, stdout)
		}
	}
	if asked := p.calls(); len(asked) != 0 {
		t.Errorf("calls %q", asked)
	}
}
