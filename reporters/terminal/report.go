package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Report writes the result of a run: warnings about a green gate, failures, other
// changes, the counts, and the gate.
func Report(w io.Writer, r *report.Report, o Options) error {
	p := newPage(o)
	s := reporters.Arrange(r)
	p.notices(r.Notices)
	keys := p.keyColumns(r, s)
	for _, row := range s.Blocking {
		p.blocking(r, row, keys)
	}
	p.also(r, s.Also, keys)
	for _, row := range s.Planned {
		p.row(entry{"·", yellow, row.Action.Text(), row}, keys)
		p.note(plan.Summarise(row.Reasons), dim)
	}
	if o.Verbose {
		p.rest(r, s, keys)
	}
	p.paragraph(margin{}, s.StandingText(), dim)
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	p.groups(r.Groups)
	p.groups(report.FlatGroups(r.Conversations))
	p.labels(r.Distribution())
	p.sides(r)
	p.targets(r.Targets)
	p.summary(r)
	return p.writeTo(w)
}

func (p *page) notices(all []report.Notice) {
	for _, n := range all {
		name := n.Case
		if name == "" {
			name = n.File
		}
		p.paragraph(margin{"! ", yellow}, strings.TrimSpace(name+" "+n.Message), yellow)
	}
}

// The columns of a row: mark and word, key, scores.
const (
	wordColumns  = 14
	scoreColumns = 22
)

// keyColumns returns the width of the keys, so that the scores are aligned.
func (p *page) keyColumns(r *report.Report, s reporters.Sections) int {
	widest := 0
	for i := range r.Cases {
		if p.Verbose {
			widest = max(widest, textfmt.Columns(textfmt.Line(r.Cases[i].Name())))
		}
	}
	for _, rows := range [][]*report.Row{s.Blocking, s.Also, s.Planned} {
		for _, row := range rows {
			widest = max(widest, textfmt.Columns(textfmt.Line(row.Name())))
		}
	}
	return min(widest, p.Width-wordColumns-scoreColumns)
}

// An entry is a row with its mark, colour and word.
type entry struct {
	mark, color, word string
	row               *report.Row
}

// row writes the first line of a case. A key that is too long for its column is alone
// on its line, with the scores below it.
func (p *page) row(e entry, keys int) {
	key := textfmt.Line(e.row.Name())
	start := textfmt.Pad(e.mark+" "+e.word, wordColumns-1) + " "
	scores := scores(e.row)
	if textfmt.Columns(key) <= keys || scores == "" {
		p.WriteString(p.paint(e.color, start) + strings.TrimRight(textfmt.Pad(textfmt.Fit(key, p.Width-wordColumns), keys)+"  "+scores, " ") + "\n")
		return
	}
	p.paragraph(margin{start, e.color}, key, "")
	p.WriteString(strings.Repeat(" ", wordColumns) + scores + "\n")
}

func scores(row *report.Row) string {
	switch {
	case row.Score == nil && row.BaseScore == nil:
		return ""
	case row.Score == nil:
		return "was " + row.Shown(row.BaseScore)
	case row.BaseScore == nil && row.AsksNothing:
		return row.Shown(row.Score) + " (asks nothing)"
	case row.BaseScore == nil && row.NoThreshold:
		return row.Shown(row.Score) + " (no threshold)"
	case row.BaseScore == nil:
		return row.Shown(row.Score)
	}
	out := row.Shown(row.BaseScore) + " → " + row.Shown(row.Score)
	if *row.Score != *row.BaseScore {
		out += "  " + row.Change()
	}
	return out
}

// note writes a line below a row.
func (p *page) note(text, color string) {
	p.paragraph(margin{first: strings.Repeat(" ", wordColumns)}, text, color)
}

func (p *page) blocking(r *report.Report, row *report.Row, keys int) {
	word := string(*row.Verdict)
	if row.Class != nil && (*row.Class == report.Regression || *row.Class == report.New) {
		word = string(*row.Class)
	}
	color := red
	if *row.Verdict == verdict.Borderline {
		color = yellow
	}
	p.row(entry{"✗", color, word, row}, keys)
	p.note(row.VerdictReason, "")
	p.note(reporters.Remeasured(row), "")
	if row.Confirmation.Measured() {
		p.note("measured again: "+row.Confirmation.Series(), dim)
	}
	p.note(reporters.Why(r, row), dim)
	p.trial(row)
}

