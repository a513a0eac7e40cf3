package comment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// A fold is closed until the reader opens it.
type fold struct {
	// title is the escaped summary. isCase marks the result of a case.
	title  string
	isCase bool
	body   func()
}

// A comment has at most so many folds before the one with all others.
const mostFolds = 3

// fold writes a fold, or defers it to the last one.
func (c *comment) fold(f fold) {
	if f.isCase {
		if c.cases == c.room.folds {
			c.left++
			return
		}
		c.cases++
	}
	if c.opened == mostFolds {
		c.deferred = append(c.deferred, f)
		return
	}
	c.opened++
	c.write(f)
}

func (c *comment) write(f fold) {
	c.line("<details><summary>" + f.title + "</summary>")
	c.line("")
	f.body()
	c.line("</details>")
	c.line("")
}

// lastFold writes the deferred folds, in a common one if there are several, and counts
// the cases without one.
func (c *comment) lastFold() {
	several := len(c.deferred) > 1
	if several {
		c.line("<details><summary>" + c.deferredTitle() + "</summary>")
		c.line("")
	}
	for _, f := range c.deferred {
		if c.isTooLong() {
			break
		}
		c.write(f)
	}
	if several {
		c.line("</details>")
		c.line("")
	}
	if c.left > 0 && c.room.rows > 0 {
		c.line("<sub>What happened in " + textfmt.Count(c.left, "more case") + " does not fit here: <code>gavel explain CASE</code> shows it</sub>")
		c.line("")
	}
}

// deferredTitle describes the content of the last fold.
func (c *comment) deferredTitle() string {
	var parts []string
	cases := 0
	for _, f := range c.deferred {
		if f.isCase {
			cases++
		}
	}
	if cases > 0 {
		parts = append(parts, "what happened in <b>"+textfmt.Count(cases, "more case")+"</b>")
	}
	for _, f := range c.deferred {
		if !f.isCase {
			parts = append(parts, strings.ToLower(f.title[:1])+f.title[1:])
		}
	}
	said := strings.Join(parts, " · ")
	return strings.ToUpper(said[:1]) + said[1:]
}

// caseFold explains a verdict: the decisive turns and the criteria.
func (c *comment) caseFold(row *report.Row) {
	if row.Detail == nil && !row.Retried() && !row.Confirmation.Measured() {
		return
	}
	c.fold(fold{title: "What happened in <b>" + textfmt.Markdown(row.Name(), 200) + "</b>", isCase: true, body: func() {
		c.writeTranscript(row)
		if row.Confirmation.Measured() {
			c.line("Measured again: " + textfmt.Markdown(row.Confirmation.Series(), 400))
			c.line("")
		}
		if row.Samples > 1 {
			c.line(textfmt.Count(row.Samples, "sample"))
			c.line("")
		}
	}})
}

// writeTranscript shows the transcript, the measurements, the attempts and the second
// prompt.
func (c *comment) writeTranscript(row *report.Row) {
	if row.Detail != nil {
		c.conversation(row.Detail)
		c.criteria(row)
	}
	if row.Retried() {
		c.line(reporters.NewAttempts(row.Attempts, row.Comparison).Markdown(row.Scale()))
	}
}

// conversation quotes the last turns, with base's last reply next to head's if both are
// known.
func (c *comment) conversation(d *report.Detail) {
	last := len(d.Messages) - 1
	if d.BaseReply == nil || last < 0 || d.Messages[last].Role != schema.RoleAssistant {
		c.turns(d.Messages)
		return
	}
	c.turns(d.Messages[:last])
	c.line("| base said | head says |")
	c.line("|:--|:--|")
	c.line("| " + textfmt.MarkdownTurn(*d.BaseReply) + " | " + textfmt.MarkdownTurn(d.Messages[last]) + " |")
	c.line("")
}

