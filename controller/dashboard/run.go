package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// A filter is which cases of a run are shown, and in which order.
type filter struct {
	Kind, Text, Target, Group, Sort string
}

func filterOf(r *http.Request) filter {
	q := r.URL.Query()
	return filter{q.Get("kind"), q.Get("text"), q.Get("target"), q.Get("group"), q.Get("sort")}
}

// values returns the query of a filter.
func (f filter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"kind": f.Kind, "text": f.Text, "target": f.Target, "group": f.Group, "sort": f.Sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// link returns the address of the page with another kind.
func (f filter) link(kind string) string {
	f.Kind = kind
	return "?" + f.values().Encode()
}

// sorts are the orders of cases besides the usual one.
var sorts = map[string]func(a, b *report.Row) int{
	"name":  func(a, b *report.Row) int { return cmp.Compare(a.Name(), b.Name()) },
	"score": func(a, b *report.Row) int { return cmp.Compare(number(a.Score, 2), number(b.Score, 2)) },
	"cost":  func(a, b *report.Row) int { return cmp.Compare(number(b.CostUSD, -1), number(a.CostUSD, -1)) },
	"calls": func(a, b *report.Row) int { return cmp.Compare(b.Calls, a.Calls) },
	"time":  func(a, b *report.Row) int { return cmp.Compare(b.DurationMS, a.DurationMS) },
}

func number(x *float64, otherwise float64) float64 {
	if x == nil {
		return otherwise
	}
	return *x
}

// apply returns the rows that the filter shows, and how many of each kind there would
// be without its kind.
func (f filter) apply(run *stored) (rows []*report.Row, counts map[string]int) {
	words := strings.Fields(strings.ToLower(f.Text))
	counts = map[string]int{}
	for i, row := range run.rows {
		if f.Target != "" && row.Target != f.Target || f.Group != "" && !inGroup(row, f.Group) {
			continue
		}
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(run.words[i], w) }) {
			continue
		}
		counts[run.kinds[i]]++
		if f.Kind == "" || f.Kind == run.kinds[i] {
			rows = append(rows, row)
		}
	}
	if order := sorts[f.Sort]; order != nil {
		slices.SortStableFunc(rows, order)
	}
	return rows, counts
}

// inGroup reports whether a row is in a group, such as math or math/level_2.
func inGroup(row *report.Row, group string) bool {
	path := strings.Join(row.Groups, "/")
	return path == group || strings.HasPrefix(path, group+"/")
}

// A caseRow is one case in the table of a run.
type caseRow struct {
	html.Case
	URL, Cost, Short string
}

// A chip leads to the cases of one kind.
type chip struct {
	html.Kind
	Link string
	On   bool
}

// mostNotices and mostGroups bound the lists above the cases.
const (
	mostNotices = 40
	mostGroups  = 100
	mostOthers  = 40
	mostTargets = 20
	mostOption  = 60 // characters of a run's title in a list to choose from
)

// A runBody is the page of a run.
type runBody struct {
	Run, When, About, Title  string
	Headline, Gate, GateWord string
	Facts                    []html.Fact
	Notices                  []html.Notice
	MoreNotices              int
	Targets                  []html.Target
	TargetsURL               string
	Pages                    []pageLink // of this run
	Tables                   []html.Table
	Filter                   filter
	Chips                    []chip
	Sorts, TargetNames       []string
	All                      string
	Cases                    []caseRow
	Pager                    pager
	CompareURL               string
	Others                   []runRow
	Power                    *powerCurve
}

// first returns the first items of a list, and how many more there are.
func first[T any](all []T, most int) (shown []T, more int) {
	shown = all[:min(len(all), most)]
	return shown, len(all) - len(shown)
}

// run is the page of one run.
func (s *Site) run(r *http.Request) (view, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return view{}, err
	}
	f := filterOf(r)
	if f.Sort != "" && sorts[f.Sort] == nil {
		return view{}, &mistake{fmt.Sprintf("sort=%s is unknown; write name, score, cost, calls or time", f.Sort)}
	}
	rep := run.report
	sections := reporters.Arrange(rep)
	rows, counts := f.apply(run)
	body := runBody{
		Run: run.ID, When: formatRunTime(run.Finished), About: about(run.Run, s.cfg.Repository == ""), Title: s.line(html.Title(rep)),
		Headline: s.line(sections.Headline(rep)), Gate: s.line(rep.Gate.Reason), GateWord: rep.Gate.Result,
		Facts: html.Facts(rep), Notices: html.Notices(rep, html.Options{}), Targets: html.Targets(rep),
		Tables: html.Tables(rep.Groups), Filter: f, Pager: paged(r, len(rows)), All: f.link(""),
		Sorts: []string{"name", "score", "cost", "calls", "time"}, CompareURL: s.cfg.Root + "/compare",
		Pages: s.pagesOf(run), Power: powerOf(rep),
	}
	if n := len(body.Notices); n > mostNotices {
		body.Notices, body.MoreNotices = body.Notices[:mostNotices], n-mostNotices
	}
	for i := range body.Tables {
		table := &body.Tables[i]
		if n := len(table.Rows); n > mostGroups+1 { // the last row is the mean of all
			table.Rows, table.More = append(table.Rows[:mostGroups], table.Rows[n-1]), n-1-mostGroups
		}
	}
	for _, k := range html.Kinds(counts) {
		body.Chips = append(body.Chips, chip{k, f.link(k.Name), f.Kind == k.Name})
	}
	for _, t := range rep.Targets {
		body.TargetNames = append(body.TargetNames, t.Target)
	}
	if len(rep.Targets) > 0 {
		body.TargetsURL = s.runURL(run.ID) + "/targets"
	}
	for _, row := range cut(rows, pageOf(r)) {
		body.Cases = append(body.Cases, s.caseRow(run, row))
	}
	if body.Others, err = s.comparableRuns(r, run.ID); err != nil {
		return view{}, err
	}
	return view{Template: "run", Title: body.Headline, Body: body}, nil
}

