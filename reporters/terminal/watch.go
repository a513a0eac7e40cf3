package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Watch writes the events of a watch as lines. Problems are left to [Problems], which
// shows their source.
func Watch(w io.Writer, u reporters.WatchUpdate, o Options) error {
	p := newPage(o)
	b := &u.Snapshot
	switch u.Kind {
	case reporters.WatchPlanned:
		p.planned(u)
	case reporters.WatchQuestion:
		p.paragraph(margin{"? ", yellow}, b.Question+" It is not run: start with --yes, or raise --max-cases and --max-cost.", yellow)
	case reporters.WatchResult:
		p.result(u)
	case reporters.WatchError:
		p.paragraph(margin{"! ", red}, b.Error, red)
	}
	return p.writeTo(w)
}

// Against names the compared base: "HEAD (1f2e3d4)".
func Against(b *reporters.WatchSnapshot) string {
	if b.Base == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s (%.7s)", textfmt.Line(b.Ref), b.Base)
}

// Files names a few files and counts the others. A folder shared by several is written
// once: "refund.yaml, tone.yaml in test_definitions".
func Files(names []string, most int) string {
	folder := sharedFolder(names)
	var shown []string
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, strings.TrimPrefix(name, folder))
	}
	out := strings.Join(shown, ", ")
	if len(names) > most {
		out += fmt.Sprintf(" and %s more", textfmt.Int(int64(len(names)-most)))
	}
	if folder != "" {
		out += " in " + strings.TrimSuffix(folder, "/")
	}
	return out
}

// sharedFolder returns the folder that contains all of several files, with a trailing
// slash; empty without one.
func sharedFolder(names []string) string {
	if len(names) < 2 {
		return ""
	}
	folder := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, folder) || !strings.HasSuffix(folder, "/") {
			folder = folder[:strings.LastIndex(strings.TrimSuffix(folder, "/"), "/")+1]
			if folder == "" {
				return ""
			}
		}
	}
	return folder
}

func (p *page) planned(u reporters.WatchUpdate) {
	b := &u.Snapshot
	if len(b.Changed) > 0 {
		p.paragraph(margin{"changed   ", bold}, Files(b.Changed, 3), "")
	}
	if u.Plan == nil {
		p.paragraph(margin{"affected  ", bold}, "not known until gavel.yaml is valid; the rows below are from the last valid one", yellow)
		return
	}
	text := fmt.Sprintf("%s of %s against %s", textfmt.Int(int64(b.Affected)), textfmt.Count(b.Total, "case"), Against(b))
	if todo := Todo(u.Plan); todo != "" {
		text += ": " + todo
	}
	if b.Estimate.Calls > 0 {
		text += "; " + b.Estimate.String()
	}
	p.paragraph(margin{"affected  ", bold}, text, "")
}

// Todo counts the open work: "2 to run, 1 to re-judge".
func Todo(p *plan.Plan) string {
	counts := map[plan.Action]int{}
	for i := range p.Rows {
		counts[p.Rows[i].Action]++
	}
	var parts []string
	for _, action := range []plan.Action{plan.Run, plan.Rejudge, plan.Redecide} {
		if n := counts[action]; n > 0 {
			parts = append(parts, textfmt.Int(int64(n))+" to "+action.Text())
		}
	}
	return strings.Join(parts, ", ")
}

// result writes the cases that fail or changed since the previous run, and the cases that
// were not run with the reason.
func (p *page) result(u reporters.WatchUpdate) {
	b := &u.Snapshot
	rows := make([]*reporters.WatchRow, 0, len(b.Rows))
	var unrun []*report.Row
	keys := 0
	for i := range b.Rows {
		row := &b.Rows[i]
		if row.Unrun() && !row.Kept && !row.Due {
			unrun = append(unrun, &row.Row)
			keys = max(keys, textfmt.Columns(textfmt.Line(row.Key)))
			continue
		}
		if change := row.Change(); !row.Failing() && !row.Kept && (change == "" || change == "first" && row.Class == nil) {
			continue
		}
		rows = append(rows, row)
		keys = max(keys, textfmt.Columns(textfmt.Line(row.Key)))
	}
	keys = min(keys, p.Width-wordColumns-scoreColumns)
	if u.Report != nil {
		p.notices(u.Report.Notices)
	}
	for _, row := range rows {
		p.watched(u, row, keys)
	}
	p.also(u.Report, unrun, keys)
	p.paragraph(margin{"result    ", bold}, Sentence(b), "")
}