// trial writes the results of attempts and of a second prompt.
func (p *page) trial(row *report.Row) {
	if !row.Retried() {
		return
	}
	for _, line := range reporters.NewAttempts(row.Attempts, row.Comparison).Lines(row.Scale()) {
		p.note(line, dim)
	}
}

// also writes changes that decide nothing and cases that were not run, the first of a long list.
func (p *page) also(r *report.Report, rows []*report.Row, keys int) {
	const most = 50
	shown := 0
	for i, group := range reporters.ErrorGroups(rows) {
		if i == most {
			p.note(fmt.Sprintf("and %s more", textfmt.Int(int64(len(rows)-shown))), dim)
			return
		}
		shown += len(group.Rows)
		if len(group.Rows) > 1 {
			p.sameError(group)
			continue
		}
		row := group.Rows[0]
		label := reporters.Label(row)
		mark, color := "·", dim
		switch label {
		case "improved", "higher", "passed":
			mark, color = "✓", green
		case "error", "not run":
			mark, color = "!", yellow
		case "lower", "re-decided", "unclear", "flaky":
			mark, color = "·", yellow
		}
		p.row(entry{mark, color, label, row}, keys)
		switch label {
		case "passed": // the remark follows
			p.note(row.VerdictReason, "")
		default:
			p.note(reporters.Remark(row), "")
		}
		switch label {
		case "improved", "re-decided", "higher", "lower":
			p.note(reporters.Why(r, row), dim)
		}
		p.trial(row)
	}
}

// sameError writes an error shared by several cases.
func (p *page) sameError(g reporters.ErrorGroup) {
	const most = 8
	p.WriteString(p.paint(yellow, textfmt.Pad("! "+reporters.Label(g.Rows[0]), wordColumns-1)+" ") + g.Count() + "\n")
	p.note(g.Text, "")
	p.note(g.Names(most, func(row *report.Row) string { return textfmt.Line(row.Name()) }), dim)
}

// groups writes the outermost groups on one line each.
func (p *page) groups(groups []report.Group) {
	const most = 30
	widest, n := 0, 0
	for _, g := range groups {
		if len(g.Path) == 1 {
			widest, n = max(widest, textfmt.Columns(groupName(g))), n+1
		}
	}
	widest = min(widest, most)
	for _, g := range groups {
		if len(g.Path) != 1 {
			continue
		}
		line := "  " + textfmt.Pad(textfmt.Fit(groupName(g), widest), widest) + "  " + textfmt.Score(g.Score, 2)
		p.WriteString(line + p.change(g.Delta, g.Between) + "\n")
	}
	if n > 0 {
		p.WriteString("\n")
	}
}

// labels writes the results of each difficulty, tag and status.
func (p *page) labels(all []report.Label) {
	const most = 30
	widest := 0
	for _, l := range all {
		widest = max(widest, textfmt.Columns(labelName(l)))
	}
	widest = min(widest, most)
	for _, l := range all {
		line := "  " + textfmt.Pad(textfmt.Fit(labelName(l), widest), widest) + "  " + textfmt.Score(l.Score, 2) + "  " + reporters.LabelCounts(l)
		p.WriteString(textfmt.Fit(line, p.Width) + "\n")
	}
	if len(all) > 0 {
		p.WriteString("\n")
	}
}

func labelName(l report.Label) string { return l.Label + " " + textfmt.Line(l.Name) }

func groupName(g report.Group) string {
	name := textfmt.Line(g.Path[0])
	if g.Target != "" {
		name += " @ " + textfmt.Line(g.Target)
	}
	return name
}

// targets writes the results of several targets over the same cases.
func (p *page) targets(targets []report.TargetTally) {
	widest := 0
	for _, t := range targets {
		widest = max(widest, textfmt.Columns(textfmt.Line(t.Target)))
	}
	for _, t := range targets {
		p.WriteString("  " + textfmt.Pad(textfmt.Line(t.Target), widest) + "  " + textfmt.Score(t.Score, 2) + p.change(t.Delta, t.Between))
		p.WriteString("  " + t.Counts())
		if d := t.Difference(); d != "" {
			p.WriteString("; " + d)
		}
		p.WriteString("\n")
	}
	if len(targets) > 0 {
		p.WriteString("\n")
	}
}

