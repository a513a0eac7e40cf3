package html

import (
	"cmp"
	_ "embed"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

//go:embed parts.tmpl
var templates string

// Style is the style sheet of the parts, light and dark.
//
//go:embed parts.css
var Style string

// Templates adds the templates of the parts.
func Templates(t *template.Template) *template.Template { return template.Must(t.Parse(templates)) }

// Options are additional inputs of parts.
type Options struct {
	// RepositoryURL is the page of the repository on its forge. If it is known, files
	// link to it.
	RepositoryURL string
	// Subject names what was judged, such as octo/demo#7, and At is when. The page begins
	// with what is set.
	Subject string
	At      time.Time
	// Replies are the last replies of cases by their digests. The grids show them.
	Replies map[string]schema.Message
	// History has earlier judgements of the cases. A case without one has no curve.
	History report.CaseHistory
}

// A Fact is one number of the header with its name.
type Fact struct{ Name, Value, Remark string }

// A Notice is a warning about the result.
type Notice struct {
	Severity, Where, Link, Text string
}

// A Target is one target, compared over the same cases.
type Target struct{ Target, Score, Delta, Counts, Difference string }

// Targets compares the targets of a report, if it has several.
func Targets(r *report.Report) []Target {
	var out []Target
	for _, t := range r.Targets {
		out = append(out, Target{
			Target: textfmt.Line(t.Target), Score: textfmt.Score(t.Score, 2), Delta: reporters.Change(t.Delta, t.Between),
			Counts: t.Counts(), Difference: t.Difference(),
		})
	}
	return out
}

// Facts returns the numbers of a report: score, cases, effort and commit.
func Facts(r *report.Report) []Fact {
	var out []Fact
	switch d := r.Diff; {
	case d.Delta != nil:
		out = append(out, Fact{"score", textfmt.Score(d.ScoreBase, 3) + " → " + textfmt.Score(d.ScoreHead, 3), reporters.Difference(r)})
	case r.Summary.Score != nil:
		out = append(out, Fact{"score", textfmt.Score(r.Summary.Score, 3), strings.TrimPrefix(reporters.DespiteFailures(r, r.Summary.Score), ", ")})
	}
	out = append(out, Fact{"cases", textfmt.Int(int64(r.Summary.Cases)), reporters.Effort(r)})
	calls, rest, _ := strings.Cut(reporters.Cost(r), ", ")
	out = append(out, Fact{"effort", calls, rest})
	if r.PassK != nil {
		out = append(out, Fact{"pass^k", "", r.PassK.String()})
	}
	if changes := r.Costs.Changes(); len(changes) > 0 {
		out = append(out, Fact{"answers", changes[0], strings.Join(changes[1:], " · ")})
	}
	if said := reporters.Lift(r); len(said) > 0 {
		out = append(out, Fact{"lift", said[0], strings.Join(said[1:], " · ")})
	}
	if said := reporters.Triggers(r); len(said) > 0 {
		out = append(out, Fact{"triggers", said[0], strings.Join(said[1:], " · ")})
	}
	if said := reporters.Seen(r); said != "" {
		out = append(out, Fact{"power", "", said})
	}
	if night, balance, _ := strings.Cut(r.Nightly.String(), ". "); night != "" {
		out = append(out, Fact{"history", night, balance})
	}
	if r.Head != nil {
		against := ""
		if r.Base != nil {
			against = "against " + ShortCommit(*r.Base)
		}
		out = append(out, Fact{"commit", ShortCommit(*r.Head), against})
	}
	return out
}

// mostTitle bounds the title of a head, in characters.
const mostTitle = 160

// Title returns the branch and the commit subject of a report's head, empty if both are
// unknown.
func Title(r *report.Report) string {
	said := slices.DeleteFunc([]string{textfmt.Line(r.Branch), textfmt.Line(r.Subject)}, func(s string) bool { return s == "" })
	return textfmt.Clip(strings.Join(said, " · "), mostTitle)
}

// ShortCommit shortens a commit to 7 digits; any other name is unchanged.
func ShortCommit(name string) string {
	if len(name) == 40 {
		return name[:7]
	}
	return name
}

// Notices returns the problems and notices of a report.
func Notices(r *report.Report, o Options) []Notice {
	var out []Notice
	for _, p := range r.Problems {
		text := p.Message
		if p.Hint != "" {
			text += "; " + p.Hint
		}
		out = append(out, Notice{string(p.Severity), fileLine(p.File, p.Line), blob(r.Head, o, p.File, p.Line), textfmt.Line(text)})
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
		out = append(out, Notice{"warning", fileLine(n.File, n.Line), blob(side, o, n.File, n.Line), textfmt.Line(text)})
	}
	return out
}

func fileLine(file string, line int) string {
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

// Rows returns the cases of a report, the most interesting first. The first blocking of
// them count against the change.
func Rows(r *report.Report) (rows []*report.Row, blocking int) {
	sections := reporters.Arrange(r)
	rows = slices.Concat(sections.Blocking, sections.Also, sections.Planned)
	seen := map[*report.Row]bool{}
	for _, row := range rows {
		seen[row] = true
	}
	for i := range r.Cases {
		if row := &r.Cases[i]; !seen[row] {
			rows = append(rows, row)
		}
	}
	return rows, len(sections.Blocking)
}

// A Kind is a filter of cases with its count.
type Kind struct {
	Name  string
	Count int
}

// Kinds arranges counts by the name of the kind in the order of the filter.
func Kinds(counts map[string]int) []Kind {
	var out []Kind
	for name, n := range counts {
		out = append(out, Kind{name, n})
	}
	slices.SortFunc(out, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(slices.Index(kindOrder, a.Name), slices.Index(kindOrder, b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return out
}
