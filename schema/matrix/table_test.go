package matrix_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTablesOfOtherRows: a row is in its own table and in no other, so that a reason names
// none of the others; they are inputs all the same, for each of them may add a row.
func TestTablesOfOtherRows(t *testing.T) {
	got := cases(t, "prompts: ['{{q}}']\ndefaultTest: file://shared.yaml\ntests: [a.csv, b.csv, file://c.yaml, {vars: {q: four}}, {vars: {q: file://b.csv}}]\n", map[string]string{
		"a.csv": "q\none\n", "b.csv": "q\ntwo\n", "c.yaml": "- vars: {q: three}\n", "shared.yaml": "vars: {k: v}\n",
	})
	var said []string
	for _, c := range got {
		line := c.Origin.File
		for _, in := range c.Inputs {
			line += fmt.Sprintf(" %s=%s", in.File, in.Role)
		}
		said = append(said, line)
	}
	want := []string{
		"a.csv a.csv=tests b.csv=other tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
		"b.csv a.csv=other tests b.csv=tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
		"c.yaml a.csv=other tests b.csv=other tests c.yaml=tests promptfooconfig.yaml=definition shared.yaml=tests",
		"promptfooconfig.yaml a.csv=other tests b.csv=other tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
		"promptfooconfig.yaml a.csv=other tests b.csv=tests c.yaml=other tests promptfooconfig.yaml=definition shared.yaml=tests",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

// TestLargeTable: a table of more than 256 KiB is refused at the place that names it, with
// its size, the bound and the repair.
func TestLargeTable(t *testing.T) {
	table := "q\n" + strings.Repeat("What is one plus one?\n", 12_000)
	got, problems := load(t, "prompts: ['{{q}}']\ntests:\n- big.csv\n", map[string]string{"big.csv": table})
	want := "promptfooconfig.yaml:3:3: error: big.csv cannot be read: it has 264002 bytes and may have 262144; shorten it, or split it into several files and name each"
	if len(got) > 0 || len(problems) != 1 || problems[0].String() != want {
		t.Errorf("%d cases, problems %v, want %s", len(got), problems, want)
	}
}

// TestSettingsOfATable: __metric names the assertions of a row, and a column of __config
// has the threshold of one of them. Neither is of what all tests share.
func TestSettingsOfATable(t *testing.T) {
	got := cases(t, "prompts: ['{{q}}']\ndefaultTest: {assert: [{type: similar, value: x}]}\ntests: t.csv\n", map[string]string{
		"t.csv": "q,__expected1,__expected2,__metric,__config:__expected:threshold,__config:__expected2:threshold\na,similar: b,similar: c,near,0.6,0.9\nd,similar: e,,,,\n",
	})
	var said []string
	for _, c := range got {
		for _, ev := range c.Evaluators {
			said = append(said, fmt.Sprintf("%s %.2g", ev.Name, ev.Rule.Threshold))
		}
	}
	if diff := cmp.Diff([]string{"similar 0.75", "near 0.6", "near 2 0.9", "similar 0.75", "similar 2 0.8"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
