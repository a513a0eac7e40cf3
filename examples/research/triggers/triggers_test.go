package triggers_test

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/examples/research/triggers"
)

//go:embed table.txt
var table string

// lines are the rows of the kept table.
func lines(t *testing.T) []string {
	t.Helper()
	_, rest, _ := strings.Cut(table, "(rows)\n")
	kept := strings.Split(strings.TrimSpace(rest), "\n")
	if len(kept) != len(triggers.Rows()) {
		t.Fatalf("table.txt has %d rows; run simulate -triggers again", len(kept))
	}
	return kept
}

// TestTableIsCurrent simulates some of the rows again.
func TestTableIsCurrent(t *testing.T) {
	kept := lines(t)
	for _, i := range []int{0, 1} {
		row := triggers.Rows()[i]
		got, err := row.Run(triggers.Pulls)
		if err != nil {
			t.Fatal(err)
		}
		if line := row.Line(got); line != kept[i] {
			t.Errorf("a line of the table changed; run simulate -triggers again:\n- %s\n+ %s", kept[i], line)
		}
	}
}

// TestTableHolds reads the promises off the kept table. An agent that is right in 80 of 100
// runs gives at most 5 % false alarms, and a skill that no longer triggers is found in 95 %
// or more. One broken query can be found only where it passes at base, which a majority of
// its runs decides, and at most 3 points less are found.
func TestTableHolds(t *testing.T) {
	kept := lines(t)
	for i, row := range triggers.Rows() {
		least, most := 95., 100.
		switch {
		case row.Broken == 0:
			least, most = 0, 5
		case row.Broken == 1:
			least = 100*majority(row.Right, row.Runs) - 3
		}
		called := number(t, kept[i])
		if called < least || called > most {
			t.Errorf("%s: not from %.1f to %.1f", kept[i], least, most)
		}
	}
}

// majority returns the chance that more than half of n runs are right.
func majority(p float64, n int) (chance float64) {
	for k := n/2 + 1; k <= n; k++ {
		ways := 1.
		for i := range k {
			ways = ways * float64(n-i) / float64(i+1)
		}
		chance += ways * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
	}
	return chance
}

// number returns the share of a row that is called.
func number(t *testing.T, line string) (called float64) {
	t.Helper()
	fields := strings.Fields(line)
	called, err := strconv.ParseFloat(fields[len(fields)-2], 64)
	if err != nil {
		t.Fatal(err)
	}
	return called
}
