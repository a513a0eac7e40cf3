package setup

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/target/codingagent"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A candidate is one way to reach the agent.
type candidate struct {
	agent Agent
	// label describes it to people; flags are the same as command line flags.
	label, flags string
	// unfinished reports whether the model is unknown.
	unfinished bool
}

// mostModels bounds how many models of a server are offered.
const mostModels = 4

// candidates returns the ways that the survey found, the likeliest first.
func candidates(found *Survey) []candidate {
	var out []candidate
	for _, api := range found.AllAPIs() {
		if api.URL == "" {
			out = append(out, candidate{
				agent: Agent{Provider: config.OpenAI, BaseURL: api.BaseURL}, unfinished: true,
				label: "OpenAI's protocol at " + api.BaseURL + " (" + api.Source + ")", flags: "--base-url " + api.BaseURL + " --model …",
			})
			continue
		}
		ask, answer := api.Text()
		out = append(out, candidate{
			agent: Agent{Provider: config.HTTP, URL: api.URL, Ask: ask, Answer: answer},
			label: "POST " + api.URL + " (" + api.Source + ")", flags: "--url " + api.URL,
		})
	}
	for _, s := range found.Servers {
		for _, name := range s.Models[:min(len(s.Models), mostModels)] {
			out = append(out, candidate{
				agent: Agent{Provider: config.OpenAI, Model: name, BaseURL: s.BaseURL},
				label: "model " + name + " at " + s.BaseURL, flags: "--base-url " + s.BaseURL + " --model " + name,
			})
		}
	}
	for _, p := range found.Packages {
		if p.Provider == "" || slices.ContainsFunc(out, func(c candidate) bool { return c.agent.Provider == p.Provider && c.agent.BaseURL == "" }) {
			continue
		}
		out = append(out, candidate{
			agent: Agent{Provider: p.Provider, KeyEnv: keys[p.Provider]}, unfinished: true,
			label: "a model of " + p.Provider + ", whose SDK is in " + p.File, flags: "--provider " + p.Provider + " --model …",
		})
	}
	return out
}

// otherwise finds the agent if no flag names it.
func otherwise(ctx context.Context, found *Survey, console *Console) (Agent, error) {
	ways := candidates(found)
	switch {
	case console != nil && found.own():
		const first = "as the definitions name it: nothing is added"
		n, err := console.Choose(ctx, "How is your agent reached?", []string{first, "in another way"})
		if err != nil || n == 0 {
			return Agent{}, err
		}
		return askAgent(ctx, console, ways)
	case console != nil:
		return askAgent(ctx, console, ways)
	case found.own():
		return Agent{}, nil
	}
	if len(ways) == 1 && !ways[0].unfinished {
		return ways[0].agent, nil
	}
	ways = append(ways,
		candidate{flags: "--url http://127.0.0.1:8000/respond", label: "an agent over HTTP"},
		candidate{flags: `--command "python agent.py"`, label: "a program"},
		candidate{flags: "--provider openai --model …", label: "a model"},
		candidate{flags: "--provider claude-code", label: "a coding agent"},
		candidate{flags: "--provider mock", label: "none yet"})
	width := 0
	for _, way := range ways {
		width = max(width, textfmt.Columns(way.flags))
	}
	var said strings.Builder
	for _, way := range ways {
		fmt.Fprintf(&said, "\n  %s%s  %s", way.flags, strings.Repeat(" ", width-textfmt.Columns(way.flags)), way.label)
	}
	return Agent{}, mistake("it is not known how your agent is reached; add one of%s", said.String())
}

// askAgent asks a person how to reach the agent.
func askAgent(ctx context.Context, console *Console, ways []candidate) (Agent, error) {
	var options []string
	for _, way := range ways {
		options = append(options, way.label)
	}
	n, err := console.Choose(ctx, "How is your agent reached?", append(options,
		"over HTTP, at a URL",
		"as a program that reads the conversation on stdin",
		"as a model of OpenAI, Anthropic, Gemini or a server with OpenAI's protocol",
		"as a coding agent, which works in a folder",
		"not at all yet: begin with a mock"))
	switch {
	case err != nil:
		return Agent{}, err
	case n < len(ways) && ways[n].unfinished:
		agent := ways[n].agent
		agent.Model, err = console.AskRequired(ctx, "Model", "the name that the provider gives it")
		return agent, err
	case n < len(ways):
		return ways[n].agent, nil
	}
	switch n - len(ways) {
	case 0:
		return askURL(ctx, console)
	case 1:
		return askCommand(ctx, console)
	case 2:
		return askModel(ctx, console, "")
	case 3:
		return askCoder(ctx, console)
	}
	return Agent{Provider: config.Mock}, nil
}