// watched writes one case: its verdict against base, and below it its previous verdict
// if it differs.
func (p *page) watched(u reporters.WatchUpdate, row *reporters.WatchRow, keys int) {
	mark, color := "✓", green
	shown := row.Row
	switch {
	case row.Kept:
		mark, color = "!", yellow
		shown.BaseScore, shown.Score = shown.Score, nil // it is the last valid one's
	case row.Due:
		mark, color = "·", yellow
	case row.Failing():
		mark, color = "✗", red
	case row.Change() == "lower":
		mark, color = "·", yellow
	}
	p.row(entry{mark, color, Word(row), &shown}, keys)
	switch {
	case row.Kept:
		p.note(row.ProblemText(), "")
		return
	case row.Failing():
		p.note(row.VerdictReason, "")
		p.note(reporters.Remeasured(&row.Row), "")
	}
	if since := PreviousVerdict(&u.Snapshot, row); since != "" {
		p.note(since, dim)
	}
	if u.Report != nil {
		p.note(reporters.Why(u.Report, &row.Row), dim)
	}
}

// Word returns the state of a case in a word: broke or fixed since the last time,
// regression, or its verdict.
func Word(row *reporters.WatchRow) string {
	change := row.Change()
	switch {
	case row.Kept:
		return "invalid"
	case row.Due && row.Verdict == nil:
		return row.Action.Text()
	case row.Due:
		return "again"
	case change == "broke", change == "fixed":
		return change
	case row.Class != nil && *row.Class == report.Regression:
		return string(*row.Class)
	case row.Invalid():
		return "invalid"
	case row.Unrun():
		return "not run"
	case row.Verdict == nil && row.Action == plan.Reuse:
		return "unaffected"
	case row.Verdict == nil:
		return row.Action.Text()
	}
	return string(*row.Verdict)
}

// PreviousVerdict returns the last or accepted verdict of a case if it differs from the
// current one.
func PreviousVerdict(b *reporters.WatchSnapshot, row *reporters.WatchRow) string {
	switch row.Change() {
	case "", "first":
		return ""
	}
	when := "the last run"
	if b.Accepted {
		when = "what was accepted"
	}
	out := "since " + when + ": " + string(row.Before.Verdict)
	if row.Before.Score != nil {
		out += " " + row.Shown(row.Before.Score)
	}
	out += " → " + string(*row.Verdict)
	if row.Score != nil {
		out += " " + row.Shown(row.Score)
	}
	return out
}

// Sentence summarizes a board in one line.
func Sentence(b *reporters.WatchSnapshot) string {
	c := b.Count()
	out := cmp.Or(
		counts("", []count{{c.Fail, "failed"}, {c.Error, "not judged"}, {c.Unrun, "not run"}, {c.Invalid, "invalid"}, {c.Borderline, "borderline"}, {c.Pass, "passed"}}),
		"nothing to judge",
	)
	if turned := counts("; ", []count{{c.Broke, "broke"}, {c.Fixed, "fixed"}}); turned != "" {
		out += turned + " since the last run"
	}
	if b.Line != "" {
		out += "; " + b.Line
	}
	if b.Stopped {
		out += fmt.Sprintf("; stopped with %s left", textfmt.Count(c.Due, "case"))
	}
	return out + "; spent " + Spent(b)
}

// Spent formats a watch's cost so far: "4 calls, 36 given up, $0.02".
func Spent(b *reporters.WatchSnapshot) string {
	text := textfmt.Count(b.Spent.Calls, "call")
	if b.GivenUp > 0 {
		text += ", " + textfmt.Int(int64(b.GivenUp)) + " given up"
	}
	switch {
	case b.Spent.CostUSD > 0 && b.Spent.Unpriced > 0:
		return text + ", over " + textfmt.USD(b.Spent.CostUSD)
	case b.Spent.CostUSD > 0:
		return text + ", " + textfmt.USD(b.Spent.CostUSD)
	}
	return text
}
