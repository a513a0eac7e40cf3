package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// name returns the name of a command's page, such as gavel-run.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage returns the manual page of a command as roff.
func manualPage(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n%s", title, text)
		}
	}
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"gavel %s\" \"Gavel\"\n", strings.ToUpper(escaped(name(cmd))), escaped(thisVersion().Version))
	section("NAME", escaped(name(cmd))+` \- `+escaped(cmd.Short)+"\n")
	section("SYNOPSIS", `\fB`+escaped(strings.TrimSuffix(cmd.UseLine(), " [flags]"))+`\fR [flags]`+"\n")
	section("DESCRIPTION", asWritten(cmd.Long))
	section("COMMANDS", commands(cmd))
	section("OPTIONS", options(cmd.NonInheritedFlags()))
	section("OPTIONS OF ALL COMMANDS", options(globalFlags(cmd)))
	section("EXAMPLES", asWritten(cmd.Example))
	section("SEE ALSO", related(cmd))
	return b.String()
}

// commands lists a command's subcommands with their descriptions.
func commands(cmd *cobra.Command) string {
	var b strings.Builder
	for _, below := range listedCommands(cmd) {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", escaped(below.Name()), escaped(below.Short))
	}
	return b.String()
}

// options lists flags with their kinds of values.
func options(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		short := ""
		if f.Shorthand != "" {
			short = `\fB\-` + f.Shorthand + `\fR, `
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(&b, ".TP\n%s\\fB%s\\fR", short, escaped("--"+f.Name))
		if kind != "" {
			fmt.Fprintf(&b, ` \fI%s\fR`, escaped(kind))
		}
		fmt.Fprintf(&b, "\n%s\n", escaped(usage))
	})
	return b.String()
}

// related lists the pages of the parent command, and of subcommands or siblings.
func related(cmd *cobra.Command) string {
	var names []string
	if cmd.HasParent() {
		names = append(names, name(cmd.Parent()))
	}
	for _, below := range listedCommands(cmd) {
		names = append(names, name(below))
	}
	if len(names) == 0 {
		return ""
	}
	for i, n := range names {
		names[i] = `\fB` + escaped(n) + `\fR(1)`
	}
	return strings.Join(names, ",\n") + "\n"
}

// listedCommands returns the visible subcommands of a command.
func listedCommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
}

// asWritten formats a text with its line breaks preserved.
func asWritten(text string) string {
	if text = strings.Trim(text, "\n"); text == "" {
		return ""
	}
	return ".nf\n" + escaped(text) + "\n.fi\n"
}

// escaped escapes roff instructions and characters that some versions of man cannot
// read.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	text = b.String()
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
