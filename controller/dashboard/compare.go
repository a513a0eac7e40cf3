package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/stats"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/html"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// compareURL returns the address of a comparison below the root.
func compareURL(a, b string) string { return "/compare?" + url.Values{"a": {a}, "b": {b}}.Encode() }

// commitName is a commit, or how it begins.
var commitName = lazyregexp.New(`^([0-9a-f]{7,40}|worktree)$`)

// find returns a run by its id, or the newest run of a commit or the working tree.
func (s *Site) find(r *http.Request, name string) (*stored, error) {
	if commitName.MatchString(name) {
		id, err := ledger.RunOfCommit(r.Context(), s.cfg.Ledger, s.cfg.Repository, name)
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

// A change is the difference of one case between two runs: worse, better, score,
// changed, in an error, skipped or found in only one of them, or same.
type change struct {
	a, b *report.Row
	kind string
}

// changeKinds are the kinds in the order in which they are shown.
var changeKinds = []string{
	"worse", "error here", "error before", "not run here", "not run before", "better", "lower", "higher", "skipped here", "skipped before", "only here", "only before", "same",
}

// rank orders verdicts from good to bad; 0 for other words.
var rank = map[verdict.Verdict]int{verdict.Pass: 1, verdict.Borderline: 2, verdict.Fail: 3}

// The states of a case in a run other than judged.
const (
	stateNone    = "" // it has no row, or nobody looked at it
	stateError   = "error"
	stateUnrun   = "not run"
	stateSkipped = "skipped"
	stateJudged  = "judged"
)

// weight has the states of a case with a row, by how little they say about it.
var weight = map[string]int{stateError: 3, stateUnrun: 2, stateSkipped: 1, stateJudged: 0}

func stateOf(row *report.Row) string {
	switch {
	case row == nil:
		return stateNone
	case row.Unrun():
		return stateUnrun
	case row.Error != nil || row.Verdict != nil && *row.Verdict == verdict.Error:
		return stateError
	case row.Verdict == nil:
		return stateNone
	case *row.Verdict == verdict.Skipped:
		return stateSkipped
	}
	return stateJudged
}

func kindOfChange(a, b *report.Row) string {
	switch was, is := stateOf(a), stateOf(b); {
	case was == is && is != stateJudged:
		return "same"
	case is == stateNone:
		return "only before"
	case was == stateNone:
		return "only here"
	case weight[is] > weight[was]:
		return is + " here"
	case was != stateJudged:
		return was + " before"
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

// A subject is a run, or the part of it with one target, that is compared with another.
type subject struct {
	*stored
	// target is empty for the whole run.
	target string
}

// cases returns the cases of the subject by the key of the comparison: their name or, if
// targets are compared, their key. The order comes from the report.
func (x subject) cases() (names []string, rows map[string]*report.Row) {
	rows = make(map[string]*report.Row, len(x.report.Cases))
	for i := range x.report.Cases {
		row := &x.report.Cases[i]
		name := row.Name()
		if x.target != "" { // the other side has another target
			name = row.Key
		}
		if x.target == "" || row.Target == x.target {
			names, rows[name] = append(names, name), row
		}
	}
	return names, rows
}

// subjectOf returns the part of the run with an id or commit that has this target.
func (s *Site) subjectOf(r *http.Request, run, target string) (subject, error) {
	found, err := s.find(r, run)
	if err != nil {
		return subject{}, err
	}
	if target != "" && !slices.Contains(targetsOf(found.report), target) {
		return subject{}, &mistake{fmt.Sprintf("run %s has no target %s; %s", found.ID, textfmt.Clip(s.line(target), 100), knownTargets(found.report))}
	}
	return subject{found, target}, nil
}

// targetsOf returns the names of the targets of a report's cases, in their order.
func targetsOf(r *report.Report) []string {
	var names []string
	seen := map[string]bool{}
	for i := range r.Cases {
		if name := r.Cases[i].Target; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// knownTargets lists the accepted names.
func knownTargets(r *report.Report) string {
	names := targetsOf(r)
	return "write one of " + textfmt.Clip(textfmt.Line(strings.Join(names, ", ")), 200)
}

// changes returns the changes of all cases of two subjects, by kind and then by name.
func changes(a, b subject) []change {
	var out []change
	wasNames, was := a.cases()
	isNames, is := b.cases()
	for _, name := range isNames {
		out = append(out, change{was[name], is[name], kindOfChange(was[name], is[name])})
	}
	for _, name := range wasNames {
		if is[name] == nil {
			out = append(out, change{was[name], nil, "only before"})
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
	a, err := s.subjectOf(r, q.Get("a"), q.Get("target_a"))
	if err != nil {
		return view{}, err
	}
	b, err := s.subjectOf(r, q.Get("b"), q.Get("target_b"))
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
	title := "Comparison of two runs"
	if a.target != "" || b.target != "" {
		title = "Comparison of two targets"
	}
	body := struct {
		Title, Text, Kind, Difference string
		Sides                         []sideView
		Hidden                        []field
		Chips                         []chip
		All                           string
		Rows                          []changeRow
		Pager                         pager
	}{
		Title: title, Text: q.Get("text"), Kind: kind, Difference: meanDifference(all), Sides: []sideView{s.side("before", a), s.side("after", b)},
		Hidden: fieldsOf(a, b), Pager: paged(r, len(shown)),
	}
	link := func(kind string) string {
		next := url.Values{}
		for _, f := range append(body.Hidden, field{"kind", kind}) {
			if f.Value != "" {
				next.Set(f.Name, f.Value)
			}
		}
		return "?" + next.Encode()
	}
	body.All = link("")
	for _, k := range changeKinds {
		if tally[k] > 0 {
			body.Chips = append(body.Chips, chip{html.Kind{Name: k, Count: tally[k]}, link(k), k == kind})
		}
	}
	for _, c := range cut(shown, pageOf(r)) {
		body.Rows = append(body.Rows, s.changeRow(c, a, b))
	}
	return view{Template: "compare", Title: title, Body: body}, nil
}

// A field is a parameter of an address.
type field struct{ Name, Value string }

// fieldsOf returns the parameters that name the two sides.
func fieldsOf(a, b subject) []field {
	return slices.DeleteFunc([]field{{"a", a.ID}, {"b", b.ID}, {"target_a", a.target}, {"target_b", b.target}}, func(f field) bool { return f.Value == "" })
}

// meanDifference returns the mean difference of the scores of cases that have one on
// both sides; empty if there is no such case.
func meanDifference(all []change) string {
	var deltas []float64
	for _, c := range all {
		if c.a != nil && c.b != nil && c.a.Score != nil && c.b.Score != nil {
			deltas = append(deltas, *c.b.Score-*c.a.Score)
		}
	}
	if len(deltas) == 0 {
		return ""
	}
	return fmt.Sprintf("%s on average over %s with a score on both sides", textfmt.Signed(stats.Mean(deltas), 3), textfmt.Count(len(deltas), "case"))
}

// A sideView is one of two runs or targets that are compared.
type sideView struct{ Name, Run, URL, When, Head, Target, Gate, Counts, Score, Of string }

func (s *Site) side(name string, x subject) sideView {
	sum := x.report.Summary
	out := sideView{
		Name: name, Run: x.ID, URL: s.runURL(x.ID), When: formatRunTime(x.Finished), Head: s.headOf(x.Head, x.report.Branch),
		Gate: x.report.Gate.Result, Counts: counts(sum), Score: textfmt.Score(sum.Score, 3), Of: judgedOf(sum),
	}
	if x.target == "" {
		return out
	}
	out.Target, out.Gate, out.Score, out.Counts, out.Of = s.line(x.target), "", "", "", ""
	for _, t := range x.report.Targets {
		if t.Target == x.target {
			sum := report.Summary{Verdicts: t.Verdicts}
			out.Score, out.Counts, out.Of = textfmt.Score(t.Score, 3), counts(sum), judgedOf(sum)
		}
	}
	return out
}

func (c change) name() string {
	if c.b != nil {
		return c.b.Name()
	}
	return c.a.Name()
}

func (s *Site) changeRow(c change, a, b subject) changeRow {
	out := changeRow{Kind: c.kind, Name: s.line(c.name()), Before: outcome(c.a), After: outcome(c.b)}
	out.URL = s.caseURL(b.ID, c.name())
	row := c.b
	if row == nil {
		row, out.URL = c.a, s.caseURL(a.ID, c.name())
	}
	if a.target != "" && b.target != "" {
		out.Name = s.line(row.Key)
	}
	out.Reason = textfmt.Clip(s.line(row.VerdictReason), 200)
	if row.Error != nil {
		out.Reason = textfmt.Clip(s.line(*row.Error), 200)
	}
	if c.a != nil && c.b != nil && c.a.Score != nil && c.b.Score != nil && *c.a.Score != *c.b.Score {
		d := *c.b.Score - *c.a.Score
		out.Delta, out.Worse, out.Better = textfmt.Signed(d*c.b.Scale(), 2), d < 0, d > 0
	}
	return out
}

// outcome returns the verdict of a row with its score.
func outcome(row *report.Row) string {
	switch {
	case row == nil:
		return "–"
	case row.Unrun():
		return stateUnrun
	case row.Verdict == nil && row.Error != nil:
		return stateError
	case row.Verdict == nil:
		return "no verdict"
	case row.Score == nil:
		return string(*row.Verdict)
	}
	return fmt.Sprintf("%s %s", *row.Verdict, textfmt.OutOf(row.Score, row.Scale()))
}
