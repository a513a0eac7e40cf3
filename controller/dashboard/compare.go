package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/ledger/browse"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/html/parts"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// compareURL is the address of a comparison below the root.
func compareURL(a, b string) string { return "/compare?" + url.Values{"a": {a}, "b": {b}}.Encode() }

// commitName is a commit, or how it begins.
var commitName = regexp.MustCompile(`^([0-9a-f]{7,40}|worktree)$`)

// find returns a run by its id, or the newest run of a commit or the working tree.
func (s *Site) find(r *http.Request, name string) (*stored, error) {
	if commitName.MatchString(name) {
		id, err := browse.RunOfCommit(r.Context(), s.cfg.Ledger, s.cfg.Repository, name)
		if err != nil {
			return nil, err
		}
		if id != "" {
			name = id
		}
	}
	if name == "" {
		return nil, &mistake{"a comparison needs two runs; write /compare?a=RUN&b=RUN, each the id of a run or a commit"}
	}
	return s.reports.get(r.Context(), name)
}

// A change is how one case differs between two runs: worse, better, score, changed,
// only in one of them, or same.
type change struct {
	a, b *report.Row
	kind string
}

// changeKinds are the kinds in the order in which they are shown.
var changeKinds = []string{"worse", "better", "lower", "higher", "only here", "only before", "same"}

// rank orders verdicts from good to bad; 0 for those that are none.
var rank = map[verdict.Verdict]int{verdict.Pass: 1, verdict.Borderline: 2, verdict.Fail: 3}

func kindOfChange(a, b *report.Row) string {
	switch {
	case a == nil || a.Verdict == nil && b != nil && b.Verdict != nil:
		return "only here"
	case b == nil || b.Verdict == nil && a.Verdict != nil:
		return "only before"
	case a.Verdict == nil:
		return "same"
	}
	if was, is := rank[*a.Verdict], rank[*b.Verdict]; was != 0 && is != 0 && was != is {
		if is > was {
			return "worse"
		}
		return "better"
	}
	switch {
	case a.Score == nil || b.Score == nil || *a.Score == *b.Score:
		return "same"
	case *b.Score < *a.Score:
		return "lower"
	}
	return "higher"
}

// changes are those of every case of two runs, by kind and then by name.
func changes(a, b *stored) []change {
	var out []change
	for i := range b.report.Cases {
		row := &b.report.Cases[i]
		before := a.byName[row.Name()]
		out = append(out, change{before, row, kindOfChange(before, row)})
	}
	for i := range a.report.Cases {
		if row := &a.report.Cases[i]; b.byName[row.Name()] == nil {
			out = append(out, change{row, nil, "only before"})
		}
	}
	slices.SortStableFunc(out, func(x, y change) int {
		return slices.Index(changeKinds, x.kind) - slices.Index(changeKinds, y.kind)
	})
	return out
}

// A changeRow is a change in words.
type changeRow struct {
	Kind, Name, URL string
	Before, After   string
	Delta           string
	Worse, Better   bool
	Reason          string
}

// compare is the comparison of two runs.
func (s *Site) compare(r *http.Request) (view, error) {
	q := r.URL.Query()
	a, err := s.find(r, q.Get("a"))
	if err != nil {
		return view{}, err
	}
	b, err := s.find(r, q.Get("b"))
	if err != nil {
		return view{}, err
	}
	all := changes(a, b)
	tally := map[string]int{}
	for _, c := range all {
		tally[c.kind]++
	}
	text, kind := strings.Fields(strings.ToLower(q.Get("text"))), q.Get("kind")
	shown := slices.DeleteFunc(slices.Clone(all), func(c change) bool {
		name := strings.ToLower(c.name())
		return kind == "" && c.kind == "same" || kind != "" && c.kind != kind ||
			slices.ContainsFunc(text, func(w string) bool { return !strings.Contains(name, w) })
	})
	body := struct {
		A, B, Text, Kind string
		Sides            []sideView
		Chips            []chip
		All              string
		Rows             []changeRow
		Pager            pager
	}{A: a.ID, B: b.ID, Text: q.Get("text"), Kind: kind, Sides: []sideView{s.side("before", a), s.side("after", b)}, Pager: paged(r, len(shown))}
	link := func(kind string) string {
		next := url.Values{"a": {a.ID}, "b": {b.ID}}
		if kind != "" {
			next.Set("kind", kind)
		}
		return "?" + next.Encode()
	}
	body.All = link("")
	for _, k := range changeKinds {
		if tally[k] > 0 {
			body.Chips = append(body.Chips, chip{parts.Kind{Name: k, Count: tally[k]}, link(k), k == kind})
		}
	}
	for _, c := range cut(shown, pageOf(r)) {
		body.Rows = append(body.Rows, s.changeRow(c, a, b))
	}
	return view{Template: "compare", Title: "Comparison of two runs", Body: body}, nil
}

// A sideView is one of two runs that are compared.
type sideView struct{ Name, Run, URL, When, Head, Gate, Counts, Score string }

func (s *Site) side(name string, run *stored) sideView {
	sum := run.report.Summary
	return sideView{
		Name: name, Run: run.ID, URL: s.runURL(run.ID), When: when(run.Finished), Head: parts.ShortCommit(run.Head),
		Gate: run.report.Gate.Result, Counts: counts(sum), Score: textfmt.Score(sum.Score, 3),
	}
}

func (c change) name() string {
	if c.b != nil {
		return c.b.Name()
	}
	return c.a.Name()
}

func (s *Site) changeRow(c change, a, b *stored) changeRow {
	out := changeRow{Kind: c.kind, Name: s.line(c.name()), Before: outcome(c.a), After: outcome(c.b)}
	out.URL = s.caseURL(b.ID, c.name())
	row := c.b
	if row == nil {
		row, out.URL = c.a, s.caseURL(a.ID, c.name())
	}
	out.Reason = textfmt.Clip(s.line(row.VerdictReason), 200)
	if c.a != nil && c.b != nil && c.a.Score != nil && c.b.Score != nil && *c.a.Score != *c.b.Score {
		d := *c.b.Score - *c.a.Score
		out.Delta, out.Worse, out.Better = textfmt.Signed(d*c.b.Scale(), 2), d < 0, d > 0
	}
	return out
}

// outcome is the verdict of a row with its score.
func outcome(row *report.Row) string {
	switch {
	case row == nil:
		return "–"
	case row.Verdict == nil && row.Error != nil:
		return "error"
	case row.Verdict == nil:
		return "no verdict"
	case row.Score == nil:
		return string(*row.Verdict)
	}
	return fmt.Sprintf("%s %s", *row.Verdict, textfmt.OutOf(row.Score, row.Scale()))
}
