package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/safefile"
)

// manCommand returns the command man.
func manCommand(a *App) *cobra.Command {
	var into string
	cmd := &cobra.Command{
		Use:   "man [COMMAND...]",
		Short: "Print the manual page of a command, or write all of them",
		Example: `  gavel man run | man -l -
  gavel man --into /usr/local/share/man/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil || len(rest) > 0:
				return oneOfItsCommands(found, append(rest, args...))
			case into == "":
				_, err = fmt.Fprint(a.Stdout, manualPage(found))
				return err
			}
			return writeManual(a.Path(into), found)
		},
	}
	cmd.Flags().StringVar(&into, "into", "", "write the page of the command, and those of the commands below it, as files into this folder, such as /usr/local/share/man/man1")
	return cmd
}

// writeManual writes the pages of a command and its subcommands into a folder.
func writeManual(folder string, cmd *cobra.Command) error {
	err := safefile.MkdirAll(folder, 0o755)
	if err == nil {
		err = safefile.WriteFile(filepath.Join(folder, name(cmd)+".1"), []byte(manualPage(cmd)), 0o644)
	}
	if err != nil {
		return usageError("--into %s: %w", folder, err)
	}
	for _, below := range listedCommands(cmd) {
		err = errors.Join(err, writeManual(folder, below))
	}
	return err
}
