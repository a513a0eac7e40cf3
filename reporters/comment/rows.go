package comment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// name formats the key of a row, linked to its line at the commit that has it.
func (c *comment) name(row *report.Row) string {
	sha := c.o.HeadSHA
	if row.Action == plan.Removed {
		sha = c.o.BaseSHA
	}
	return textfmt.MarkdownLink(textfmt.Markdown(row.Name(), 200), c.o.blob(sha, row.File, row.Line))
}

// blocking writes the table of blocking cases, and a fold for each of them.
func (c *comment) blocking() {
	rows := c.rows.Blocking
	shown := c.limit(len(rows))
	if shown == 0 {
		return
	}
	title := "Regressions"
	switch {
	case c.rows.Regressed == 0:
		title = "Failing cases"
	case c.rows.Failing > 0:
		title = "Regressions and failing cases"
	}
	c.line("| | " + title + " |")
	c.line("|--:|:--|")
	for _, group := range byCause(rows[:shown], c.why) {
		c.cause(group)
	}
	c.rest(len(rows) - shown)
	c.line("")
	for _, row := range rows {
		c.caseFold(row)
	}
}

// cause writes the rows with one cause: a row for the cause if there are several, and
// their cases; of many only the first in full.
func (c *comment) cause(g causeGroup) {
	const most, full = 8, 5
	rows, rest := g.rows, []*report.Row(nil)
	if len(rows) > most {
		rows, rest = rows[:full], rows[full:]
	}
	why := g.why
	if len(g.rows) > 1 {
		c.line("| **" + textfmt.Int(int64(len(g.rows))) + "&nbsp;cases** | **" + g.why + "** |")
		why = ""
	}
	for _, row := range rows {
		if c.isTooLong() {
			break
		}
		c.line("| " + numbers(row) + " | " + c.blockingCell(row, why) + " |")
	}
	if len(rest) > 0 {
		var names []string
		for _, row := range rest {
			names = append(names, strings.TrimSpace(verdictIcon(row.Verdict)+" "+c.name(row)+" "+delta(row)))
		}
		c.line("| | " + strings.Join(names, " <br> ") + " |")
	}
}

func (c *comment) blockingCell(row *report.Row, why string) string {
	label := ""
	switch {
	case row.Class != nil && *row.Class == report.New:
		label = "new · "
	case row.Class != nil && *row.Class == report.Unclear:
		label = "not judged at base · "
	}
	cell := []string{verdictIcon(row.Verdict) + " " + label + c.name(row)}
	if row.VerdictReason != "" {
		cell = append(cell, textfmt.Markdown(row.VerdictReason, 240))
	}
	if said := reporters.Remeasured(row); said != "" {
		cell = append(cell, textfmt.Markdown(said, 240))
	}
	if why != "" {
		cell = append(cell, "<sub>"+why+"</sub>")
	}
	return strings.Join(cell, " <br> ")
}

func verdictIcon(v *verdict.Verdict) string {
	if v != nil && *v == verdict.Borderline {
		return "🟡"
	}
	return "❌"
}

func (c *comment) why(row *report.Row) string { return textfmt.Markdown(reporters.Why(c.r, row), 260) }

// numbers formats the left cell of a row whose verdict changed: the difference and both
// scores, or the verdicts if the scores are equal.
func numbers(row *report.Row) string {
	switch {
	case row.Score == nil:
		return ""
	case row.BaseScore == nil:
		return "**" + scoreOf(row) + "**"
	case row.Change() == "0":
		return turn(row)
	}
	return fmt.Sprintf("**%s** <br> <sub>%s&nbsp;→&nbsp;%s</sub>",
		row.Change(), row.Shown(row.BaseScore), row.Shown(row.Score))
}

// rest ends a table with the number of omitted rows.
func (c *comment) rest(n int) {
	if n > 0 {
		c.line("| | <sub>and " + textfmt.Int(int64(n)) + " more</sub> |")
	}
}

// A long list of harmless rows is folded.
const foldRows = 15

func (c *comment) alsoChanged() {
	rows := c.rows.Also
	shown := c.limitAlso(len(rows))
	if shown > 0 {
		title := "Also changed"
		switch {
		case !slices.ContainsFunc(rows, func(row *report.Row) bool { return row.Error == nil }):
			title = "Not judged"
		case !slices.ContainsFunc(rows, func(row *report.Row) bool { return reporters.Label(row) != "passed" }):
			title = "Tried again or compared"
		case len(c.rows.Blocking) == 0:
			title = "Changed"
		}
		table := func() { c.alsoTable(title, rows, shown) }
		if shown > foldRows {
			c.fold(fold{title: title + ": " + textfmt.Count(len(rows), "case"), body: table})
		} else {
			table()
			c.line("")
		}
		for _, row := range rows {
			if row.Retried() || row.Confirmation.Measured() {
				c.caseFold(row)
			}
		}
	}
	if counts := c.counts(); counts != "" {
		c.line(counts)
		c.line("")
	}
}

func (c *comment) alsoTable(title string, rows []*report.Row, shown int) {
	c.line("| | " + title + " |")
	c.line("|--:|:--|")
	left := len(rows)
	for i, group := range reporters.ErrorGroups(rows) {
		if i == shown || c.isTooLong() {
			break
		}
		left -= len(group.Rows)
		if len(group.Rows) > 1 {
			c.sameError(group)
			continue
		}
		number, said := c.alsoCells(group.Rows[0])
		c.line("| " + number + " | " + said + " |")
	}
	c.rest(left)
}

