package main

import (
	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/cmd/internal/version"
)

func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.This()
			return a.PrintOr(v, v.String())
		},
	}
}
