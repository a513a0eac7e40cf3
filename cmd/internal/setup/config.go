package setup

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/examples"
	"github.com/gavel-evals/gavel/schema"
)

// agentName and judgeName are the names of the targets in gavel.yaml.
const (
	agentName = "agent"
	judgeName = "judge"
	mockName  = "mock"
)

// configText returns the text of gavel.yaml.
func configText(a Answers) string {
	var b strings.Builder
	if a.Editor {
		b.WriteString(modeline("gavel.yaml", ".") + "\n")
	}
	b.WriteString("# How Gavel runs the tests of this repository. `gavel schema` prints all keys.\nversion: 1\n\n")
	if root := a.rootFiles(); len(root) > 0 {
		fmt.Fprintf(&b, "# The tests are in %s,\n# and in the folder %s if there is one.\n\n", strings.Join(root, " and "), a.Definitions)
	} else {
		fmt.Fprintf(&b, "# The folder with the tests.\ndefinitions: %s\n\n", quoted(a.Definitions))
	}
	if a.Agent.Provider == "" {
		return b.String() + ownText(a) + skillsText(a)
	}
	name := agentName
	if a.Agent.Provider == config.Mock {
		name = mockName
	}
	fmt.Fprintf(&b, "# The target of tests that name none.\ndefault_target: %s\n\ntargets:\n", name)
	if name == agentName {
		b.WriteString(agentText(a.Agent))
	}
	b.WriteString(`  # It answers from this file, so that a test needs no network and no key.
  mock:
    provider: mock
    replies:
      # The first reply whose match is found in the message is given.
      - match: (?i)return
        reply: You can return it within 30 days, with the receipt.
      - reply: I do not know that.
`)
	b.WriteString(aliasesText(a, name))
	b.WriteString(judgeText(a) + skillsText(a))
	return b.String()
}

// skillsText returns the lines that have the evals of skills run. A command is taken for a
// coding agent where there are no other tests.
func skillsText(a Answers) string {
	skills := 0
	for _, d := range a.Existing {
		if d.Dialect == schema.DialectSkill {
			skills++
		}
	}
	switch {
	case skills == 0:
		return ""
	case a.Agent.isCoder():
		return "" // it is the default target
	case skills == len(a.Existing) && a.Agent.Provider == config.Command:
		return "\n# The target that runs the evals of skills: it finds the skill in the folder that it\n# starts in.\nskills: {target: " + agentName + "}\n"
	}
	return "\n# The evals of skills are listed and not run, until a target is named that starts a\n# coding agent:\n# skills: {target: coder}\n"
}

// ownText returns the lines of a judge, where the definitions name what they test.
func ownText(a Answers) string {
	const why = "# The judge scores what checks cannot, such as rubrics."
	switch {
	case a.Judge != nil:
		return "targets:\n  # It judges, and is not tested.\n  judge:\n" + modelText(*a.Judge) + "    temperature: 0\n\n" + why + "\nroles: {judge: judge}\n"
	case len(a.Models) > 0:
		return why + " It is one of the\n# providers of the definitions, or a target of this file.\nroles: {judge: " + quoted(a.Models[0].Name) + "}\n"
	}
	return why + " It is a\n# target with a model:\n# targets: {judge: {provider: openai, model: …, api_key_env: OPENAI_API_KEY}}\n# roles: {judge: judge}\n"
}

// aliasesText returns the aliases that run the providers of the matrix format with the one
// target. Several providers get none, since they are compared as their file has them.
func aliasesText(a Answers, target string) string {
	if len(a.Providers) == 0 {
		return ""
	}
	why, begin := "\n# What the providers of promptfooconfig.yaml are run with.\n", ""
	if len(a.Providers) > 1 && target != mockName {
		why = "\n# The providers of promptfooconfig.yaml are asked as that file has them. A line of\n# aliases asks a target in the place of one:\n"
		begin = "# "
	}
	out := why + begin + "aliases:\n"
	for _, provider := range a.Providers {
		out += fmt.Sprintf("%s  %s: %s\n", begin, quoted(provider), target)
	}
	return out
}

