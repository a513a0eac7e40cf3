package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sentences are how many facts each section of a format's own document states, in
// the order of the document.
var sentences = map[string][]int{
	"testcase":  {9, 12, 3, 4, 3, 12, 6, 1},
	"promptval": {34},
	"domain":    {4, 9, 12, 5, 7, 2},
	"evalcase":  {7, 4, 6, 4, 4, 6, 4, 5, 2, 3},
}

// A fact is a row of a page.
type fact struct{ number, text, test string }

func factsOf(t *testing.T, format string) []fact {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../examples/facts", format+".md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []fact
	row := regexp.MustCompile(`^\| (\d+\.\d+) \| (.+) \| (.+) \|$`)
	for line := range strings.Lines(string(data)) {
		if m := row.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			out = append(out, fact{m[1], m[2], m[3]})
		}
	}
	return out
}

// TestEverySentenceHasARow holds that the pages have as many facts as the formats'
// documents state, without a gap.
func TestEverySentenceHasARow(t *testing.T) {
	for format, sections := range sentences {
		var want []string
		for i, n := range sections {
			for j := range n {
				want = append(want, fmt.Sprintf("%d.%d", i+1, j+1))
			}
		}
		facts := factsOf(t, format)
		if len(facts) != len(want) {
			t.Errorf("the page of %s has %d facts, want %d", format, len(facts), len(want))
		}
		for i, f := range facts {
			if i < len(want) && f.number != want[i] {
				t.Errorf("the page of %s goes on with %s, want %s", format, f.number, want[i])
				break
			}
		}
	}
}

// TestEveryFactNamesATest holds that the tests on the pages are there. A fact that
// does not hold here says so, and why.
func TestEveryFactNamesATest(t *testing.T) {
	named := regexp.MustCompile("^`([a-z/]+) (Test[A-Za-z0-9_]+)`$")
	for format := range sentences {
		for _, f := range factsOf(t, format) {
			m := named.FindStringSubmatch(f.test)
			switch {
			case strings.HasPrefix(f.test, "not here: "):
			case m == nil:
				t.Errorf("%s %s names %q, want a package and a test", format, f.number, f.test)
			case !hasTest(t, m[1], m[2]):
				t.Errorf("%s %s names %s, which %s does not have", format, f.number, m[2], m[1])
			}
		}
	}
}

// hasTest reports whether a package has a test.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
