package html

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/attempts"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A view is the whole page in words: the template only arranges them.
type view struct {
	Policy string
	Style  template.CSS
	Script template.JS

	Headline, Gate, GateWord string
	Facts                    []fact
	Notices                  []notice
	Targets                  []targetView
	Tables                   []table
	Kinds                    []kind
	Cases                    []caseView
}

// A fact is one number of the header with what it is.
type fact struct{ Name, Value, Remark string }

// A notice is something to know before the result is trusted.
type notice struct {
	Severity, Where, Link, Text string
}

// A kind is a button of the filter: a class of cases and how many there are.
type kind struct {
	Name  string
	Count int
}

// A caseView is one row.
type caseView struct {
	Kind, Icon, Label, Name string
	Key                     string
	Score, BaseScore, Delta string
	Worse, Better           bool
	Where, Link             string
	Reason, Error, Why      string
	Remark                  string
	Facts                   []fact
	Turns                   []turn
	Criteria                []criterion
	HasBase                 bool
	Attempts                []string
	// Again are the further measurements of both sides.
	Again string
	Curve template.HTML
	Open  bool
}

// A turn is one message of the conversation.
type turn struct {
	Number     int
	Role, Text string
	Calls      []call
}

// A call is a tool call in a turn.
type call struct{ Name, Arguments string }

// A criterion is one line of the table of criteria.
type criterion struct {
	Name, Base, Head, Note string
	Worse                  bool
}

func newView(r *report.Report, o Options) *view {
	sections := reporters.Arrange(r)
	v := &view{
		Headline: textfmt.Line(sections.Headline(r)),
		Gate:     textfmt.Line(r.Gate.Reason),
		GateWord: r.Gate.Result,
		Facts:    facts(r, o),
		Targets:  targets(r),
		Tables:   tables(r.Groups),
	}
	v.notices(r, o)
	shown := slices.Concat(sections.Blocking, sections.Also, sections.Planned)
	seen := map[*report.Row]bool{}
	for _, row := range shown {
		seen[row] = true
	}
	for i := range r.Cases {
		if row := &r.Cases[i]; !seen[row] {
			shown = append(shown, row)
		}
	}
	for i, row := range shown {
		c := newCase(r, row, o)
		c.Open = i == 0 && len(sections.Blocking) > 0 && (len(c.Turns) > 0 || len(c.Criteria) > 0)
		v.Cases = append(v.Cases, c)
	}
	v.kinds()
	return v
}

// A targetView is one target over the same cases as the others.
type targetView struct{ Target, Score, Delta, Counts, Difference string }

func targets(r *report.Report) []targetView {
	var out []targetView
	for _, t := range r.Targets {
		v := targetView{Target: textfmt.Line(t.Target), Score: textfmt.Score(t.Score, 2), Counts: t.Counts(), Difference: t.Difference()}
		if t.Delta != nil {
			v.Delta = textfmt.Signed(*t.Delta, 2)
		}
		out = append(out, v)
	}
	return out
}

func facts(r *report.Report, o Options) []fact {
	var out []fact
	switch d := r.Diff; {
	case d.Delta != nil:
		out = append(out, fact{"score", textfmt.Score(d.ScoreBase, 3) + " → " + textfmt.Score(d.ScoreHead, 3), reporters.Difference(d)})
	case r.Summary.Score != nil:
		out = append(out, fact{"score", textfmt.Score(r.Summary.Score, 3), strings.TrimPrefix(reporters.DespiteFailures(r, r.Summary.Score), ", ")})
	}
	out = append(out, fact{"cases", textfmt.Int(int64(r.Summary.Cases)), reporters.Effort(r)})
	calls, rest, _ := strings.Cut(reporters.Cost(r), ", ")
	out = append(out, fact{"effort", calls, rest})
	if r.Head != nil {
		against := ""
		if r.Base != nil {
			against = "against " + shortCommit(*r.Base)
		}
		out = append(out, fact{"commit", shortCommit(*r.Head), against})
	}
	return out
}

func shortCommit(name string) string {
	if len(name) == 40 {
		return name[:7]
	}
	return name
}

func (v *view) notices(r *report.Report, o Options) {
	for _, p := range r.Problems {
		text := p.Message
		if p.Hint != "" {
			text += "; " + p.Hint
		}
		v.Notices = append(v.Notices, notice{string(p.Severity), place(p.File, p.Line), blob(r.Head, o, p.File, p.Line), textfmt.Line(text)})
	}
	for _, n := range r.Notices {
		side := r.Head
		if n.AtBase {
			side = r.Base
		}
		text := n.Message
		if n.Case != "" {
			text = n.Case + " " + text
		}
		v.Notices = append(v.Notices, notice{"warning", place(n.File, n.Line), blob(side, o, n.File, n.Line), textfmt.Line(text)})
	}
}