// change writes a difference of means after a space: red or green if it is certain, and
// nothing without an interval.
func (p *page) change(delta *float64, b report.Between) string {
	text := reporters.Change(delta, b)
	switch {
	case text == "":
		return ""
	case b.Fell():
		return "  " + p.paint(red, text)
	case b.Rose():
		return "  " + p.paint(green, text)
	}
	return "  " + p.paint(dim, text)
}

// withoutThreshold counts the cases that pass for lack of a threshold, and make a
// demand.
func withoutThreshold(r *report.Report) (n int) {
	for i := range r.Cases {
		if row := &r.Cases[i]; row.NoThreshold && !row.AsksNothing && row.Verdict != nil && *row.Verdict == verdict.Pass {
			n++
		}
	}
	return n
}

func (p *page) summary(r *report.Report) {
	s := r.Summary
	known, done := s.Reused-s.NoVerdict, reporters.Done(r)
	actions := []count{{done[plan.Run], "run"}, {done[plan.Rejudge], "re-judged"}, {done[plan.Redecide], "re-decided"}, {known, "reused"}}
	if r.NotRunReason != "" {
		actions = []count{{s.Run, "to run"}, {s.Rejudged, "to re-judge"}, {s.Redecided, "to re-decide"}, {known, "known"}}
	}
	p.paragraph(margin{}, fmt.Sprintf("%s: %s passed, %s failed", textfmt.Count(s.Cases, "case"), textfmt.Int(int64(s.Pass)), textfmt.Int(int64(s.Fail)))+
		counts(", ", []count{{s.Borderline, "borderline"}, {s.Error - s.NotRun, "not judged"}, {s.NotRun, "not run"}, {s.Skipped, "skipped"}, {withoutThreshold(r), "without a threshold"}, {s.AsksNothing, textfmt.Verb(s.AsksNothing, "asks nothing", "ask nothing")}})+
		counts(" · ", append(actions, count{s.NoVerdict, "unaffected"})), "")
	switch d := r.Diff; {
	case d.Delta != nil && *d.Delta != 0:
		p.paragraph(margin{}, fmt.Sprintf("score %s → %s (%s)%s over %s judged on both sides",
			textfmt.Score(d.ScoreBase, 3), textfmt.Score(d.ScoreHead, 3), reporters.Difference(r), reporters.DespiteFailures(r, d.ScoreHead), textfmt.Count(d.Pairs, "case")), "")
	case r.Summary.Score != nil:
		fmt.Fprintf(p, "score %s%s\n", textfmt.Score(s.Score, 3), reporters.DespiteFailures(r, s.Score))
	}
	p.paragraph(margin{}, r.PassK.String(), "")
	p.paragraph(margin{}, reporters.Answers(r), "")
	for i, said := range reporters.Lift(r) {
		if i == 0 {
			said = "lift: " + said
		}
		p.paragraph(margin{}, said, "")
	}
	for i, said := range reporters.Triggers(r) {
		if i == 0 {
			said = "triggers of " + said
		}
		p.paragraph(margin{}, said, "")
	}
	p.paragraph(margin{}, reporters.Seen(r), dim)
	p.paragraph(margin{}, reporters.Cost(r), "")
	p.paragraph(margin{}, r.Nightly.String(), dim)
	p.paragraph(margin{}, r.TargetChanges.Line(), bold)
	if r.Remeasured != nil && r.Remeasured.Line != "" {
		p.paragraph(margin{}, r.Remeasured.Line, bold)
	}
	color := yellow
	switch r.Gate.Result {
	case report.GatePass:
		color = green
	case report.GateFail:
		color = red
	}
	p.paragraph(margin{"gate " + r.Gate.Result + ": ", bold + ";" + color}, r.Gate.Reason, "")
}

type count struct {
	n    int
	word string
}

// counts formats non-zero counts: the first behind sep, the others behind commas.
func counts(sep string, counts []count) string {
	var b strings.Builder
	for _, c := range counts {
		if c.n > 0 {
			b.WriteString(sep + textfmt.Int(int64(c.n)) + " " + c.word)
			sep = ", "
		}
	}
	return b.String()
}
