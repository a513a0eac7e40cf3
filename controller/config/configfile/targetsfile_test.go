package configfile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/schema"
)

// environment has the variables that are set.
func environment(name string) (string, bool) {
	value, ok := map[string]string{"MODEL": "gpt-5", "TEMPERATURE": "0.2", "AZURE": "https://r.openai.azure.com/"}[name]
	return value, ok
}

// added is a gavel.yaml with the targets of other files.
func added(t *testing.T, own string, files map[string]string) (*config.Config, []schema.Problem) {
	t.Helper()
	c, problems := config.Parse("gavel.yaml", []byte("version: 1\n"+own))
	if schema.HasErrors(problems) {
		t.Fatal(problems)
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	problems, err := configfile.AddTargets(fsys, c, environment)
	if err != nil {
		t.Fatal(err)
	}
	return c, problems
}

const ownTarget = "targets: {bot: {provider: mock, replies: [{reply: own}]}}\n"

// TestEachProvider: a target of the file is the target that gavel.yaml would have.
func TestEachProvider(t *testing.T) {
	for _, tt := range []struct{ name, written, same string }{
		{"openai", "provider: openai, model: gpt-5, api_key: '${{ KEY }}', endpoint: 'https://a.example/v1', temperature: 0.2, max_output_tokens: 9, workers: 3", "provider: openai, model: gpt-5, api_key_env: KEY, base_url: 'https://a.example/v1', temperature: 0.2, max_tokens: 9, concurrency: 3"},
		{"anthropic", "provider: anthropic, model: claude, api_key: '${{ANTHROPIC}}'", "provider: anthropic, model: claude, api_key_env: ANTHROPIC"},
		{"azure", "provider: azure, endpoint: 'https://r.openai.azure.com/', model: d, api_key: '${{ KEY }}', version: '2024-12-01'", "provider: azure, base_url: 'https://r.openai.azure.com/openai/v1', model: d, api_key_env: KEY"},
		{"older", "provider: azure, settings: {endpoint: r, deployment: d, api_key: '${{ KEY }}'}", "provider: azure, base_url: 'https://r.openai.azure.com/openai/v1', model: d, api_key_env: KEY"},
		{"cli", "provider: cli, command: 'python agent.py', timeout_seconds: 90", "provider: command, argv: [sh, -c, python agent.py], timeout: 90s"},
		{"gemini", "provider: gemini, model: flash, api_key: '${{ KEY }}'", "provider: gemini, model: flash, api_key_env: KEY"},
		{"openrouter", "provider: openrouter, model: z/glm, api_key: '${{ KEY }}', system_prompt: Be brief.", "provider: openrouter, model: z/glm, api_key_env: KEY, system_prompt: Be brief."},
		{"AgentV 5", "id: openai, runtime: host, config: {api_format: responses, base_url: 'https://a.example/v1', model: gpt-5, api_key: '{{ env.KEY }}', timeout_seconds: 9}", "provider: openai, api: responses, base_url: 'https://a.example/v1', model: gpt-5, api_key_env: KEY, timeout: 9s"},
		{"a model in its id", "id: 'openai:gpt-5', config: {api_key: '{{ env.KEY }}'}", "provider: openai, model: gpt-5, api_key_env: KEY"},
		{"a kind in its id", "id: 'openai:chat:gpt-5', config: {temperature: 0}", "provider: openai, model: gpt-5, temperature: 0, api_key_env: OPENAI_API_KEY"},
		{"a folder", "provider: cli, command: run, cwd: it's", `provider: command, argv: [sh, -c, "cd \"${GAVEL_REPOSITORY:-.}\"/'it'\\''s' || exit 1\nrun"]`},
		{"a folder of the machine", "provider: cli, command: run, cwd: /srv", `provider: command, argv: [sh, -c, "cd '/srv' || exit 1\nrun"]`},
		{"argv", "provider: cli, command: [python, agent.py]", "provider: command, argv: [python, agent.py]"},
		{"holes", `provider: cli, command: "run {PROMPT} '{PROMPT_FILE}' > {OUTPUT_FILE}"`, `provider: command, prompt: argument, argv: [sh, -c, "gavel_prompt=$1 gavel_attempt=0\ngavel_prompt_file=$(mktemp) && gavel_output_file=$(mktemp) && printf %s \"$gavel_prompt\" >\"$gavel_prompt_file\" || exit 1\ntrap 'rm -f \"$gavel_prompt_file\" \"$gavel_output_file\"' EXIT\n{ run \"${gavel_prompt}\" ''\"${gavel_prompt_file}\"'' > \"${gavel_output_file}\"\n} >&2 || exit $?\ncat \"$gavel_output_file\"", sh]`},
		{"mock", "provider: mock, response: Hello", "provider: mock, replies: [{match: '', reply: Hello}]"},
	} {
		got, problems := added(t, ownTarget, map[string]string{".agentv/targets.yaml": "targets: [{name: x, " + tt.written + "}]"})
		want, wrong := config.Parse("gavel.yaml", []byte("version: 1\ndefault_target: x\ntargets: {x: {"+tt.same+"}}"))
		if schema.HasErrors(wrong) || len(problems)+len(got.Unusable) > 0 {
			t.Errorf("%s: as in gavel.yaml it has the problems %v; the file has the problems %v, and unusable are %v", tt.name, wrong, problems, got.Unusable)
		}
		if diff := cmp.Diff(want.Targets["x"], got.Targets["x"], cmpopts.IgnoreFields(config.Target{}, "File", "OutputVersion"), cmpopts.IgnoreTypes(schema.Position{})); diff != "" {
			t.Errorf("%s (-as in gavel.yaml +as read):\n%s", tt.name, diff)
		}
	}
}

// TestEnvironment: settings may be in variables that gavel.yaml lists.
func TestEnvironment(t *testing.T) {
	got, problems := added(t, "environment: [MODEL, TEMPERATURE, AZURE]\n"+ownTarget, map[string]string{".agentv/targets.yaml": `targets:
  - {name: x, provider: openai, model: "${{ MODEL }}", temperature: "${{ TEMPERATURE }}", api_key: "${{ KEY }}"}
  - {name: y, provider: azure, endpoint: "${{ AZURE }}", model: "${{MODEL}}", api_key: "${{ KEY }}"}
`})
	if len(problems)+len(got.Unusable) > 0 {
		t.Fatalf("problems %v, unusable %v, want none", problems, got.Unusable)
	}
	x, y := got.Targets["x"], got.Targets["y"]
	if x.Model != "gpt-5" || string(x.Parameters["temperature"]) != "0.2" || x.APIKeyEnv != "KEY" {
		t.Errorf("the target is %+v, want the values of the variables and the name of the key's", x)
	}
	if y.BaseURL != "https://r.openai.azure.com/openai/v1" || y.Model != "gpt-5" {
		t.Errorf("the target is %+v, want the address of the variable as that of the API", y)
	}
}

// TestUnusable: what cannot be used says so at its line, and everything else of the
// file can.
func TestUnusable(t *testing.T) {
	const spliced = ".agentv/targets.yaml:3:5: error: {PROMPT} is next to other text in quotes, which another shell could run; write {PROMPT} as a word of its own, or have the program read stdin"
	for _, tt := range []struct{ name, written, want string }{
		{"a provider", "provider: vscode", `.agentv/targets.yaml:3:5: error: the provider "vscode" of the target "x" is not known here; write the target in gavel.yaml; of this file the providers anthropic, azure, cli, gemini, mock, openai and openrouter are read`},
		{"a secret", "provider: openai, model: m, api_key: sk-123", ".agentv/targets.yaml:3:5: error: `api_key` would put a secret into the repository; write ${{ NAME }} with the name of the environment variable that holds it"},
		{"an environment", "provider: openai, model: '${{ MODEL }}'", ".agentv/targets.yaml:3:5: error: `model` is taken from the environment variable MODEL, which gavel.yaml does not allow; write the value, or add environment: [MODEL] to gavel.yaml"},
		{"an address", "provider: azure, endpoint: '${{ AZURE }}', model: m", ".agentv/targets.yaml:3:5: error: `endpoint` is taken from the environment variable AZURE, which gavel.yaml does not allow; write the value, or add environment: [AZURE] to gavel.yaml"},
		{"an empty one", "provider: openai, model: '${{ LATER }}'", ".agentv/targets.yaml:3:5: error: `model` is taken from the environment variable LATER, which is not set; set it, or write the value"},
		{"a part", "provider: openai, model: 'gpt-${{ LATER }}'", ".agentv/targets.yaml:3:5: error: `model` has a variable within other text; write the whole value, or one variable alone, such as ${{ NAME }}"},
		{"a command", "provider: cli, command: 'run ${{ LATER }}'", ".agentv/targets.yaml:3:5: error: the command has a variable; have the program read its environment, and name the variable under `env` of a target in gavel.yaml"},
		{"a credential", "provider: openai, model: m, base_url: 'https://u:p@a.example'", ".agentv/targets.yaml:3:5: error: `base_url` holds a credential; take it out and name its variable as api_key_env"},
		{"no model", "provider: openai", ".agentv/targets.yaml:3:5: error: a target of provider openai needs `model`; add model: …"},
		{"a hole", "provider: cli, command: 'run {EVAL_ID}'", ".agentv/targets.yaml:3:5: error: {EVAL_ID} of the command is not filled in: the program gets the conversation as JSON on stdin; have it read stdin, and take {EVAL_ID} out of the command"},
		{"a prompt in a script", `provider: cli, command: "sh -c 'echo {PROMPT}'"`, spliced},
		{"a prompt after a word in quotes", `provider: cli, command: "sh -c 'echo '{PROMPT}"`, spliced},
		{"a prompt after an escape", `provider: cli, command: 'sh -c echo\ {PROMPT}'`, spliced},
		{"a prompt in backquotes", "provider: cli, command: 'echo `run {PROMPT}`'", spliced},
		{"a hole in a list", "provider: cli, command: [run, '{PROMPT}']", ".agentv/targets.yaml:3:5: error: {PROMPT} of the command is not filled in: the program gets the conversation as JSON on stdin; have it read stdin, or write the command as one text"},
		{"a variable of AgentV 5", "provider: cli, command: 'run {{ env.LATER }}'", ".agentv/targets.yaml:3:5: error: the command has a variable; have the program read its environment, and name the variable under `env` of a target in gavel.yaml"},
		{"a batch", "provider: cli, command: x, batch_requests: true", ".agentv/targets.yaml:3:5: error: `batch_requests` of a provider is not read: each case is a call of its own; write the whole target in gavel.yaml"},
		{"a folder of a list", "provider: cli, command: [x], cwd: y", ".agentv/targets.yaml:3:5: error: `cwd` is not read next to a command that is a list; write the command as one text"},
		{"hooks", "provider: mock, response: a, hooks: {before_all: {command: [x]}}", ".agentv/targets.yaml:3:5: error: `hooks` of a provider is not read: its hooks are not run; write the whole target in gavel.yaml"},
		{"a container", "provider: cli, command: x, runtime: {mode: sandbox, image: y}", ".agentv/targets.yaml:3:5: error: `runtime` is sandbox, and targets are run on this machine; write the target in gavel.yaml"},
		{"an environment of its own", "provider: cli, command: x, env: {A: b}", ".agentv/targets.yaml:3:5: error: `env` of a provider is not read: its environment is not set; write the whole target in gavel.yaml"},
		{"a link", "use_target: nobody", ".agentv/targets.yaml:3:5: error: \"nobody\" is not a target; add it to this file, or to targets: in gavel.yaml"},
		{"a link to itself", "use_target: x", ".agentv/targets.yaml:3:5: error: \"x\" is not a target; add it to this file, or to targets: in gavel.yaml"},
		{"a link by a variable", "use_target: '${{ MODEL }}'", ".agentv/targets.yaml:3:5: error: `use_target` is taken from the environment variable MODEL, which gavel.yaml does not allow; write the value, or add environment: [MODEL] to gavel.yaml"},
		{"a judge", "provider: mock, response: a, judge_target: nobody", ".agentv/targets.yaml:3:5: error: the judge_target \"nobody\" is not a target; add it to this file, or to targets: in gavel.yaml"},
		{"its judge", "provider: mock, response: a, judge_target: ide", ".agentv/targets.yaml:4:21: error: the provider \"codex\" of the target \"ide\" is not known here; write the target in gavel.yaml; of this file the providers anthropic, azure, cli, gemini, mock, openai and openrouter are read"},
	} {
		c, problems := added(t, ownTarget+"environment: [LATER]\n", map[string]string{".agentv/targets.yaml": "targets:\n  - {name: good, provider: mock, response: a}\n  - {name: x, " + tt.written + "}\n  - {name: ide, provider: codex}\n"})
		if _, ok := c.Targets["x"]; ok || len(problems) > 0 {
			t.Errorf("%s: the target is there, problems %v", tt.name, problems)
		}
		if _, ok := c.Targets["good"]; !ok {
			t.Errorf("%s: the other target is lost", tt.name)
		}
		why := c.Unusable["x"]
		got := why.String()
		// The column depends on the field.
		if head, rest, ok := strings.Cut(got, ": error: "); !ok || rest != tt.want[strings.Index(tt.want, ": error: ")+len(": error: "):] || !strings.HasPrefix(head, tt.want[:len(".agentv/targets.yaml:3:")]) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		if strings.Contains(got, "sk-123") || strings.Contains(got, "u:p") {
			t.Errorf("%s shows a secret: %s", tt.name, got)
		}
	}
}

// TestWhichWins: gavel.yaml and its aliases, then the file nearest to the
// definitions, and none of two in different folders.
func TestWhichWins(t *testing.T) {
	reply := func(text string) string {
		return "targets: [{name: bot, provider: mock, response: " + text + "}, {name: default, provider: mock, response: " + text + "}]"
	}
	files := map[string]string{".agentv/targets.yaml": reply("root"), "a/b/.agentv/targets.yaml": reply("near"), "c/.agentv/targets.yaml": reply("other")}
	for _, tt := range []struct{ name, own, bot, target string }{
		{"gavel.yaml", "definitions: a/b\n" + ownTarget, "own", "default"},
		{"the default of gavel.yaml", "definitions: a/b\ndefault_target: bot\n" + ownTarget, "own", "bot"},
		{"a judge of gavel.yaml", "definitions: z\nroles: {judge: j}\ntargets: {j: {provider: mock, replies: [{reply: own}]}}\n", "root", "default"},
		{"no project", "definitions: z\n" + ownTarget, "own", "bot"},
		{"the nearest", "definitions: a/b/x\n", "near", "default"},
		{"the root", "definitions: z\n", "root", "default"},
		{"an alias", "definitions: z\naliases: {bot: other}\ntargets: {other: {provider: mock, replies: [{reply: own}]}}\n", "", "default"},
		{"one of two, which cannot be used", "definitions: [a/b, c]\n", "", "default"},
	} {
		given := files
		if tt.name == "no project" {
			given = nil
		}
		c, _ := added(t, tt.own, given)
		got := ""
		if bot, ok := c.Targets["bot"]; ok {
			got = bot.Replies[0].Reply
		}
		if got != tt.bot || c.DefaultTarget != tt.target {
			t.Errorf("%s: bot says %q and the default is %q, want %q and %q", tt.name, got, c.DefaultTarget, tt.bot, tt.target)
		}
	}
	c, _ := added(t, "definitions: [a/b, c]\n", files)
	if why := c.Unusable["bot"]; why.File != "c/.agentv/targets.yaml" && why.File != ".agentv/targets.yaml" || !strings.Contains(why.Message, "is another one in") {
		t.Errorf("two that differ: %v", why)
	}
}

// TestBrokenFile is a warning, and the targets of gavel.yaml are there.
func TestBrokenFile(t *testing.T) {
	for _, text := range []string{"targets: [", "targets: {a: b}", "name: x"} {
		c, problems := added(t, ownTarget, map[string]string{".agentv/targets.yaml": text})
		if len(problems) != 1 || problems[0].Severity != schema.Warning || problems[0].File != ".agentv/targets.yaml" || len(c.Targets) != 1 {
			t.Errorf("%q: %d targets, problems %v", text, len(c.Targets), problems)
		}
	}
}

// TestChangedFiles names the files that decide otherwise.
func TestChangedFiles(t *testing.T) {
	const one, two = "targets: [{name: x, provider: mock, response: a}]", "targets: [{name: x, provider: mock, response: b}]"
	base, _ := added(t, ownTarget, map[string]string{".agentv/targets.yaml": one})
	for _, tt := range []struct {
		name      string
		own, text string
		want      []string
	}{
		{"nothing", ownTarget, one, nil},
		{"the target", ownTarget, two, []string{".agentv/targets.yaml"}},
		{"both", ownTarget + "comment: new\n", two, []string{"gavel.yaml", ".agentv/targets.yaml"}},
		{"gavel.yaml", ownTarget + "comment: new\n", one, []string{"gavel.yaml"}},
	} {
		head, _ := added(t, tt.own, map[string]string{".agentv/targets.yaml": tt.text})
		if diff := cmp.Diff(tt.want, base.ChangedFiles(head, "gavel.yaml")); diff != "" {
			t.Errorf("%s: changed files (-want +got):\n%s", tt.name, diff)
		}
		if (base.Digest == head.Digest) != (len(tt.want) == 0) {
			t.Errorf("%s: the digests do not say so", tt.name)
		}
	}
}

// TestFormsOfFiles: a list alone, the providers of a project, links, and other names.
func TestFormsOfFiles(t *testing.T) {
	const provider = "[{id: mock, label: x, response: Hello}]"
	for _, tt := range []struct {
		name, target string
		files        map[string]string
	}{
		{"targets", "", map[string]string{".agentv/targets.yaml": "targets: " + provider}},
		{"providers", "", map[string]string{".agentv/providers.yaml": "providers: " + provider}},
		{"a list", "", map[string]string{".agentv/providers.yaml": provider}},
		{"a project", "x", map[string]string{".agentv/config.yaml": "execution: {workers: 3}\nproviders: " + provider + "\ndefaults: {provider: x}\n"}},
		{"a project without providers", "x", map[string]string{".agentv/config.yaml": "results: {repo: r}\ndefaults: {provider: x}\n", ".agentv/providers.yaml": provider}},
		{"a project with a file", "", map[string]string{".agentv/config.yaml": "providers: file://models/all.yaml", ".agentv/models/all.yaml": provider}},
		{"a link", "", map[string]string{".agentv/targets.yaml": "targets: [{name: x, use_target: z}, {name: y, provider: mock, response: Hello}, {name: z, use_target: y}]"}},
		{"a link by a variable", "", map[string]string{".agentv/targets.yaml": "targets: [{name: x, use_target: '${{ MODEL }}'}, {name: gpt-5, provider: mock, response: Hello}]"}},
		{"an extension of nothing", "", map[string]string{".agentv/targets.yaml": "targets: [{name: y, provider: mock, response: Hello}, {label: x, extends: y}]"}},
		{"a suite", "", map[string]string{"evals/a.eval.yaml": suiteOf(provider)}},
		{"a suite with one", "", map[string]string{"evals/a.eval.yaml": suiteOf("{id: mock, label: x, response: Hello}")}},
		{"a suite with a map", "", map[string]string{"evals/a.eval.yaml": suiteOf("{x: {id: mock, response: Hello}}")}},
		{"a suite with a file", "", map[string]string{"evals/EVAL.yaml": suiteOf("file://p.yaml"), "evals/p.yaml": provider}},
	} {
		c, problems := added(t, "definitions: evals\nenvironment: [MODEL]\n"+ownTarget, tt.files)
		got, ok := c.Targets["x"]
		if !ok || len(problems) > 0 || got.Name != "x" || len(got.Replies) != 1 || got.Replies[0].Reply != "Hello" {
			t.Errorf("%s: the target is %+v (%v), problems %v, unusable %v", tt.name, got, ok, problems, c.Unusable)
		}
		want := "bot"
		if tt.target != "" {
			want = tt.target
		}
		if c.DefaultTarget != want {
			t.Errorf("%s: the default target is %q, want %q: that of the project, else the only one of gavel.yaml", tt.name, c.DefaultTarget, want)
		}
		c, _ = added(t, "definitions: evals\nenvironment: [MODEL]\n", tt.files)
		if c.DefaultTarget != tt.target {
			t.Errorf("%s: without targets in gavel.yaml the default is %q, want %q", tt.name, c.DefaultTarget, tt.target)
		}
	}
}

// suiteOf is a suite of AgentV 5 with providers.
func suiteOf(providers string) string {
	return "prompts: ['{{ input }}']\nproviders: " + providers + "\ntests: [{id: a, vars: {input: Hi}, assert: [{type: contains, value: Hi}]}]\n"
}

// TestProvidersOfSuites: a name alone defines nothing, gavel.yaml and the catalog win by name where
// they say the same, and a suite has its own where another file has another one.
func TestProvidersOfSuites(t *testing.T) {
	reply := func(text string) string { return "[{id: mock, label: x, response: " + text + "}]" }
	c, problems := added(t, "definitions: evals\n"+ownTarget, map[string]string{
		".agentv/providers.yaml": reply("catalog"),
		"evals/a.eval.yaml":      suiteOf(reply("catalog")),
		"evals/b.eval.yaml":      suiteOf(reply("own")),
		"evals/c.eval.yaml":      suiteOf("[y, {label: z}, {id: z, label: w}, {id: mock, label: bot, response: no}]"),
		"evals/d.yaml":           suiteOf("[{id: mock, label: unread, response: no}]"),
		"evals/e.eval.yaml":      "tests: [{id: a, input: providers}]\n",
		"evals/f.eval.yaml":      suiteOf("[{id: agentv:codex-cli, label: codex, command: [codex]}]"),
	})
	got := map[string]string{}
	for name, one := range c.Targets {
		got[name] = one.Replies[0].Reply
	}
	want := map[string]string{"bot": "own", "x": "catalog", "x (evals/b.eval.yaml)": "own"}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("targets (-want +got):\n%s\nproblems %v", diff, problems)
	}
	if why := c.Unusable["codex"]; len(c.Unusable) != 1 || why.File != "evals/f.eval.yaml" || !strings.Contains(why.Message, `the provider "agentv:codex-cli" is not known here`) {
		t.Errorf("unusable are %v, want the agent of the suite", c.Unusable)
	}
}

// TestOutputVersion is in what a program of AgentV is, and in no other target.
func TestOutputVersion(t *testing.T) {
	t.Parallel()
	own := "targets: {own: {provider: command, argv: [cat]}}\n"
	c, _ := added(t, own, map[string]string{".agentv/targets.yaml": "targets: [{name: program, provider: cli, command: cat}, {name: model, provider: mock, response: hi}]\n"})
	for _, tt := range []struct {
		name string
		want bool
	}{{"own", false}, {"program", true}, {"model", false}} {
		is := slices.ContainsFunc(c.Targets[tt.name].Identity(nil, nil), func(p config.Property) bool { return p.Name == "output version" && p.Value == "4" })
		if is != tt.want {
			t.Errorf("%s: the version is in the target: %t, want %t", tt.name, is, tt.want)
		}
	}
}