func place(file string, line int) string {
	file = textfmt.Line(file)
	if file == "" || line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

func blob(commit *string, o Options, file string, line int) string {
	if commit == nil {
		return ""
	}
	return comment.Blob(o.RepositoryURL, *commit, file, line)
}

func newCase(r *report.Report, row *report.Row, o Options) caseView {
	c := caseView{
		Name:   textfmt.Line(row.Name()),
		Key:    textfmt.Line(row.Key),
		Kind:   kindOf(row),
		Where:  place(row.File, row.Line),
		Reason: textfmt.Clean(row.VerdictReason),
		Why:    textfmt.Line(reporters.Why(r, row)),
		Remark: textfmt.Clean(reporters.Remark(row)),
		Curve:  curve(o.History[row.Name()]),
	}
	c.Icon, c.Label = icons[c.Kind], c.Kind
	side := r.Head
	if row.Withdrawn == report.WithdrawnRemoved || row.Class != nil && *row.Class == report.Gone {
		side = r.Base
	}
	c.Link = blob(side, o, row.File, row.Line)
	if row.Error != nil {
		c.Error = textfmt.Clean(*row.Error)
	}
	scale := row.NativeScale()
	c.Score = score(row.Score, row.Scale())
	if row.BaseScore != nil && (row.Score == nil || *row.Score != *row.BaseScore) {
		c.BaseScore = score(row.BaseScore, row.Scale())
	}
	if row.Score != nil && row.BaseScore != nil && *row.Score != *row.BaseScore {
		c.Delta = textfmt.Signed(*row.Score-*row.BaseScore, 2)
		c.Worse, c.Better = *row.Score < *row.BaseScore, *row.Score > *row.BaseScore
	}
	c.Facts = caseFacts(row)
	if row.Detail != nil {
		c.Turns = turns(row.Detail.Messages)
		c.criteria(row.Detail.Criteria, scale)
	}
	if row.Confirmation.Measured() {
		c.Again = row.Confirmation.Series()
		if said := reporters.Remeasured(row); said != c.Remark {
			c.Again += ": " + textfmt.Clean(said)
		}
	}
	if row.Retried() {
		c.Attempts = attempts.New(row.Attempts, row.Comparison).Lines(row.Scale())
		for i, line := range c.Attempts {
			c.Attempts[i] = textfmt.Clean(line)
		}
	}
	return c
}

func score(x *float64, scale float64) string {
	if x == nil {
		return ""
	}
	return textfmt.OutOf(x, scale)
}

func caseFacts(row *report.Row) []fact {
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{Name: name, Value: textfmt.Line(value)})
		}
	}
	add("format", row.Dialect)
	add("target", row.Target)
	if row.Samples > 1 {
		add("samples", textfmt.Int(int64(row.Samples)))
	}
	if row.Calls > 0 {
		add("calls", textfmt.Int(int64(row.Calls))+textfmt.Cost(row.CostUSD))
	}
	if row.DurationMS > 0 {
		add("time", textfmt.Duration(time.Duration(row.DurationMS)*time.Millisecond))
	}
	if row.JudgedAt != nil {
		add("judged", row.JudgedAt.UTC().Format(time.DateOnly))
	}
	if len(row.Digest) >= 12 {
		add("digest", row.Digest[:12])
	}
	return out
}

func turns(messages []schema.Message) []turn {
	var out []turn
	for i, m := range messages {
		t := turn{Number: i + 1, Role: textfmt.Line(m.Role), Text: textfmt.Clean(m.Content)}
		if m.Role == "tool" && m.Name != "" {
			t.Role = "tool " + textfmt.Line(m.Name)
		}
		for _, tc := range m.ToolCalls {
			t.Calls = append(t.Calls, call{textfmt.Line(tc.Function.Name), textfmt.Clean(string(tc.Function.Arguments))})
		}
		out = append(out, t)
	}
	return out
}

func (c *caseView) criteria(all []report.CriterionDiff, scale float64) {
	for _, cr := range all {
		line := criterion{Name: textfmt.Line(cr.ID), Base: textfmt.Native(cr.Base, scale), Head: textfmt.Native(cr.Head, scale), Note: textfmt.Clean(cr.Note)}
		line.Worse = cr.Base != nil && cr.Head != nil && *cr.Head < *cr.Base
		c.HasBase = c.HasBase || cr.Base != nil
		c.Criteria = append(c.Criteria, line)
	}
}

// The kinds of cases in the order of the filter.
var kindOrder = []string{
	"regression", "fail", "borderline", "error", "unclear", "flaky", "improvement", "new", "moved",
	"removed", "withdrawn", "skipped", "not run", "would run", "pass", "no verdict",
}

// icons are signs that every font has.
var icons = map[string]string{
	"regression": "✗", "fail": "✗", "borderline": "≈", "error": "!", "unclear": "?", "flaky": "~", "improvement": "✓",
	"new": "+", "moved": "→", "removed": "−", "withdrawn": "−", "skipped": "·", "not run": "·", "would run": "·", "pass": "✓", "no verdict": "·",
}

// kindOf is the one kind that a row is filtered by: what changed before what it is.
func kindOf(row *report.Row) string {
	switch {
	case row.Unrun():
		return "not run"
	case row.Withdrawn == report.WithdrawnRemoved:
		return "removed"
	case row.Withdrawn != "":
		return "withdrawn"
	}
	if row.Class != nil {
		switch *row.Class {
		case report.Unchanged, report.New:
		case report.Failed:
			return "error"
		default:
			return string(*row.Class)
		}
	}
	if row.Verdict == nil {
		if row.Action == plan.Reuse {
			return "no verdict"
		}
		return "would run"
	}
	if *row.Verdict == verdict.Pass && row.Class != nil && *row.Class == report.New {
		return "new"
	}
	return string(*row.Verdict)
}

func (v *view) kinds() {
	counts := map[string]int{}
	for _, c := range v.Cases {
		counts[c.Kind]++
	}
	for name, n := range counts {
		v.Kinds = append(v.Kinds, kind{name, n})
	}
	slices.SortFunc(v.Kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(slices.Index(kindOrder, a.Name), slices.Index(kindOrder, b.Name)), cmp.Compare(a.Name, b.Name))
	})
}
