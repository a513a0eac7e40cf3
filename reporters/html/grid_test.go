package html

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// gridReport has a file with two prompts and two targets, one with a single prompt, and a
// case of another format.
func gridReport() *report.Report {
	r := &report.Report{Gate: report.Gate{Result: "pass"}}
	add := func(key, target, prompt, vars string, v verdict.Verdict) *report.Row {
		score := 1.0
		row := report.Row{Key: key, Dialect: schema.DialectMatrix, Target: target, PerTarget: true, Prompt: prompt, Vars: vars, Verdict: &v, Score: &score, Digest: key + target}
		r.Cases = append(r.Cases, row)
		return &r.Cases[len(r.Cases)-1]
	}
	add("b/other#rome", "large", "", "", verdict.Pass)
	add("a/caps#france/polite", "large", "polite <answer>", "country: France", verdict.Pass)
	why := "timed out"
	add("a/caps#france/polite", "small", "polite <answer>", "country: France", verdict.Error).Error = &why
	add("a/caps#france/short", "large", "short", "country: France", verdict.Fail).Detail = &report.Detail{
		Messages: []schema.Message{{Role: schema.RoleAssistant, Content: "in the detail"}, {Role: schema.RoleUser, Content: "not an answer"}},
	}
	add("a/caps#italy/short", "large", "", "", verdict.Pass)
	add("suite#one/two", "large", "", "", verdict.Pass).Dialect = schema.DialectEvalcase
	alone := add("suite#three", "tiny", "", "", verdict.Pass) // runs with its own target alone
	alone.Dialect, alone.PerTarget = schema.DialectEvalcase, false
	return r
}

// TestGrid: tests are rows in the table of their file, prompts with targets are columns,
// and a cell has the verdict and the answer.
func TestGrid(t *testing.T) {
	layout := NewGridLayout(gridReport())
	replies := map[string]schema.Message{"a/caps#france/shortlarge": {Role: schema.RoleAssistant, Content: "of a later run"}, "a/caps#france/politelarge": {Role: schema.RoleAssistant, Content: "<think>hm</think>Paris,\nof course. " + strings.Repeat("x", 200)}}
	got := layout.Grids(0, layout.Tests(), replies, func(row *report.Row) string { return "/" + row.Target })
	cell := func(kind, icon, answer, link string) GridCell {
		return GridCell{Kind: kind, Icon: icon, Score: "1.00", Answer: answer, Link: link}
	}
	want := []Grid{
		{
			Title: "a/caps", Columns: []GridColumn{{"polite <answer>", "large"}, {"polite <answer>", "small"}, {"short", "large"}},
			Rows: []GridRow{
				{"france", "country: France", []GridCell{
					cell("pass", "✓", "Paris, of course. "+strings.Repeat("x", 141)+"…", "/large"),
					cell("error", "!", "timed out", "/small"), cell("fail", "✗", "in the detail", "/large"),
				}},
				{"italy", "", []GridCell{{}, {}, cell("pass", "✓", "", "/large")}},
			},
		},
		{Title: "b/other", Columns: []GridColumn{{Target: "large"}}, Rows: []GridRow{{"rome", "", []GridCell{cell("pass", "✓", "", "/large")}}}},
		{Columns: []GridColumn{{Target: "large"}}, Rows: []GridRow{{"suite#one/two", "", []GridCell{cell("pass", "✓", "", "/large")}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tables (-want +got):\n%s", diff)
	}
	if asked := layout.Digests(0, layout.Tests()); slices.Contains(asked, "a/caps#france/shortlarge") || len(asked) != 5 {
		t.Errorf("the replies of %v are looked for, want the 5 without an answer of their own", asked)
	}
	if n := layout.Matrix(); n != 3 {
		t.Errorf("%d tests of the matrix format, want 3", n)
	}
	if part := layout.Grids(1, 2, nil, func(*report.Row) string { return "" }); len(part) != 1 || part[0].Title != "a/caps" || part[0].Rows[0].Name != "italy" {
		t.Errorf("the second test alone is %+v, want italy of a/caps", part)
	}
}

// TestGridOrder: the columns are in the order of the file, and by name in reports without it.
func TestGridOrder(t *testing.T) {
	heads := func(r *report.Report) string {
		layout := NewGridLayout(r)
		var all []string
		for _, c := range layout.Grids(0, 1, nil, func(*report.Row) string { return "" })[0].Columns {
			all = append(all, c.Prompt+" "+c.Target)
		}
		return strings.Join(all, ", ")
	}
	r := gridReport()
	for key, at := range map[string]int{"a/caps#france/short large": 1, "a/caps#italy/short large": 1, "a/caps#france/polite small": 4, "a/caps#france/polite large": 5} {
		for i := range r.Cases {
			if c := &r.Cases[i]; c.Key+" "+c.Target == key {
				c.GridColumn = at
			}
		}
	}
	if got, want := heads(r), "short large, polite <answer> small, polite <answer> large"; got != want {
		t.Errorf("the columns are %s, want %s", got, want)
	}
	if got, want := heads(gridReport()), "polite <answer> large, polite <answer> small, short large"; got != want {
		t.Errorf("without an order the columns are %s, want %s", got, want)
	}
}

// TestGridOnThePage: each cell of the page leads to its case, and hostile names stay text.
func TestGridOnThePage(t *testing.T) {
	text := render(t, gridReport(), Options{})
	for _, want := range []string{`<h2 id="grid">Tests and prompts</h2>`, `<th scope="col">polite &lt;answer&gt;<span class="target">large</span></th>`, `<div class="vars">country: France</div>`, "in the detail"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "suite#one/two</th>") {
		t.Error("the grid has a case of another format")
	}
	_, after, found := strings.Cut(text, `<td data-kind="fail" data-column="short · large"><a class="label" href="#`)
	id, _, _ := strings.Cut(after, `"`)
	_, after, _ = strings.Cut(text, `<details class="case" id="`+id+`" data-kind="fail"`)
	if _, name, _ := strings.Cut(after, `<span class="name">`); !found || !strings.HasPrefix(name, "a/caps#france/short @ large</span>") {
		t.Errorf("the failed cell leads to %s, which is not the failed case", id)
	}
	r := gridReport()
	r.Cases = r.Cases[:1]
	if text := render(t, r, Options{}); strings.Contains(text, "Tests and prompts") {
		t.Error("a page has a grid of one column")
	}
}

// TestGridIsBounded: columns and tests that a page has no room for are counted.
func TestGridIsBounded(t *testing.T) {
	r := &report.Report{}
	pass := verdict.Pass
	for i := range mostTests + 3 {
		for j := range mostColumns + 4 {
			r.Cases = append(r.Cases, report.Row{Key: "f#" + strings.Repeat("t", i+1) + "/" + strings.Repeat("p", j+1), Dialect: schema.DialectMatrix, Verdict: &pass, Digest: "d"})
		}
	}
	text := render(t, r, Options{})
	for _, want := range []string{`<p class="note">and 4 more columns</p>`, `and 3 more tests`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := len(GridDigests(r)); n != mostTests*mostColumns {
		t.Errorf("replies of %d cells are read, want %d", n, mostTests*mostColumns)
	}
}