// pagesOf returns the further pages of a run that are not empty.
func (s *Site) pagesOf(run *stored) []pageLink {
	pages := []pageLink{{"Timeline", s.runURL(run.ID) + "/timeline"}}
	if layout := html.NewGridLayout(run.report); layout.Matrix() > 0 && layout.Compares() {
		pages = append(pages, pageLink{gridTitle(layout), s.runURL(run.ID) + "/targets"})
	}
	if slices.ContainsFunc(run.rows, func(row *report.Row) bool { return row.Comparison != nil }) {
		pages = append(pages, pageLink{"A/B results", s.runURL(run.ID) + "/ab"})
	}
	if slices.ContainsFunc(run.rows, func(row *report.Row) bool { return len(row.Evaluators) > 1 }) {
		pages = append(pages, pageLink{"Agreement of evaluators", s.runURL(run.ID) + "/judges"})
	}
	return pages
}

// comparableRuns returns the newest runs that a run can be compared with.
func (s *Site) comparableRuns(r *http.Request, run string) ([]runRow, error) {
	found, _, err := ledger.PageRuns(r.Context(), s.cfg.Ledger, s.cfg.Repository, ledger.RunPage{Limit: mostOthers})
	var out []runRow
	var own runRow
	at := -1 // of the run among all
	for _, other := range found {
		row, err := s.runRow(other)
		if err != nil {
			return nil, err
		}
		if other.ID == run {
			own, at = row, len(out)
			continue
		}
		row.Title = textfmt.Clip(row.Title, mostOption)
		out = append(out, row)
	}
	if at >= 0 && at < len(out) {
		out[at+beforeOf(own, out[at:])].Before = true
	}
	return out, err
}

func (s *Site) caseRow(run *stored, row *report.Row) caseRow {
	out := caseRow{Case: html.NewCase(run.report, row, html.Options{}), URL: s.caseURL(run.ID, row.Name())}
	out.Why = textfmt.Clip(out.Why, longestLine)
	out.Short = textfmt.Clip(s.line(cmp.Or(out.Error, out.Reason, out.Remark)), 240)
	if out.Kind == "no verdict" && out.Short+out.Why == "" {
		out.Short = "not affected, and no verdict is stored"
	}
	out.Cost = effort(row)
	return out
}

// effort returns the cost of a case in this run.
func effort(row *report.Row) string {
	switch {
	case row.Calls == 0:
		return ""
	case row.CostUSD == nil || *row.CostUSD == 0:
		return textfmt.Count(row.Calls, "call")
	}
	return textfmt.USD(*row.CostUSD)
}

// runTargets is the grid of a run: tests, and the prompts and targets that they run with.
func (s *Site) runTargets(r *http.Request) (view, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return view{}, err
	}
	layout := html.NewGridLayout(run.report)
	body := struct {
		Run, Title, When, URL, CompareURL string
		Names                             []field // as they are shown, and as they are
		Grids                             []html.Grid
		Pager                             pager
	}{Run: run.ID, Title: gridTitle(layout), When: formatRunTime(run.Finished), URL: s.runURL(run.ID), CompareURL: s.cfg.Root + "/compare", Pager: paged(r, layout.Tests())}
	names, _ := first(comparedTargets(run.report), mostTargets)
	for _, name := range names {
		body.Names = append(body.Names, field{textfmt.Clip(s.line(name), 60), name})
	}
	n := pageOf(r) * perPage
	from, to := min(n, layout.Tests()), min(n+perPage, layout.Tests())
	replies, err := ledger.LastReplies(r.Context(), s.cfg.Ledger, run.Scope(), layout.Digests(from, to))
	if err != nil {
		return view{}, err
	}
	body.Grids = layout.Grids(from, to, redact.Apply(replies, s.cfg.Hide), func(row *report.Row) string { return s.caseURL(run.ID, row.Name()) })
	return view{Template: "matrix", Title: body.Title, Body: body}, nil
}

// comparedTargets returns the targets of the cases that run with several.
func comparedTargets(r *report.Report) []string {
	return slices.DeleteFunc(targetsOf(r), func(name string) bool {
		return !slices.ContainsFunc(r.Cases, func(row report.Row) bool { return row.PerTarget && row.Target == name })
	})
}

func gridTitle(layout *html.GridLayout) string {
	if layout.Matrix() > 0 {
		return "Tests and prompts"
	}
	return "Cases and targets"
}