// sameError writes the row of an error shared by several cases.
func (c *comment) sameError(g reporters.ErrorGroup) {
	const most = 8
	label := reporters.Label(g.Rows[0])
	c.line("| | " + textfmt.Icon(label) + " " + label + " · **" + strings.ReplaceAll(g.Count(), " ", "&nbsp;") + "**" +
		c.small(textfmt.Markdown(g.Text, 240)) + " <br> " + g.Names(most, c.name) + " |")
}

// counts counts the classes whose rows are not shown, and always the cases that fail as
// at base and the ones that nobody has judged.
func (c *comment) counts() string {
	var parts []string
	add := func(n int, noun string) {
		if n > 0 {
			parts = append(parts, textfmt.Count(n, noun))
		}
	}
	if c.room.rows == 0 {
		d := c.r.Diff
		add(d.Unclear, "unclear case")
		add(d.New, "new case")
		add(d.Removed, "removed case")
		add(d.Moved, "moved case")
	}
	if standing := c.rows.StandingText(); standing != "" {
		parts = append(parts, standing)
	}
	if n := c.r.Summary.NoVerdict; n > 0 {
		parts = append(parts, textfmt.Count(n, "unaffected case")+" "+textfmt.Verb(n, "has", "have")+" no stored verdict")
	}
	return strings.Join(parts, " · ")
}

func (c *comment) alsoCells(row *report.Row) (left, right string) {
	label := reporters.Label(row)
	right = textfmt.Icon(label) + " " + textfmt.Markdown(label, 40) + " · " + c.name(row)
	if row.Withdrawn != "" {
		label = "removed"
	}
	switch label {
	case "improved":
		return numbers(row), right + c.small(c.why(row))
	case "re-decided":
		return turn(row), right + c.small(c.why(row))
	case "moved":
		return "", right + c.small(textfmt.Markdown(reporters.Remark(row), 220))
	case "new", "flaky", "unclear", "passed", "accepted", "quarantined":
		return delta(row), right + c.small(textfmt.Markdown(reporters.Remark(row), 240))
	case "error", "not run", "skipped", "removed":
		return formerScore(row), right + c.small(textfmt.Markdown(reporters.Remark(row), 240))
	}
	return delta(row), right + c.small(c.why(row))
}

func turn(row *report.Row) string { return strings.ReplaceAll(row.Turn(), " ", "&nbsp;") }

func formerScore(row *report.Row) string {
	if row.BaseScore == nil {
		return ""
	}
	return "<sub>was&nbsp;" + row.Shown(row.BaseScore) + "</sub>"
}

func (c *comment) small(s string) string {
	if s == "" {
		return ""
	}
	return " <br> <sub>" + s + "</sub>"
}

func delta(row *report.Row) string {
	if row.Score == nil || row.BaseScore == nil {
		return scoreOf(row)
	}
	return row.Change()
}

func scoreOf(row *report.Row) string {
	if row.Score == nil {
		return ""
	}
	if row.AsksNothing {
		return row.Shown(row.Score) + " (asks nothing)"
	}
	if row.NoThreshold {
		return row.Shown(row.Score) + " (no threshold)"
	}
	return row.Shown(row.Score)
}

// planned writes the cases that would run but may not yet.
func (c *comment) planned() {
	rows := c.rows.Planned
	if c.r.NotRunReason == "" || len(rows) == 0 {
		c.approval()
		return
	}
	said := []string{"**Nothing was run:** " + textfmt.Markdown(c.r.NotRunReason, 300)}
	if e := c.r.Estimate; e != nil && e.Calls > 0 {
		said = append(said, "Running it takes "+textfmt.Markdown(e.String(), 300)+".")
	}
	c.alert("NOTE", said)
	c.approval()
	c.plannedTable(rows)
}

func (c *comment) plannedTable(rows []*report.Row) {
	shown := c.limit(len(rows))
	if shown == 0 {
		return
	}
	c.line("| | Would run |")
	c.line("|--:|:--|")
	for _, row := range rows[:shown] {
		if c.isTooLong() {
			break
		}
		why := textfmt.Markdown(plan.Summarise(row.Reasons), 240)
		c.line("| " + textfmt.Markdown(row.Action.Text(), 20) + " | " + c.name(row) + c.small(why) + " |")
	}
	c.rest(len(rows) - shown)
	c.line("")
}

// A causeGroup is a set of rows that were repeated for one reason.
type causeGroup struct {
	why  string
	rows []*report.Row
}

// byCause groups rows by reason. A group is at the place of its first row; a row
// without a reason is alone.
func byCause(rows []*report.Row, why func(*report.Row) string) []causeGroup {
	var out []causeGroup
	at := map[string]int{}
	for _, row := range rows {
		reason := why(row)
		i, known := at[reason]
		if reason == "" || !known {
			at[reason] = len(out)
			out = append(out, causeGroup{reason, []*report.Row{row}})
			continue
		}
		out[i].rows = append(out[i].rows, row)
	}
	return out
}