// rootFiles returns the definitions outside the default folder, which a configured folder
// would leave out.
func (a Answers) rootFiles() []string {
	var out []string
	for _, d := range a.Existing {
		if a.Definitions == config.DefaultDefinitions && slices.Contains(config.RootFiles(), d.File) {
			out = append(out, d.File)
		}
	}
	return out
}

// agentText returns the lines of the target under test, with hints for further settings.
func agentText(a Agent) string {
	switch a.Provider {
	case config.HTTP:
		return httpText(a)
	case config.Command:
		return fmt.Sprintf(`  # Your agent, started for each turn. It reads
  #   {"messages": [{"role": "user", "content": "…"}], "metadata": {…}}
  # on stdin and prints its answer, as plain text or as
  #   {"messages": [{"role": "assistant", "content": "…"}]}
  agent:
    provider: command
    argv: %s
    # The files that it is built from: a change of one reruns its tests, and of
    # any other file it does not. Name all that it reads, such as prompts.
    inputs: %s
    # The environment variables that it sees:
    # env: [OPENAI_API_KEY]
    timeout: 60s

`, list(a.Argv), list(a.inputs()))
	}
	if a.isCoder() {
		return coderText(a)
	}
	return "  # The model under test.\n  agent:\n" + modelText(a) + `    temperature: 0
    # USD per million tokens, for reports and budgets:
    # price: {input: 0.15, output: 0.60}

`
}

// coderText returns the lines of a coding agent.
func coderText(a Agent) string {
	known, _ := codingagent.Lookup(a.Provider)
	out := "  # A coding agent. It works in a folder of its own, with the files of a\n  # case and, for the evals of a skill, with that skill.\n  agent:\n    provider: " + a.Provider + "\n"
	if a.Model != "" {
		out += "    model: " + quoted(a.Model) + "\n"
	} else {
		out += "    # Without a name the agent chooses, and what it chooses may change:\n    # model: your-model\n"
	}
	if a.BaseURL != "" {
		out += "    base_url: " + quoted(a.BaseURL) + "\n"
	}
	if a.KeyEnv != known.DefaultKey() {
		out += "    # The key is read from this environment variable; it is never in a file.\n    api_key_env: " + a.KeyEnv + "\n"
	}
	switch {
	case known.Bounds.Turns && known.Bounds.USD:
		out += "    # What one run may take:\n    # bounds: {turns: 30, usd: 0.75}\n"
	case known.Bounds.Turns:
		out += "    # What one run may take:\n    # bounds: {turns: 30}\n"
	}
	if known.Priced {
		out += "    # USD per million tokens, with which a budget in money counts each request:\n    # price: {input: 3, output: 15}\n"
	}
	return out + "    timeout: 10m\n\n"
}

// inputs returns globs of the files that a program is built from. If they are unknown, it
// returns the likely ones: the folder of the program or, if that is the whole repository,
// the files of its language and prompts.
func (a Agent) inputs() []string {
	if len(a.Inputs) > 0 {
		return a.Inputs
	}
	for _, arg := range a.Argv {
		file := path.Clean(filepath.ToSlash(arg))
		folder, _, inFolder := strings.Cut(file, "/")
		switch ext := path.Ext(file); {
		case strings.HasPrefix(arg, "-") || path.IsAbs(file) || folder == "..":
		case inFolder:
			return []string{folder + "/**"}
		case slices.Contains(languages, ext):
			return []string{"**/*" + ext, "prompts/**"}
		}
	}
	return []string{"src/**", "prompts/**"}
}