// turns quotes the last turns with questions, tool calls and answers. Earlier ones are
// counted.
func (c *comment) turns(messages []schema.Message) {
	const most = 6
	if len(messages) == 0 {
		return
	}
	var out []string
	first := max(0, len(messages)-most)
	if first > 0 {
		out = append(out, "<sub>"+textfmt.Count(first, "earlier turn")+"</sub>")
	}
	for i, m := range messages[first:] {
		out = append(out, "**"+textfmt.MarkdownSpeaker(m.Role)+", turn "+fmt.Sprint(first+i+1)+"** — "+textfmt.MarkdownTurn(m))
	}
	c.line("> " + strings.Join(out, "\n>\n> "))
	c.line("")
}

// criteria is a table of changed criteria and criteria that are not fully met; the
// others are counted.
func (c *comment) criteria(row *report.Row) {
	const most = 12
	var shown []report.CriterionDiff
	met, left, withBase := 0, 0, false
	for _, cr := range row.Detail.Criteria {
		switch {
		case !telling(cr):
			met++
		case len(shown) == most:
			left++
		default:
			shown = append(shown, cr)
			withBase = withBase || cr.Base != nil
		}
	}
	if len(shown) == 0 {
		return
	}
	scale := row.NativeScale()
	if withBase {
		c.line("| criterion | base | head |")
		c.line("|:--|--:|--:|")
	} else {
		c.line("| criterion | head |")
		c.line("|:--|--:|")
	}
	for _, cr := range shown {
		name := textfmt.Markdown(cr.ID, 120)
		if cr.Note != "" {
			name += " <br> <sub>" + textfmt.Markdown(cr.Note, 200) + "</sub>"
		}
		base := ""
		if withBase {
			base = textfmt.Native(cr.Base, scale) + " | "
		}
		c.line("| " + name + " | " + base + bold(textfmt.Native(cr.Head, scale), worse(cr)) + " |")
	}
	c.line("")
	if rest := criteriaLeft(met, left); rest != "" {
		c.line("<sub>" + rest + "</sub>")
		c.line("")
	}
}

// criteriaLeft counts the criteria that the table omits.
func criteriaLeft(met, left int) string {
	var parts []string
	if left > 0 {
		parts = append(parts, textfmt.Int(int64(left))+" more")
	}
	if met > 0 {
		parts = append(parts, textfmt.Int(int64(met))+" "+textfmt.Verb(met, "other is", "others are")+" met")
	}
	return strings.Join(parts, " · ")
}

func telling(cr report.CriterionDiff) bool {
	return cr.Head == nil || *cr.Head < 1 || cr.Base != nil && *cr.Base != *cr.Head
}

func worse(cr report.CriterionDiff) bool {
	return cr.Head != nil && cr.Base != nil && *cr.Head < *cr.Base
}

func bold(s string, on bool) string {
	if on {
		return "**" + s + "**"
	}
	return s
}

// groups folds a table of scores for each dialect: a row for each outermost
// group, a column for each name of the groups in it.
func (c *comment) groups() {
	if c.room.rows == 0 || c.r.NotRunReason != "" {
		return
	}
	for _, t := range reporters.GroupTables(c.r.Groups) {
		c.foldTable(t.Title, t)
	}
	for _, t := range reporters.GroupTables(report.FlatGroups(c.r.Conversations)) {
		c.foldTable("By conversation", t)
	}
}

// labels folds a table of the difficulties, tags and statuses of the cases.
func (c *comment) labels() {
	all := c.r.Distribution()
	if len(all) == 0 || c.room.rows == 0 || c.r.NotRunReason != "" {
		return
	}
	c.fold(fold{title: "By difficulty, tag and status", body: func() {
		c.line("| | | score | cases |")
		c.line("|:--|:--|--:|:--|")
		shown := c.limitAlso(len(all))
		for _, l := range all[:shown] {
			c.line("| " + strings.Join([]string{l.Label, textfmt.Markdown(l.Name, 80), textfmt.Score(l.Score, 2), reporters.LabelCounts(l)}, " | ") + " |")
		}
		if rest := len(all) - shown; rest > 0 {
			c.line("| <sub>and " + textfmt.Int(int64(rest)) + " more</sub> |")
		}
	}})
}

