package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	// block is a fenced block with the line before it.
	block = regexp.MustCompile("(?ms)^([^\\n]*)\\n\\n```([a-z]+)\\n(.*?)^```$")
	// toWrite is the file that such a line says to write.
	toWrite = regexp.MustCompile("`([^`]+)`:$")
)

// tutorial turns a page into a script: files that it says to write are written, and
// commands are run. Lines below a command are in its output.
func tutorial(t *testing.T, page string) string {
	t.Helper()
	var script, files strings.Builder
	for i, found := range block.FindAllStringSubmatch(page, -1) {
		before, kind, text := found[1], found[2], found[3]
		if kind != "console" {
			name := toWrite.FindStringSubmatch(before)
			if name == nil {
				t.Fatalf("the block after %q is neither a file nor commands", before)
			}
			fmt.Fprintf(&script, "mkdir %s\ncp file%d %s\n", filepath.ToSlash(filepath.Dir(name[1])), i, name[1])
			fmt.Fprintf(&files, "-- file%d --\n%s", i, text)
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			command, isCommand := strings.CutPrefix(line, "$ ")
			if !isCommand {
				fmt.Fprintf(&script, "stdout '%s'\n", regexp.QuoteMeta(line))
				continue
			}
			command, _, fails := strings.Cut(command, "    # ends with 1")
			if fails {
				script.WriteString("! ")
			}
			script.WriteString("exec " + strings.ReplaceAll(command, `"`, "'") + "\n")
		}
	}
	return script.String() + files.String()
}

// TestPagesOfCommands runs every command of the pages that are read with a terminal
// open, each in an empty folder.
func TestPagesOfCommands(t *testing.T) {
	if ok, err := condition("isolated"); err != nil || !ok {
		t.Skip("this machine cannot isolate programs")
	}
	for _, name := range []string{"tutorial", "coming-from-promptfoo"} {
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile("../../examples/" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), name+".txtar")
			if err := os.WriteFile(file, []byte(tutorial(t, string(page))), 0o600); err != nil {
				t.Fatal(err)
			}
			testscript.Run(t, testscript.Params{Files: []string{file}, Setup: setupScript})
		})
	}
}
