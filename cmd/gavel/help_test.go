package main

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestHelp reads the help of every command as a stranger does: it says what the
// command does, how it is called, and which values each flag takes.
func TestHelp(t *testing.T) {
	files, err := fs.Glob(help, "help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, file := range files {
		text, err := help.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		left[string(text)] = true
		for line := range strings.Lines(string(text)) {
			if textfmt.Columns(strings.TrimRight(line, "\n")) > 82 {
				t.Errorf("%s: a line is too long: %s", file, line)
			}
		}
	}
	a := &App{}
	var read func(cmd *cobra.Command)
	read = func(cmd *cobra.Command) {
		delete(left, cmd.Long)
		simple := cmd.Name() == "version" || cmd.Name() == "help"
		if cmd.Short == "" || !simple && (cmd.Long == "" || cmd.Example == "") {
			t.Errorf("%s does not say what it does, or how", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" && !strings.Contains(f.Usage, "such as ") && !strings.Contains(f.Usage, ": ") && f.NoOptDefVal == "" {
				t.Errorf("%s --%s has no example: %s", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, below := range cmd.Commands() {
			read(below)
		}
	}
	read(rootCommand(a))
	for text := range left {
		t.Errorf("no command has the text %s", text)
	}
	text, _ := help.ReadFile("help/schema.txt")
	words := strings.FieldsFunc(string(text), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	for _, format := range document.Formats() {
		if !slices.Contains(words, format) {
			t.Errorf("gavel schema --help does not name %s", format)
		}
	}
}

// TestTheHelpNamesFlagsThatWork: a command does not name a flag of all commands that
// does nothing there, in its help and in its manual page.
func TestTheHelpNamesFlagsThatWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command string
		want    []string
	}{
		{"version", []string{"--json"}}, {"schema", []string{"--json"}}, {"demo", []string{"--json", "--ledger"}}, {"man", nil}, {"completion bash", nil},
		{"run", []string{"--config", "--dir", "--json", "--ledger", "--strict"}},
	} {
		help, _, code := gavel(t, t.TempDir(), append(strings.Fields(tt.command), "--help")...)
		manual, _, _ := gavel(t, t.TempDir(), append([]string{"man"}, strings.Fields(tt.command)...)...)
		_, manual, _ = strings.Cut(strings.ReplaceAll(manual, `\-`, "-"), "OPTIONS OF ALL COMMANDS")
		_, global, _ := strings.Cut(help, "Global Flags:")
		for _, flag := range []string{"--config", "--dir", "--json", "--ledger", "--strict"} {
			wanted := slices.Contains(tt.want, flag)
			if strings.Contains(global, flag+" ") != wanted || strings.Contains(manual, flag+`\fR`) != wanted || code != exitPass {
				t.Errorf("gavel %s: %s is named %v in the help and %v in the manual, want %v\n%s", tt.command, flag, strings.Contains(global, flag+" "), strings.Contains(manual, flag+`\fR`), wanted, help)
			}
		}
	}
}
