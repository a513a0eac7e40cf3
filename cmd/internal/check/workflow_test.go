package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	uses   = regexp.MustCompile(`(?m)^[ -]*uses: *(.*)$`)
	pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	// least is a token that may read the contents, or nothing but what a job asks for.
	least = regexp.MustCompile(`(?m)^permissions:(?:\n  contents: read\n(?:\S|\n)| \{\}$)`)
)

// TestActionlint finds a mistake in a workflow, and demands that there is one.
func TestActionlint(t *testing.T) {
	write := func(dir, name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const good = "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: \"true\"\n"
	for _, test := range []struct{ name, text, want string }{
		{"right", good, ""},
		{"with an unknown key", good + "    colour: red\n", `unexpected key "colour"`},
		{"missing", "", "examples/workflow has no workflow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(root, ".github/workflows/a.yml", good)
			if test.text != "" {
				write(root, "examples/workflow/b.yml", test.text)
			}
			// The tool is one of this module.
			mod, err := filepath.Abs("../../../go.mod")
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -modfile="+mod)
			write(root, "go.mod", "module example.com/a\n")
			err = workflows(t.Context(), root, nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// A workflow names its actions by commit and says what its token may do: what
// a tag names can change, and a token without a word on it may write.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := uses.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s uses no action", file)
		}
		for _, m := range found {
			if !pinned.Match(m[1]) {
				t.Errorf("%s: %s is not named by a commit with its version behind it", file, m[1])
			}
		}
		if !least.Match(text) {
			t.Errorf("%s does not limit its token to reading the contents", file)
		}
	}
}
