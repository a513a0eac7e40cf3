package reporttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gavel-evals/gavel/reporters"
)

// Stored reads a report of the golden files, for the tests of the reporters
// beside them.
func Stored(tb testing.TB, name string) *reporters.Report {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	var r reporters.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		tb.Fatal(err)
	}
	return &r
}
