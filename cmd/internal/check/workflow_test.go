package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	uses   = regexp.MustCompile(`(?m)^[ -]*uses: *(.*)$`)
	pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	least  = regexp.MustCompile(`(?m)^permissions:\n  contents: read\n(?:\S|\n)`)
)

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
