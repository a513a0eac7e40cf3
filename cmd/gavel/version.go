package main

import (
	"github.com/spf13/cobra"
)

func versionCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			return a.PrintOr(v, v.String())
		},
	}
}
