package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gavel-evals/gavel/cmd/internal/setup"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

// initCommand is gavel init.
func initCommand(a *App) *cobra.Command {
	var s setup.Setup
	var yes bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write gavel.yaml, the first tests, a workflow and editor settings",
		Args:  noArgs,
		Example: `  gavel init
  gavel init --url http://127.0.0.1:8000/respond --inputs "prompts/**"
  gavel init --command "python agent.py" --format domain
  gavel init --provider openai --model your-model`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.Dir, s.Out, s.LookupEnv = a.Dir, io.Discard, a.LookupEnv
			if !yes {
				s.Console = console(a)
			}
			if !a.JSON {
				s.Out = a.Stdout
			}
			if s.Console != nil && !cmd.Flags().Changed("ports") {
				s.Ports = setup.LoopbackPorts
			}
			return initialize(cmd.Context(), a, s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.URL, "url", "", "the agent answers HTTP at this URL, such as http://127.0.0.1:8000/respond")
	flags.StringVar(&s.Command, "command", "", `the agent is this program, such as "python agent.py"`)
	flags.StringSliceVar(&s.Inputs, "inputs", nil, `files of this repository that the agent is made of, such as "prompts/**,agent/*.py" (default with --url: the folders prompts and agents that are there)`)
	flags.StringVar(&s.Provider, "provider", "", "the agent is a model of this provider, such as openai, anthropic, gemini or ollama, or a coding agent, such as claude-code; mock, if there is none yet")
	flags.StringVar(&s.Model, "model", "", "the model's name, such as llama3.2")
	flags.StringVar(&s.BaseURL, "base-url", "", "the model's server, which speaks OpenAI's protocol, such as http://127.0.0.1:11434/v1")
	flags.StringVar(&s.KeyEnv, "key-env", "", "environment variable with the key, such as OPENROUTER_API_KEY (default: the provider's usual one)")
	flags.StringVar(&s.JudgeProvider, "judge-provider", "", "provider of the model that judges, such as anthropic (default: openai)")
	flags.StringVar(&s.JudgeModel, "judge-model", "", "model that judges, such as your-judge (default: the agent, where it is a model)")
	flags.StringVar(&s.JudgeKeyEnv, "judge-key-env", "", "environment variable with the judge's key, such as JUDGE_KEY")
	flags.StringVar(&s.Format, "format", "", "format of the first test, such as domain: evalcase, domain, testcase or promptval (default: evalcase)")
	flags.StringVar(&s.Definitions, "definitions", "test_definitions", "folder for the tests, such as tests/agent")
	flags.BoolVar(&s.Git, "git", false, "make the folder a git repository if it is not in one")
	flags.BoolVar(&s.NoWorkflow, "no-workflow", false, "leave out .github/workflows/gavel.yml")
	flags.BoolVar(&s.NoForks, "no-forks", false, "write a workflow without pull_request_target, for teams whose pull requests never come from forks")
	flags.BoolVar(&s.NoEditor, "no-editor", false, "leave out .vscode")
	flags.IntSliceVar(&s.Ports, "ports", nil, "ports of this machine on which to look for an agent or a model server, such as 8000,11434 (default: the usual ones on a terminal, else none)")
	flags.BoolVar(&yes, "yes", false, "ask nothing, even on a terminal")
	return cmd
}

// console returns the person at the terminal, or nil.
func console(a *App) *setup.Console {
	in, isFile := a.Stdin.(*os.File)
	_, shown := terminal.Screen(a.Stdout)
	if a.JSON || !shown || !isFile || !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	return &setup.Console{In: in, Out: a.Stdout}
}

func initialize(ctx context.Context, a *App, s setup.Setup) error {
	out, err := s.Run(ctx)
	if err != nil {
		return explained(err)
	}
	return a.PrintOr(out, out.Text())
}

// explained gives mistakes in the answers the exit code of usage errors.
func explained(err error) error {
	switch {
	case errors.As(err, new(*setup.Mistake)), errors.As(err, new(*setup.NearMissError)),
		errors.Is(err, gitrepo.ErrNoRepository), errors.Is(err, setup.ErrUnanswered), errors.Is(err, setup.ErrConfigured):
		return &exitError{Code: ExitUsage, Err: err}
	}
	return err
}
