package setup

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// Flags are the answers on the command line. An empty field was not given.
type Flags struct {
	URL, Command, Provider, Model, BaseURL, KeyEnv string
	JudgeProvider, JudgeModel, JudgeKeyEnv         string
	Format                                         string
	// Inputs are globs of the files that the agent is built from.
	Inputs []string
}

// A Mistake is a wrong or missing answer on the command line. It says what to write.
type Mistake struct{ text string }

// Error returns the text.
func (m *Mistake) Error() string { return m.text }

func mistake(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }

// formats lists the choices with their purpose.
var formats = []struct{ name, about string }{
	{schema.DialectEvalcase, "a question and what its answer must have (AgentV)"},
	{schema.DialectDomain, "questions with keywords, numbers, SQL or tool calls (Evonic)"},
	{schema.DialectTestcase, "a simulated user talks to it, a judge scores it (Connexity)"},
	{schema.DialectPromptval, "a rubric from 0 to 10, retries, two prompts (Aurite)"},
}

// ParseFormat returns the format with a name, evalcase for an empty one. The error is a
// *Mistake.
func ParseFormat(name string) (string, error) {
	var known []string
	for _, f := range formats {
		known = append(known, f.name)
	}
	if name == "" {
		return known[0], nil
	}
	if slices.Contains(known, name) {
		return name, nil
	}
	return "", mistake("--format %q is not known; %s", name, cmp.Or(suggest.DidYouMean(name, known), "write one of "+strings.Join(known, ", ")))
}

// interview returns the agent, the judge and the format. With a nil console, an answer
// that the flags leave open comes from the survey if it found exactly one. The error is a
// *Mistake, or comes from the console.
func interview(ctx context.Context, flags Flags, found *Survey, console *Console) (Answers, error) {
	var out Answers
	agent, said, err := flags.agent()
	if err == nil && !said {
		agent, err = otherwise(ctx, found, console)
	}
	if err != nil {
		return out, err
	}
	if api, described := found.API(ctx, agent.URL); described {
		agent.Ask, agent.Answer = api.Text()
	}
	if agent.Inputs, err = inputs(ctx, flags, agent, found, console); err != nil {
		return out, err
	}
	out.Agent = agent
	switch {
	case flags.Format != "" || console == nil || len(found.Definitions) > 0 || agent.Provider == config.Mock:
		out.Format, err = ParseFormat(flags.Format)
	default:
		out.Format, err = askFormat(ctx, console)
	}
	if err != nil {
		return out, err
	}
	out.Judge, err = judge(ctx, flags, out, console)
	return out, err
}

// inputs returns globs of the files that an agent is built from: the ones that the flags
// name, else the ones that a person names or, without a person, the likely ones.
func inputs(ctx context.Context, flags Flags, agent Agent, found *Survey, console *Console) ([]string, error) {
	switch {
	case len(flags.Inputs) > 0 && agent.Provider != config.HTTP && agent.Provider != config.Command:
		return nil, mistake("--inputs names what an agent is made of that --url or --command reaches; leave it out")
	case len(flags.Inputs) > 0:
		return flags.Inputs, checkInputs("--inputs", flags.Inputs)
	case agent.Provider != config.HTTP:
		return nil, nil
	}
	var usual []string
	for _, folder := range found.Prompts {
		usual = append(usual, folder+"/**")
	}
	if console == nil {
		return usual, nil
	}
	for {
		text, err := console.Line(ctx, "Which files of this repository is it made of, such as prompts/**? Empty for none", strings.Join(usual, " "))
		if err != nil {
			return nil, err
		}
		globs := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
		if err := checkInputs("The file", globs); err != nil {
			fmt.Fprintln(console.Out, "  "+err.Error())
			continue
		}
		return globs, nil
	}
}

// checkInputs refuses a glob outside the repository.
func checkInputs(name string, globs []string) error {
	for _, glob := range globs {
		if path.IsAbs(glob) || path.Clean(glob) == ".." || strings.HasPrefix(path.Clean(glob), "../") || strings.ContainsRune(glob, '\\') {
			return mistake("%s %q is not in the repository; write a path from its root with slashes, such as prompts/**", name, glob)
		}
	}
	return nil
}

