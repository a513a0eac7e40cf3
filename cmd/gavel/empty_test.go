package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestAnEmptyFlag is refused by each command for each flag that takes a text, before the
// command does anything, unless an empty text means something.
func TestAnEmptyFlag(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, cmd := range commandsBelow(rootCommand(&App{})) {
		cmd.InheritedFlags() // adds the global flags
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, list := f.Value.(pflag.SliceValue)
			if !list && f.Value.Type() != "string" || slices.Contains(emptiable[cmd.Name()], f.Name) {
				return
			}
			tried++
			args := append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name+"=")
			for range minimumArguments[cmd.Name()] {
				args = append(args, "x")
			}
			if reached, err := parsed(args); reached || err == nil || !strings.Contains(err.Error(), "--"+f.Name) {
				t.Errorf("gavel %q: reached %v, error %v", args, reached, err)
			}
		})
	}
	if tried < 100 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// parsed reports whether a command is reached with some arguments, without running it.
func parsed(args []string) (reached bool, err error) {
	root := rootCommand(&App{Stdout: io.Discard, Stderr: io.Discard})
	for _, cmd := range commandsBelow(root) {
		cmd.RunE = func(*cobra.Command, []string) error { reached = true; return nil }
	}
	root.SetArgs(args)
	err = root.Execute()
	return reached, err
}

// minimumArguments counts the arguments without which a command refuses to start.
var minimumArguments = map[string]int{"diff": 2, "evonic": 1, "copy": 1, "explain": 1, "new": 1}

func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, below := range cmd.Commands() {
		if below.RunE != nil && !below.HasSubCommands() {
			out = append(out, below)
		}
		out = append(out, commandsBelow(below)...)
	}
	return out
}

// TestAnEmptyValue: a list with an empty item, an argument, and half of a key with its
// target are refused; what may be empty is not.
func TestAnEmptyValue(t *testing.T) {
	p := newProject(t)
	key := "talk/level_1/hello"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", key, "--target="}, "--target: it is empty"},
		{[]string{"explain", key, "--target= "}, "--target: it is empty"},
		{[]string{"explain", key + " @ "}, "lacks its case or its target"},
		{[]string{"explain", " @ small"}, "lacks its case or its target"},
		{[]string{"run", "--sandbox-read=lib,"}, "--sandbox-read: an item of its list is empty"},
		{[]string{"run", "--html="}, "--html: it is empty"},
		{[]string{"run", "--record="}, "--record: it is empty"},
		{[]string{"ledger", "gc", "--max-age=90d", "--base="}, "--base: it is empty"},
		{[]string{"list", "--ledger="}, "--ledger: it is empty"},
		{[]string{"-C", "", "list"}, "--dir: it is empty"},
		{[]string{"try", ""}, "an argument is empty"},
		{[]string{"history", ""}, "an argument is empty"},
		{[]string{"diff", "HEAD", ""}, "an argument is empty"},
	} {
		stdout, stderr, code := gavel(t, p.folder, tt.args...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) || stdout != "" {
			t.Errorf("gavel %q: exit code %d, stderr %q, stdout %q, want %q", tt.args, code, stderr, stdout, tt.want)
		}
	}
	if asked := p.calls(); len(asked) != 0 {
		t.Errorf("calls %q", asked)
	}
	if stdout, stderr, code := gavel(t, p.folder, "try", "hi", "--system="); code != exitPass {
		t.Errorf("try with an empty system prompt: exit code %d, stderr %q, stdout %q", code, stderr, stdout)
	}
	if stdout, _, code := gavel(t, p.folder, "__complete", "run", ""); code != exitPass || !strings.Contains(stdout, "talk") {
		t.Errorf("completion of an empty word: exit code %d, stdout %q", code, stdout)
	}
	if _, err := os.Stat(filepath.Join(p.folder, "recordings")); err == nil {
		t.Error("a folder recordings was made")
	}
}
