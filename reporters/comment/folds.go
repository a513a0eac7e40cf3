package comment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/attempts"
	"github.com/gavel-evals/gavel/reporters/mdescape"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// fold shows how a verdict came about: the decisive turns and the criteria.
func (c *comment) fold(row *report.Row) {
	if row.Detail == nil && !row.Retried() {
		return
	}
	c.line("<details><summary>What happened in <b>" + mdescape.Text(row.Name(), 200) + "</b></summary>")
	c.line("")
	c.happened(row)
	if row.Samples > 1 {
		c.line(textfmt.Count(row.Samples, "sample"))
		c.line("")
	}
	c.line("</details>")
	c.line("")
}

// happened shows what was said, what was measured, and how attempts and a second
// prompt did.
func (c *comment) happened(row *report.Row) {
	if row.Detail != nil {
		c.turns(row.Detail.Messages)
		c.criteria(row)
	}
	if row.Retried() {
		c.line(attempts.New(row.Attempts, row.Comparison).Markdown(row.Scale()))
	}
}

// turns quotes the last turns: what was asked, what tools were called, what
// was answered. Earlier ones are a number.
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
		out = append(out, "**"+mdescape.Speaker(m.Role)+", turn "+fmt.Sprint(first+i+1)+"** — "+mdescape.Turn(m))
	}
	c.line("> " + strings.Join(out, "\n>\n> "))
	c.line("")
}

// criteria is a table of those that changed or were not fully met; the others
// are numbers.
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
		name := mdescape.Text(cr.ID, 120)
		if cr.Note != "" {
			name += " <br> <sub>" + mdescape.Text(cr.Note, 200) + "</sub>"
		}
		base := ""
		if withBase {
			base = textfmt.Native(cr.Base, scale) + " | "
		}
		c.line("| " + name + " | " + base + bold(textfmt.Native(cr.Head, scale), worse(cr)) + " |")
	}
	c.line("")
	if rest := others(met, left); rest != "" {
		c.line("<sub>" + rest + "</sub>")
		c.line("")
	}
}

// others counts the criteria that the table leaves out.
func others(met, left int) string {
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
	if c.level == countsOnly || c.r.NotRunReason != "" {
		return
	}
	tables := groupTables(c.r.Groups)
	for _, t := range tables {
		title := t.title()
		if slices.ContainsFunc(tables, func(o groupTable) bool { return o.title() == title && o.dialect != t.dialect }) {
			title += " (" + t.dialect + ")"
		}
		c.groupTable(title, t)
	}
	for _, t := range groupTables(report.Flat(c.r.Conversations)) {
		c.groupTable("By conversation", t)
	}
}

// targets writes how several targets did over the same cases.
func (c *comment) targets() {
	if len(c.r.Targets) == 0 || c.r.NotRunReason != "" {
		return
	}
	c.line("| target | score | Δ | | |")
	c.line("|:--|--:|--:|:--|:--|")
	for _, t := range c.r.Targets {
		delta := ""
		if t.Delta != nil {
			delta = textfmt.Signed(*t.Delta, 2)
		}
		c.line("| " + strings.Join([]string{mdescape.Text(t.Target, 80), textfmt.Score(t.Score, 2), delta, t.Counts(), t.Difference()}, " | ") + " |")
	}
	c.line("")
}

// A groupTable is one dialect's groups, ready to print.
type groupTable struct {
	dialect string
	target  string
	columns []string
	rows    []groupRow
	total   *report.Group
	// pairs of the cases were judged on both sides.
	pairs, cases int
}

// title says what a dialect calls its groups.
func (t *groupTable) title() string {
	if t.dialect == schema.DialectDomain {
		return "By domain and level"
	}
	return "By suite"
}

type groupRow struct {
	group report.Group
	cells map[string]report.Group
}

func groupTables(groups []report.Group) []groupTable {
	var out []groupTable
	for i, g := range groups {
		if len(out) == 0 || out[len(out)-1].dialect != g.Dialect || out[len(out)-1].target != g.Target {
			out = append(out, groupTable{dialect: g.Dialect, target: g.Target})
		}
		t := &out[len(out)-1]
		switch len(g.Path) {
		case 0:
			t.total = &groups[i]
		case 1:
			t.rows = append(t.rows, groupRow{group: g, cells: map[string]report.Group{}})
			t.pairs, t.cases = t.pairs+g.Pairs, t.cases+g.Cases
		case 2:
			name := g.Path[1]
			t.rows[len(t.rows)-1].cells[name] = g
			if !slices.Contains(t.columns, name) {
				t.columns = append(t.columns, name)
			}
		}
	}
	for i := range out {
		slices.SortFunc(out[i].columns, report.CompareNatural)
	}
	return out
}

func (c *comment) groupTable(title string, t groupTable) {
	if t.target != "" {
		title += ": " + mdescape.Text(t.target, 80)
	}
	c.line("<details><summary>" + title + "</summary>")
	c.line("")
	// What a phone shows first is the score; the levels may scroll.
	head, align := "| | score |", "|:--|--:|"
	if t.pairs > 0 {
		head, align = head+" Δ |", align+"--:|"
	}
	for _, name := range t.columns {
		head += " " + mdescape.Text(strings.TrimPrefix(name, "level_"), 30) + " |"
		align += "--:|"
	}
	c.line(head + " cases |")
	c.line(align + "--:|")
	shown := c.limit(len(t.rows))
	for _, row := range t.rows[:shown] {
		c.line(t.line(mdescape.Text(row.group.Path[0], 80), row))
	}
	if rest := len(t.rows) - shown; rest > 0 {
		c.line("| <sub>and " + textfmt.Int(int64(rest)) + " more</sub> |")
	}
	if t.total != nil && len(t.rows) > 1 {
		c.line(t.line("**mean**", groupRow{group: *t.total}))
	}
	if t.pairs > 0 && t.pairs < t.cases {
		c.line("")
		c.line("<sub>Δ is over the " + textfmt.Int(int64(t.pairs)) + " of " + textfmt.Count(t.cases, "case") + " that were judged on both sides</sub>")
	}
	c.line("</details>")
	c.line("")
}

// line is one row of the table.
func (t *groupTable) line(name string, row groupRow) string {
	cells := []string{name, groupScore(row.group)}
	switch d := row.group.Delta; {
	case t.pairs == 0:
	case d == nil:
		cells = append(cells, "")
	default:
		cells = append(cells, bold(textfmt.Short(textfmt.Signed(*d, 2)), *d <= -0.005))
	}
	for _, col := range t.columns {
		cell := ""
		if g, ok := row.cells[col]; ok {
			cell = groupScore(g)
		}
		cells = append(cells, cell)
	}
	cells = append(cells, textfmt.Int(int64(row.group.Cases)))
	return "| " + strings.Join(cells, " | ") + " |"
}

// groupScore is bold where it fell by what can be seen.
func groupScore(g report.Group) string {
	return bold(textfmt.Short(textfmt.Score(g.Score, 2)), g.Delta != nil && *g.Delta <= -0.005)
}
