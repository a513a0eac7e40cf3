package reporttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
)

// Stored reads a report of the golden files of controller/report, for the tests
// of the reporters.
func Stored(tb testing.TB, name string) *report.Report {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "controller", "report", "testdata", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		tb.Fatal(err)
	}
	return &r
}
