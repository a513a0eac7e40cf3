package html

import (
	"html/template"
	"iter"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A view is the whole page in words: the template only arranges them.
type view struct {
	Policy string
	Style  template.CSS
	Script template.JS

	// About is the subject of the report with its head's title and its date.
	About                    string
	Headline, Gate, GateWord string
	Facts                    []Fact
	Notices                  []Notice
	Targets                  []Target
	Tables                   []Table
	Grids                    []Grid
	MoreTests                string
	Kinds                    []Kind
	// Total counts the cases.
	Total int
	// Cases are produced one by one, since there may be very many; More counts the
	// omitted ones.
	Cases iter.Seq[caseView]
	More  string
}

// mostCases bounds the cases of a page: browsers cannot open a page with all of them.
const mostCases = 20_000

// A caseView is one row, which may be open.
type caseView struct {
	Case
	ID   string
	Open bool
}

// caseID returns the anchor of a case by its position on the page.
func caseID(i int) string { return "case-" + strconv.Itoa(i+1) }

// mostTests bounds the rows of the grids of a page.
const mostTests = 100

// gridOf arranges the tests of a report that run with several prompts or targets. The
// page shows the first n.
func gridOf(r *report.Report) (layout *GridLayout, n int) {
	layout = NewGridLayout(r)
	if !layout.Compares() {
		return layout, 0
	}
	return layout, min(layout.Matrix(), mostTests)
}

// GridDigests returns the digests of the cases in the grids of a page.
func GridDigests(r *report.Report) []string {
	layout, n := gridOf(r)
	return layout.Digests(0, n)
}

// addGrids adds the grids of a report whose tests run with several prompts or targets.
func (v *view) addGrids(r *report.Report, rows []*report.Row, replies map[string]schema.Message) {
	layout, n := gridOf(r)
	if n == 0 {
		return
	}
	links := map[*report.Row]string{}
	for i, row := range rows {
		links[row] = "#" + caseID(i)
	}
	v.Grids = layout.Grids(0, n, replies, func(row *report.Row) string { return links[row] })
	if more := layout.Matrix() - n; more > 0 {
		v.MoreTests = textfmt.Count(more, "more test")
	}
}

func about(r *report.Report, o Options) string {
	var said []string
	for _, part := range []string{textfmt.Line(o.Subject), Title(r)} {
		if part != "" {
			said = append(said, part)
		}
	}
	if !o.At.IsZero() {
		said = append(said, o.At.UTC().Format("2 January 2006, 15:04 UTC"))
	}
	return strings.Join(said, " · ")
}

func newView(r *report.Report, o Options) *view {
	sections := reporters.Arrange(r)
	v := &view{
		About:    about(r, o),
		Headline: textfmt.Line(sections.Headline(r)),
		Gate:     textfmt.Line(r.Gate.Reason),
		GateWord: r.Gate.Result,
		Facts:    Facts(r),
		Notices:  Notices(r, o),
		Targets:  Targets(r),
		Tables:   Tables(r.Groups),
	}
	rows, blocking := Rows(r)
	counts := map[string]int{}
	shared := reporters.SharedErrors(rows)
	for _, row := range rows {
		counts[KindOf(row)]++
	}
	v.Kinds, v.Total = Kinds(counts), len(rows)
	if more := len(rows) - mostCases; more > 0 {
		v.More = textfmt.Count(more, "more case")
		rows = rows[:mostCases]
	}
	v.addGrids(r, rows, o.Replies)
	v.Cases = func(yield func(caseView) bool) {
		for i, row := range rows {
			c := caseView{Case: NewCase(r, row, o), ID: caseID(i)}
			if said := shared[row]; said != "" {
				c.Error, c.Remark = textfmt.Clean(said), ""
			}
			c.Open = i == 0 && blocking > 0 && (len(c.Turns) > 0 || len(c.Criteria) > 0)
			if !yield(c) {
				return
			}
		}
	}
	return v
}
