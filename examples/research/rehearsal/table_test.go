package rehearsal_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/examples/research/rehearsal"
)

//go:embed table.txt
var table string

// TestTableHolds reads the promise off the kept table: the pipeline makes the same
// calls and says the same as package confirm does in memory, of each pull request.
func TestTableHolds(t *testing.T) {
	var header strings.Builder
	rehearsal.Header(&header)
	body, ok := strings.CutPrefix(table, header.String())
	if !ok {
		t.Fatal("table.txt has another header; run simulate -pipeline again")
	}
	lines := strings.Split(strings.TrimSpace(body), "\n")
	rows := rehearsal.Rows()
	if len(lines) != len(rows) {
		t.Fatalf("table.txt has %d lines for %d rows; run simulate -pipeline again", len(lines), len(rows))
	}
	for i, r := range rows {
		c := r.Cell
		if want := fmt.Sprintf("%-7s %5d %3d %6d %5d ", c.Truth.Name, c.Cases, c.History, c.Broken, r.Pulls); !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
		}
		if !strings.HasSuffix(lines[i], " 0") {
			t.Errorf("%s: some pull requests differ from what is decided in memory", lines[i])
		}
	}
}
