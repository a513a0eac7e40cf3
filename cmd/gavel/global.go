package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// without lists the global flags that have no effect on a command, by its name.
var without = map[string][]string{
	"completion": {"config", "dir", "json", "ledger", "strict"},
	"demo":       {"config", "dir", "strict"},
	"help":       {"config", "dir", "json", "ledger", "strict"},
	"man":        {"config", "dir", "json", "ledger", "strict"},
	"schema":     {"config", "dir", "ledger", "strict"},
	"version":    {"config", "dir", "ledger", "strict"},
}

// globalFlags returns the global flags that have an effect on a command.
func globalFlags(cmd *cobra.Command) *pflag.FlagSet {
	path := strings.Fields(cmd.CommandPath())
	var nothing []string
	if len(path) > 1 {
		nothing = without[path[1]]
	}
	out := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(nothing, f.Name) {
			out.AddFlag(f)
		}
	})
	return out
}

// Help returns a help function that hides global flags without an effect. It calls
// print, cobra's own.
func Help(print func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		shown := globalFlags(cmd)
		var hidden []*pflag.Flag
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if shown.Lookup(f.Name) == nil && !f.Hidden {
				f.Hidden, hidden = true, append(hidden, f)
			}
		})
		print(cmd, args)
		for _, f := range hidden {
			f.Hidden = false
		}
	}
}