// targets writes the results of several targets over the same cases.
func (c *comment) targets() {
	if len(c.r.Targets) == 0 || c.r.NotRunReason != "" {
		return
	}
	c.line("| target | score | Δ (95 % interval) | | |")
	c.line("|:--|--:|--:|:--|:--|")
	for _, t := range c.r.Targets {
		c.line("| " + strings.Join([]string{textfmt.Markdown(t.Target, 80), textfmt.Score(t.Score, 2), reporters.Change(t.Delta, t.Between), t.Counts(), t.Difference()}, " | ") + " |")
	}
	c.line("")
	c.sides()
}

func (c *comment) foldTable(title string, t reporters.GroupTable) {
	if t.Target != "" {
		title += ": " + textfmt.Markdown(t.Target, 80)
	}
	c.fold(fold{title: title, body: func() { c.groupTable(t) }})
}

func (c *comment) groupTable(t reporters.GroupTable) {
	// A phone shows the score first; the levels may scroll.
	head, align := "| | score |", "|:--|--:|"
	differs := slices.ContainsFunc(t.Rows, func(row reporters.GroupRow) bool { return row.Group.Known() })
	if differs {
		head, align = head+" Δ (95 % interval) |", align+"--:|"
	}
	for _, name := range t.Columns {
		head += " " + textfmt.Markdown(strings.TrimPrefix(name, "level_"), 30) + " |"
		align += "--:|"
	}
	c.line(head + " cases |")
	c.line(align + "--:|")
	shown := c.limitAlso(len(t.Rows))
	for _, row := range t.Rows[:shown] {
		c.line(groupLine(&t, textfmt.Markdown(row.Group.Path[0], 80), row, differs))
	}
	if rest := len(t.Rows) - shown; rest > 0 {
		c.line("| <sub>and " + textfmt.Int(int64(rest)) + " more</sub> |")
	}
	if differs && t.Pairs < t.Cases {
		c.line("")
		c.line("<sub>Δ is over the " + textfmt.Int(int64(t.Pairs)) + " of " + textfmt.Count(t.Cases, "case") + " that were judged on both sides</sub>")
	}
}

// groupLine is one row of the table.
func groupLine(t *reporters.GroupTable, name string, row reporters.GroupRow, differs bool) string {
	cells := []string{name, groupScore(row.Group)}
	if differs {
		change := reporters.Change(row.Group.Delta, row.Group.Between)
		cells = append(cells, bold(change, change != "" && row.Group.Fell()))
	}
	for _, col := range t.Columns {
		cell := ""
		if g, ok := row.Cells[col]; ok {
			cell = groupScore(g)
		}
		cells = append(cells, cell)
	}
	cells = append(cells, textfmt.Int(int64(row.Group.Cases)))
	return "| " + strings.Join(cells, " | ") + " |"
}

// groupScore formats a score, in bold if it fell by more than noise.
func groupScore(g report.Group) string {
	return bold(textfmt.Short(textfmt.Score(g.Score, 2)), g.Fell())
}

// sides writes each case's result against each of several targets.
func (c *comment) sides() {
	s := reporters.Sides(c.r)
	if len(s.Rows) == 0 {
		return
	}
	c.line("<details><summary>Each case against each target</summary>")
	c.line("")
	head, align := "| |", "|:--|"
	for _, name := range s.Targets {
		head, align = head+" "+textfmt.Markdown(name, 30)+" |", align+"--:|"
	}
	c.line(head)
	c.line(align)
	shown := c.limit(len(s.Rows))
	for _, row := range s.Rows[:shown] {
		var cells []string
		for _, one := range row.Cells {
			cells = append(cells, reporters.Cell(one))
		}
		c.line("| " + textfmt.Markdown(row.Key, 80) + " | " + strings.Join(cells, " | ") + " |")
	}
	if rest := len(s.Rows) - shown; rest > 0 {
		c.line("| <sub>and " + textfmt.Int(int64(rest)) + " more</sub> |")
	}
	c.line("</details>")
	c.line("")
}
