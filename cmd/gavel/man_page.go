package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// name is that of the page of a command, such as gavel-run.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page returns the manual page of a command as roff.
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

// commands are those below a command, with what they do.
func commands(cmd *cobra.Command) string {
	var b strings.Builder
	for _, below := range listedCommands(cmd) {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", escaped(below.Name()), escaped(below.Short))
	}
	return b.String()
}

// options are flags with their kinds of values.
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

// related are the pages of the command above, and of those below or next to it.
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

// listed are the commands below one that people use.
func listedCommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
}

// asWritten is a text with its lines as they are.
func asWritten(text string) string {
	if text = strings.Trim(text, "\n"); text == "" {
		return ""
	}
	return ".nf\n" + escaped(text) + "\n.fi\n"
}

// escaped is a text in which nothing is an instruction, in the characters that every
// man reads.
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
