package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// emptiable lists the flags that may be empty, by the name of their command: an empty
// system prompt is sent, and the action passes its inputs as they are.
var emptiable = map[string][]string{
	"pr":  {"bots", "branches", "drift-issue"},
	"try": {"system"},
}

// refuseEmpty refuses a flag or an argument without a value, such as a variable of a
// script that is not set: as if it were left out, it would select everything, or write
// no file.
func refuseEmpty(cmd *cobra.Command, args []string) error {
	if cmd.DisableFlagParsing {
		return nil // cobra asks how to complete an empty word
	}
	if slices.Contains(args, "") {
		return usageError("an argument is empty; write a value, or leave it out; see %s --help", cmd.CommandPath())
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err != nil || slices.Contains(emptiable[cmd.Name()], f.Name) {
			return
		}
		if what := emptiness(f.Value); what != "" {
			err = usageError("--%s: %s; write a value, or leave the flag out", f.Name, what)
		}
	})
	return err
}

// emptiness says what of the value of a flag is empty, if anything is.
func emptiness(v pflag.Value) string {
	values := []string{v.String()}
	if list, ok := v.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	switch {
	case !slices.ContainsFunc(values, func(text string) bool { return !blank(text) }):
		return "it is empty"
	case slices.ContainsFunc(values, blank):
		return "an item of its list is empty"
	}
	return ""
}