// httpText returns the lines of an agent over HTTP.
func httpText(a Agent) string {
	contract := `  # Your agent. Each turn it is sent
  #   POST {"messages": [{"role": "user", "content": "…"}], "metadata": {…}}
  # and answers
  #   {"messages": [{"role": "assistant", "content": "…"}]}
`
	form := `    # If it takes and gives something else:
    # body: {message: "{{message}}"}
    # reply: $.answer
`
	if a.Ask != "" {
		contract = "  # Your agent.\n"
		form = fmt.Sprintf(`    # What it takes: {{message}} is the user's last message, {{messages}} all of
    # them.
    body: {%s: "{{message}}"}
`, quoted(a.Ask))
		if a.Answer == "" {
			form += "    # Where its text is in the reply, which gavel try agent shows.\n    # reply: $.answer\n"
		} else {
			form += "    # Where its text is in the reply.\n    reply: $." + a.Answer + "\n"
		}
	}
	made := "    # The files of this repository that it is made of, such as prompts. A change\n    # of one reruns its tests, and of any other file it does not:\n"
	if len(a.Inputs) == 0 {
		made += "    # inputs: [\"prompts/**\"]\n"
	} else {
		made += "    inputs: " + list(a.Inputs) + "\n"
	}
	return fmt.Sprintf(`%s  agent:
    provider: http
    url: %s
%s%s    # The environment variable with its bearer token, or other headers:
    # api_key_env: AGENT_TOKEN
    # headers: {X-Token: {value_env: AGENT_TOKEN}}
    # How Gavel knows which version is deployed. With reply, the agent's answers
    # name the commit that it runs in metadata.revision, and stored verdicts are
    # reused. With {reply: any} they name another version:
    # revision: reply
    # For an agent that is not deployed: Gavel starts it, and url then has
    # {port} in the place of its port:
    # start: {argv: ["python3", "server.py", "{port}"]}
    timeout: 60s

`, contract, quoted(a.URL), form, made)
}

// languages lists the extensions of programs.
var languages = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".go", ".rb", ".php", ".sh", ".java", ".kt", ".cs", ".pl", ".lua", ".exs"}

// modelText returns the lines of a model target.
func modelText(a Agent) string {
	out := fmt.Sprintf("    provider: %s\n    model: %s\n", a.Provider, quoted(a.Model))
	if a.BaseURL != "" {
		out += "    base_url: " + quoted(a.BaseURL) + "\n"
	}
	if a.KeyEnv != "" {
		out += "    # The key is read from this environment variable; it is never in a file.\n    api_key_env: " + a.KeyEnv + "\n"
	}
	return out
}

// judgeText returns the lines of the judge.
func judgeText(a Answers) string {
	const why = "\n# The judge scores what checks cannot, such as rubrics."
	switch {
	case a.Judge != nil:
		return "\n  # It judges, and is not tested.\n  judge:\n" + modelText(*a.Judge) + "    temperature: 0\n" + why + "\nroles: {judge: judge}\n"
	case a.Agent.IsModel():
		return why + " A stronger model than\n# the one under test judges better.\nroles: {judge: agent}\n"
	}
	return why + " It is a\n# further target with a model:\n# roles: {judge: judge}\n"
}

// The parts of the ready workflow that differ between repositories.
const (
	readyBranch = "    branches: [main]\n"
	readyKey    = "      OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}\n"
	readyEnv    = "    env:\n"
	readyWith   = "        # with:\n"
	readyStep   = "      - run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
)

// workflowText returns the ready workflow with the branch and the keys of the answers.
func workflowText(a Answers) string {
	ready := examples.Workflow()
	if a.NoForks {
		ready = examples.WorkflowWithoutForks()
	}
	out := strings.Replace(ready, readyBranch, "    branches: ["+quoted(a.Branch)+"]\n", 1)
	var keys strings.Builder
	for _, name := range a.KeyVariables() {
		fmt.Fprintf(&keys, "      %s: ${{ secrets.%[1]s }}\n", name)
	}
	if keys.Len() == 0 {
		out = strings.Replace(strings.Replace(out, readyKey, "      # "+strings.TrimSpace(readyKey)+"\n", 1), readyEnv, "    env: {}\n", 1)
	} else {
		out = strings.Replace(out, readyKey, keys.String(), 1)
	}
	if agent, ok := codingagent.Lookup(a.Agent.Provider); ok {
		out = strings.Replace(out, readyStep, readyStep+"      - run: npm install -g "+agent.Package+"\n", 1)
		if agent.API(a.Agent.Model) == nil {
			out = strings.Replace(out, readyWith, "        with:\n          sandbox-network: \"true\" # the agent asks its model by itself, and has the key\n", 1)
		}
	}
	return out
}