func askURL(ctx context.Context, console *Console) (Agent, error) {
	for {
		text, err := console.Line(ctx, "URL", "http://127.0.0.1:8000/respond")
		if err != nil {
			return Agent{}, err
		}
		if err := checkURL("The URL", text); err != nil {
			fmt.Fprintln(console.Out, "  "+err.Error())
			continue
		}
		return Agent{Provider: config.HTTP, URL: text}, nil
	}
}

func askCommand(ctx context.Context, console *Console) (Agent, error) {
	for {
		text, err := console.AskRequired(ctx, "Command", "python agent.py")
		if err != nil {
			return Agent{}, err
		}
		argv, err := words(text)
		if err != nil {
			fmt.Fprintln(console.Out, "  "+err.Error())
			continue
		}
		return Agent{Provider: config.Command, Argv: argv}, nil
	}
}

// askCoder asks for a coding agent.
func askCoder(ctx context.Context, console *Console) (Agent, error) {
	names := codingagent.Names()
	n, err := console.Choose(ctx, "Which one?", names)
	if err != nil {
		return Agent{}, err
	}
	known, _ := codingagent.Lookup(names[n])
	agent := Agent{Provider: known.Name}
	if known.DefaultKey() == "" {
		if agent.Model, err = console.AskRequired(ctx, "Model", "anthropic/your-model"); err != nil {
			return agent, err
		}
	}
	agent.KeyEnv, err = console.Line(ctx, "Environment variable with the key", cmp.Or(known.DefaultKey(), keys[config.Anthropic]))
	return agent, err
}

// askModel asks for a provider, unless it is given, and one of its models.
func askModel(ctx context.Context, console *Console, provider string) (agent Agent, err error) {
	own := provider == ""
	if own {
		known := slices.Concat(providerChoices, config.PresetNames())
		n, err := console.Choose(ctx, "Whose model?", append(known, "of another server with OpenAI's protocol"))
		if err != nil {
			return agent, err
		}
		if n == len(known) {
			return askServer(ctx, console)
		}
		provider = known[n]
	}
	agent.Provider = provider
	server, _ := config.LookupPreset(provider)
	if server.Form != "" {
		if agent.BaseURL, err = console.AskRequired(ctx, "Base URL", server.Form); err != nil {
			return agent, err
		}
	}
	if agent.Model, err = console.AskRequired(ctx, "Model", "the name that the provider gives it"); err != nil {
		return agent, err
	}
	if key := cmp.Or(keys[provider], server.KeyEnv); key != "" {
		agent.KeyEnv, err = console.Line(ctx, "Environment variable with the key", key)
	}
	return agent, err
}

// askServer asks for a model of a server that speaks OpenAI's protocol.
func askServer(ctx context.Context, console *Console) (Agent, error) {
	agent := Agent{Provider: config.OpenAI}
	var err error
	if agent.BaseURL, err = console.Line(ctx, "Base URL, before /chat/completions", "http://127.0.0.1:11434/v1"); err != nil {
		return agent, err
	}
	if agent.Model, err = console.AskRequired(ctx, "Model", "the name that the server gives it"); err != nil {
		return agent, err
	}
	agent.KeyEnv, err = console.Line(ctx, "Environment variable with the key, empty for none", "")
	return agent, err
}

func askFormat(ctx context.Context, console *Console) (string, error) {
	var options []string
	for _, f := range formats {
		options = append(options, fmt.Sprintf("%-10s %s", f.name, f.about))
	}
	n, err := console.Choose(ctx, "In which format do you want to write tests? Others can be mixed in later.", options)
	return formats[n].name, err
}

// checkURL refuses a text that is not the address of a server.
func checkURL(name, text string) error {
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return mistake("%s %q is not an address; write http:// or https://, a host and a path", name, text)
	}
	if at.User != nil {
		return mistake("%s has a password, which would get into the repository; leave it out", name)
	}
	return nil
}

// words splits a command line at spaces; quotes keep words together.
func words(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, mistake("the command %q has a quote that is not closed", text)
	}
	if open {
		out = append(out, word.String())
	}
	if len(out) == 0 {
		return nil, mistake("the command is empty; write a program, such as python agent.py")
	}
	return out, nil
}
