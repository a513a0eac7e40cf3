// Package golden compares a test's output with a reviewed file. Every test that imports
// it has the flag -update, which rewrites the files.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files and recordings")

// Update reports whether files are to be rewritten.
func Update() bool { return *update }

// Compare fails the test if the text differs from the file, which -update rewrites
// first.
func Compare(tb testing.TB, file, got string) {
	tb.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		tb.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}
