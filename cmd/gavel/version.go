package main

import (
	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/version"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.This()
			return a.printOr(v, v.String())
		},
	}
}
