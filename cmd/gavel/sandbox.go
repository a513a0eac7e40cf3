package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
)

// Sandbox has the permissions of the repository's programs. They are set by the caller
// of the command, whether a person or a job.
type Sandbox struct {
	// Accept is the weakest accepted mode; empty means isolated.
	Accept string
	// Read and Path are extra readable files and extra folders to search for programs.
	Read, Path []string
	Network    bool
}

// Bind adds the sandbox flags to a command that runs programs.
func (f *Sandbox) Bind(cmd *cobra.Command) {
	f.BindMode(cmd, "weakest sandbox in which programs of the repository run: isolated, partial (as far as this machine can) or off")
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Read, "sandbox-read", nil, "another file or folder that programs may read, such as /opt/python, or node_modules if git ignores it")
	flags.StringSliceVar(&f.Path, "sandbox-path", nil, "folder to look for programs in first, such as /opt/python/bin")
	flags.BoolVar(&f.Network, "sandbox-network", false, "let programs use the network")
}

// BindMode adds only the mode flag, for commands that run nothing: results of programs
// without a sandbox are stored separately.
func (f *Sandbox) BindMode(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.Accept, "sandbox", string(sandbox.Isolated), usage)
}

// policy returns the sandbox policy, or an error for invalid flags. Commands without
// the flags isolate.
func (f *Sandbox) policy(path func(string) string) (sandbox.Policy, error) {
	policy := sandbox.Policy{Network: f.Network}
	if f.Accept != "" {
		var err error
		if policy.Accept, err = sandbox.ParseMode(f.Accept); err != nil {
			return policy, usageError("--sandbox: %w", err)
		}
	}
	for _, folder := range f.Read {
		policy.Read = append(policy.Read, path(folder))
	}
	for _, folder := range f.Path {
		policy.Path = append(policy.Path, path(folder))
	}
	return policy, nil
}

// Unconfined reports whether programs see more than the digested files, as they do
// without a sandbox, or on a machine that cannot hide files.
func (a *App) Unconfined(ctx context.Context) bool {
	policy, err := a.Sandbox.policy(a.Path)
	if err != nil || policy.Accept != sandbox.Partial {
		return err == nil && policy.Accept == sandbox.Off
	}
	box, err := sandbox.Open(ctx, policy)
	return err == nil && !box.Hides()
}

// Making returns how programs run that make parts of definitions.
func (a *App) Making() controller.Making { return controller.Making{Programs: a.Programs} }

// Maker returns what makes parts of the definitions of a person who runs commands, without a ledger.
func (a *App) Maker() schema.Maker {
	return a.Making().Maker(nil, ledger.Trust{Level: ledger.LevelOperator})
}

// Programs returns a runner for the programs of one execution.
func (a *App) Programs(ctx context.Context) (*controller.ProgramRunner, error) {
	policy, err := a.Sandbox.policy(a.Path)
	if err != nil {
		return nil, err
	}
	own := []string{}
	if a.LedgerFile != "" {
		own = append(own, a.LedgerFile)
	}
	return controller.NewProgramRunner(ctx, controller.ProgramsConfig{
		Give: "--sandbox-read PATH gives them to programs", Own: own,
		Policy: policy, Less: "--sandbox partial runs them with what there is, --sandbox off without",
		Log: func(line string) { fmt.Fprintf(a.Stderr, "gavel: %s\n", line) },
	}), nil
}
