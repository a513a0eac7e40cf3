package statements_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/examples/research/statements"
)

//go:embed table.txt
var table string

// section are the lines of a section of the kept table, after its heading.
func section(t *testing.T, name string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(table, "("+name+")\n")
	if !ok {
		t.Fatalf("table.txt has no section %q", name)
	}
	lines, _, _ := strings.Cut(rest, "\n\n")
	return strings.Split(strings.TrimRight(lines, "\n"), "\n")
}

// TestTableIsCurrent simulates some of the suites again.
func TestTableIsCurrent(t *testing.T) {
	lines := section(t, "suites")[1:]
	if len(lines) != statements.Listed || !strings.HasPrefix(table, fmt.Sprintf("%d suites ", statements.Suites)) {
		t.Fatalf("table.txt has %d suites; run simulate -power again", len(lines))
	}
	for _, i := range []int{0, 3, 6} { // the small ones
		if got := statements.New(t.Context(), i).Line(i); got != lines[i] {
			t.Errorf("a line of the table changed; run simulate -power again:\n- %s\n+ %s", lines[i], got)
		}
	}
}

// TestTableHolds reads the promise off the kept table: over 1,000 suites the stated and the
// true chances differ by less than 0.05 in the mean, and by less than 0.10 in 90 %.
func TestTableHolds(t *testing.T) {
	lines := section(t, "apart")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want one for each way", len(lines))
	}
	for _, line := range lines {
		var name string
		var mean, distance, within float64
		if _, err := fmt.Sscanf(line, "%s %f %f %f", &name, &mean, &distance, &within); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if distance >= .05 || mean <= -.05 || mean >= .05 || within < 90 {
			t.Errorf("%s: %v in the mean, %v apart, %v %% within 0.10", name, mean, distance, within)
		}
	}
}
