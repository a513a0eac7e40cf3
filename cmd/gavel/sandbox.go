package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/programs"
)

// sandboxFlags say what programs of the repository may do. The caller of the
// command decides, whether a person or a job.
type sandboxFlags struct {
	accept  string
	read    []string
	path    []string
	network bool
}

func (f *sandboxFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.accept, "sandbox", string(sandbox.Isolated), "weakest sandbox in which programs of the repository run: isolated, partial (as far as this machine can) or off")
	flags.StringSliceVar(&f.read, "sandbox-read", nil, "another file or folder that programs may read, such as /opt/python, or node_modules if git ignores it")
	flags.StringSliceVar(&f.path, "sandbox-path", nil, "folder to look for programs in first, such as /opt/python/bin")
	flags.BoolVar(&f.network, "sandbox-network", false, "let programs use the network")
}

// policy refuses what no sandbox is. Commands without the flags isolate.
func (f *sandboxFlags) policy(path func(string) string) (sandbox.Policy, error) {
	policy := sandbox.Policy{Network: f.network}
	if f.accept != "" {
		var err error
		if policy.Accept, err = sandbox.ParseMode(f.accept); err != nil {
			return policy, usageError("--sandbox: %w", err)
		}
	}
	for _, folder := range f.read {
		policy.Read = append(policy.Read, path(folder))
	}
	for _, folder := range f.path {
		policy.Path = append(policy.Path, path(folder))
	}
	return policy, nil
}

// programs runs the programs of one execution.
func (a *app) programs(ctx context.Context) (*programs.Runner, error) {
	policy, err := a.sandbox.policy(a.path)
	if err != nil {
		return nil, err
	}
	own := []string{}
	if a.ledgerFile != "" {
		own = append(own, a.ledgerFile)
	}
	return programs.New(ctx, programs.Config{
		Give: "--sandbox-read PATH gives them to programs", Own: own,
		Policy: policy, Less: "--sandbox partial runs them with what there is, --sandbox off without",
		Tell: func(line string) { fmt.Fprintf(a.stderr, "gavel: %s\n", line) },
	}), nil
}
