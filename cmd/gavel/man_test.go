package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestTheManual holds that every command has a page with its text, its flags and its
// examples, that no text of a page is an instruction, and that man can read it.
func TestTheManual(t *testing.T) {
	dir := t.TempDir()
	if stdout, stderr, code := gavel(t, dir, "man", "--into", "man1"); code != exitPass {
		t.Fatalf("gavel man --into ends with %d\n%s%s", code, stdout, stderr)
	}
	pages := 0
	var read func(cmd *cobra.Command)
	read = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		file := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		raw, err := os.ReadFile(filepath.Join(dir, "man1", file))
		if err != nil {
			t.Error(err)
			return
		}
		pages++
		for line := range strings.Lines(string(raw)) {
			if macro, _, _ := strings.Cut(strings.TrimSpace(line), " "); line[0] == '\'' || line[0] == '.' && !strings.Contains(" .TH .SH .TP .nf .fi ", " "+macro+" ") {
				t.Errorf("%s has the instruction %q", file, line)
			}
		}
		text := strings.NewReplacer(`\-`, "-", `\e`, `\`, `\&`, "", `\[u2026]`, "…").Replace(string(raw))
		for _, part := range []string{cmd.Short, strings.Trim(cmd.Long, "\n"), strings.Trim(cmd.Example, "\n")} {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not say %q", file, part)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && !strings.Contains(text, `\fB--`+f.Name+`\fR`) {
				t.Errorf("%s does not name --%s", file, f.Name)
			}
		})
		if groff, err := exec.LookPath("groff"); err == nil {
			out, err := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-Tutf8", "-z", filepath.Join(dir, "man1", file)).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("groff reads %s: %v\n%s", file, err, out)
			}
		}
		for _, below := range cmd.Commands() {
			read(below)
		}
	}
	root := rootCommand(&App{})
	read(root)
	if pages < 25 {
		t.Errorf("%d pages were written, want 25 or more", pages)
	}
	stdout, _, _ := gavel(t, dir, "man", "ledger", "gc")
	if written, err := os.ReadFile(filepath.Join(dir, "man1/gavel-ledger-gc.1")); err != nil || string(written) != stdout {
		t.Errorf("gavel man ledger gc prints another page than --into writes: %v\n%s", err, stdout)
	}
	if _, stderr, code := gavel(t, dir, "man", "rum"); code != exitUsage || !strings.Contains(stderr, "did you mean `run`?") {
		t.Errorf("gavel man rum ends with %d and %q", code, stderr)
	}
}
