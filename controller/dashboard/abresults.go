package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// An abRow is the comparison of two prompts by one case.
type abRow struct {
	Name, URL, Winner, Preferences, Pairs, Error string
	Score                                        differenceView
	Criteria                                     []differenceView
	More                                         int // criteria
}

// A differenceView is a score under both prompts with its difference, drawn from −1 to
// 1. Low and High are empty if it has no interval.
type differenceView struct {
	Name, A, B, Delta, Interval string
	X, Low, High                string
	Drawn                       bool
}

// forestMiddle is the position of 0 in the drawing of a difference, and half of its
// width.
const forestMiddle = 60

// runAB is the page of the A/B tests of a run: how each compared its two prompts.
func (s *Site) runAB(r *http.Request) (view, error) {
	run, err := s.reports.get(r.Context(), r.PathValue("run"))
	if err != nil {
		return view{}, err
	}
	rows := compared(run.report)
	body := struct {
		URL, When string
		Won       []outcomeCount
		Rows      []abRow
		Pager     pager
	}{s.runURL(run.ID), formatRunTime(run.Finished), won(rows), nil, paged(r, len(rows))}
	for _, row := range cut(rows, pageOf(r)) {
		body.Rows = append(body.Rows, s.abRow(run, row))
	}
	return view{Template: "ab", Title: "A/B results", Body: body}, nil
}

// compared returns the rows that compare two prompts.
func compared(r *report.Report) []*report.Row {
	var rows []*report.Row
	for i := range r.Cases {
		if r.Cases[i].Comparison != nil {
			rows = append(rows, &r.Cases[i])
		}
	}
	return rows
}

// An outcomeCount is how many A/B tests ended in one way.
type outcomeCount struct {
	Text string
	N    int
}

// won counts how the tests ended.
func won(rows []*report.Row) []outcomeCount {
	out := []outcomeCount{{"A is better", 0}, {"B is better", 0}, {"no clear winner", 0}}
	for _, row := range rows {
		out[max(0, slices.Index([]string{"A", "B", ""}, row.Comparison.Winner))].N++
	}
	return out
}

func (s *Site) abRow(run *stored, row *report.Row) abRow {
	c := row.Comparison
	out := abRow{
		Name: s.line(row.Name()), URL: s.caseURL(run.ID, row.Name()), Winner: cmp.Or(c.Winner, "no clear winner"),
		Pairs: textfmt.Int(int64(c.Pairs)), Error: s.line(c.Error),
	}
	if c.Errors > 0 {
		out.Error = textfmt.Count(c.Errors, "pair") + " not judged: " + out.Error
	}
	if p := c.Preferences; p != nil {
		out.Preferences = fmt.Sprintf("A %d, B %d, %s, p = %.3f", p.A, p.B, textfmt.Count(p.Ties, "tie"), p.P)
	}
	if c.Score != nil {
		out.Score = s.difference(*c.Score, row.Scale())
	}
	criteria, more := first(c.Criteria, mostCriteria)
	out.More = more
	for _, d := range criteria {
		out.Criteria = append(out.Criteria, s.difference(d, row.Scale()))
	}
	return out
}

// difference puts a difference into words and on a line from −1 to 1.
func (s *Site) difference(d verdict.Difference, scale float64) differenceView {
	x := func(delta float64) string { return pixels(forestMiddle + max(-1, min(1, delta))*(forestMiddle-4)) }
	out := differenceView{
		Name: s.line(cmp.Or(d.ID, d.Evaluator)), A: textfmt.OutOf(&d.A, scale), B: textfmt.OutOf(&d.B, scale),
		Delta: textfmt.Signed(d.Delta*scale, 2), X: x(d.Delta), Drawn: true,
	}
	if d.Low != nil && d.High != nil {
		out.Low, out.High = x(*d.Low), x(*d.High)
		out.Interval = textfmt.Signed(*d.Low*scale, 2) + " to " + textfmt.Signed(*d.High*scale, 2)
	}
	return out
}