// agent returns the agent that the flags describe; said is false if they describe none.
func (f Flags) agent() (agent Agent, said bool, err error) {
	provider := cmp.Or(f.Provider, config.OpenAI)
	switch {
	case f.contradictory():
		return agent, false, mistake("--url, --command and --provider or --model are different ways to reach an agent: give one of them")
	case f.URL != "":
		return Agent{Provider: config.HTTP, URL: f.URL}, true, checkURL("--url", f.URL)
	case f.Command != "":
		argv, err := words(f.Command)
		return Agent{Provider: config.Command, Argv: argv}, true, err
	case f.Provider+f.BaseURL+f.Model == "":
		return agent, false, nil
	case provider == config.Mock:
		return Agent{Provider: config.Mock}, true, nil
	case provider == config.HTTP:
		return agent, false, mistake("--provider http needs the address of the agent; add --url, such as --url http://127.0.0.1:8000/respond")
	case provider == config.Command:
		return agent, false, mistake(`--provider command needs the program; add --command, such as --command "python agent.py"`)
	}
	if known, ok := codingagent.Lookup(provider); ok {
		agent, err = coder(known, f)
		return agent, true, err
	}
	agent, err = model("--", provider, f.Model, f.KeyEnv)
	server, isServer := config.LookupPreset(provider)
	switch {
	case err != nil:
	case f.BaseURL != "":
		agent.BaseURL = f.BaseURL
		if !isServer {
			agent.KeyEnv = f.KeyEnv // it is not the key of the provider itself
		}
		err = checkURL("--base-url", f.BaseURL)
	case server.Form != "":
		err = mistake("--provider %s needs the address of your account; add --base-url, such as %s", provider, server.Form)
	}
	return agent, true, err
}

// coder returns a coding agent from flags.
func coder(known codingagent.Agent, f Flags) (Agent, error) {
	agent := Agent{Provider: known.Name, Model: f.Model, BaseURL: f.BaseURL, KeyEnv: cmp.Or(f.KeyEnv, known.DefaultKey())}
	switch {
	case agent.KeyEnv == "":
		return agent, mistake("--provider %s needs the variable with the key of its model; add --key-env, such as --key-env ANTHROPIC_API_KEY", known.Name)
	case known.Name == "opencode" && f.Model == "":
		return agent, mistake("--provider %s needs a model; add --model, such as --model anthropic/your-model", known.Name)
	case f.BaseURL != "" && known.API(f.Model) == nil:
		return agent, mistake("%s cannot be given an address with this model; leave --base-url out", known.Name)
	case f.BaseURL != "":
		return agent, checkURL("--base-url", f.BaseURL)
	}
	return agent, nil
}

// Agent reports whether the flags say anything about the agent or the judge.
func (f Flags) Agent() bool {
	f.Format = ""
	return len(f.Inputs) > 0 || !reflect.ValueOf(f).IsZero()
}

// contradictory reports whether the flags name more than one agent.
func (f Flags) contradictory() bool {
	is := func(provider string) bool {
		return f.Model+f.BaseURL == "" && (f.Provider == "" || f.Provider == provider)
	}
	return f.URL != "" && (f.Command != "" || !is(config.HTTP)) || f.Command != "" && !is(config.Command)
}

// keys maps providers to the usual variables with their keys.
var keys = map[string]string{config.OpenAI: "OPENAI_API_KEY", config.Anthropic: "ANTHROPIC_API_KEY", config.Gemini: "GEMINI_API_KEY"}

// providerChoices lists the providers with models, in the order of the question.
var providerChoices = []string{config.OpenAI, config.Anthropic, config.Gemini}

// model returns a model target from flags that begin with prefix.
func model(prefix, provider, name, key string) (Agent, error) {
	server, isServer := config.LookupPreset(provider)
	if keys[provider] == "" && !isServer {
		known := slices.Concat(providerChoices, config.PresetNames(), codingagent.Names(), []string{config.HTTP, config.Command, config.Mock})
		hint := cmp.Or(suggest.DidYouMean(provider, known), "write one of "+strings.Join(known, ", ")+"; a server that speaks OpenAI's protocol is openai with --base-url")
		return Agent{}, mistake("%sprovider %q is not known; %s", prefix, provider, hint)
	}
	if name == "" {
		return Agent{}, mistake("%sprovider %s needs a model; add %smodel with the name that the provider gives it", prefix, provider, prefix)
	}
	return Agent{Provider: provider, Model: name, KeyEnv: cmp.Or(key, keys[provider], server.KeyEnv)}, nil
}

// judge returns the model that judges, if the format needs one and the agent is not a model.
func judge(ctx context.Context, flags Flags, a Answers, console *Console) (*Agent, error) {
	needed := !a.Agent.IsModel() && a.Agent.Provider != config.Mock && (a.Format == schema.DialectTestcase || a.Format == schema.DialectPromptval)
	var out Agent
	var err error
	switch {
	case flags.JudgeModel+flags.JudgeProvider != "":
		out, err = model("--judge-", cmp.Or(flags.JudgeProvider, config.OpenAI), flags.JudgeModel, flags.JudgeKeyEnv)
	case !needed:
		return nil, nil
	case console == nil:
		return nil, mistake("the %s format needs a model that judges; add --judge-model, and --judge-provider if it is not OpenAI's", a.Format)
	default:
		fmt.Fprintf(console.Out, "The %s format needs a model that judges.\n", a.Format)
		out, err = askModel(ctx, console, config.OpenAI)
	}
	return &out, err
}
