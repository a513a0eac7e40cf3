package reporters

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/markup"
	"github.com/gavel-evals/gavel/reporters/phrase"
)

// Sections are the rows that a reader wants to see, each row in one of them.
type Sections struct {
	// Blocking rows are regressions and cases that fail without having failed
	// before, the worst first.
	Blocking []*Row
	// Also are errors, then what got better, moved, came or went.
	Also []*Row
	// Planned rows would run, where nothing was run.
	Planned []*Row
	// Regressed and Failing count the blocking rows of each sort.
	Regressed, Failing int
	// Standing counts cases that fail as they did at base.
	Standing int
}

// Arrange sorts the rows of a report into sections.
func Arrange(r *Report) Sections {
	var s Sections
	for i := range r.Cases {
		row := &r.Cases[i]
		kind := blocks(r, row)
		switch {
		case r.NotRun != "" && toRun(row):
			s.Planned = append(s.Planned, row)
		case kind == Regression:
			s.Regressed++
			s.Blocking = append(s.Blocking, row)
		case kind != "":
			s.Failing++
			s.Blocking = append(s.Blocking, row)
		case changed(row) != 0:
			s.Also = append(s.Also, row)
		case row.Verdict != nil && *row.Verdict == verdict.Fail:
			s.Standing++
		}
	}
	slices.SortStableFunc(s.Blocking, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(drop(a), drop(b)))
	})
	slices.SortStableFunc(s.Also, func(a, b *Row) int { return cmp.Compare(changed(a), changed(b)) })
	return s
}

func toRun(row *Row) bool {
	return row.Action == plan.Run || row.Action == plan.Rejudge || row.Action == plan.Redecide
}

// order puts regressions before other failures.
func order(row *Row) int {
	if row.Class != nil && *row.Class == Regression {
		return 0
	}
	return 1
}

// drop sorts by difference, then by score.
func drop(row *Row) float64 {
	switch {
	case row.Score == nil:
		return 1
	case row.BaseScore == nil:
		return *row.Score
	}
	return *row.Score - *row.BaseScore
}

// blocks says why a row speaks against the change: Regression, New for a case
// that fails and did not at base, Unchanged for one that fails as at base
// where the gate asks for no failure at all. Empty for all others; cases in
// error are not among them.
func blocks(r *Report, row *Row) Class {
	if row.Class != nil && *row.Class == Regression {
		return Regression
	}
	if row.Verdict == nil {
		return ""
	}
	strict := r.Gate.FailOn == FailOnAny
	bad := *row.Verdict == verdict.Fail || strict && *row.Verdict == verdict.Borderline
	switch {
	case !bad:
		return ""
	case row.Class == nil, *row.Class == New, *row.Class == Unclear:
		return New
	case strict:
		return Unchanged
	}
	return ""
}

// changed ranks the other rows that a reader wants to see; 0 for the rest.
func changed(row *Row) int {
	if row.Class == nil {
		switch {
		case row.Error != nil:
			return 1
		case row.BaseVerdict != nil && row.Verdict != nil && *row.Verdict == verdict.Skipped:
			return 6
		}
		return tried(row)
	}
	switch *row.Class {
	case Failed:
		return 1
	case Improvement:
		return 2
	case Unclear:
		return 3
	case Flaky:
		return 4
	case New:
		return 7
	case Gone:
		return 8
	case Moved:
		return 9
	}
	if moved(row) {
		return 5
	}
	return tried(row)
}

// tried ranks cases that passed in a way that has to be told.
func tried(row *Row) int {
	if row.Trial != nil && row.Verdict != nil && *row.Verdict == verdict.Pass {
		return 10
	}
	return 0
}

// moved reports whether the score differs by what two decimals can show.
func moved(row *Row) bool {
	return row.Score != nil && row.BaseScore != nil && math.Abs(*row.Score-*row.BaseScore) >= 0.005
}

// name is the key of a row, linked to its line at the commit that has it.
func (c *comment) name(row *Row) string {
	sha := c.o.HeadSHA
	if row.Action == plan.Removed {
		sha = c.o.BaseSHA
	}
	return markup.Link(markup.Text(row.Name(), 200), c.o.blob(sha, row.File, row.Line))
}

// blocking writes the table of what speaks against the change, and a fold for
// each of its cases.
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
	for _, row := range rows[:shown] {
		c.line("| " + numbers(row) + " | " + c.blockingCell(row) + " |")
	}
	c.rest(len(rows) - shown)
	c.line("")
	if c.level == full {
		for _, row := range rows {
			c.fold(row)
		}
	}
}

func (c *comment) blockingCell(row *Row) string {
	label := ""
	switch {
	case row.Class != nil && *row.Class == New:
		label = "new · "
	case row.Class != nil && *row.Class == Unclear:
		label = "not judged at base · "
	}
	cell := []string{verdictIcon(row.Verdict) + " " + label + c.name(row)}
	if row.Reason != "" {
		cell = append(cell, markup.Text(row.Reason, 240))
	}
	if why := c.why(row); why != "" {
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

func (c *comment) why(row *Row) string { return markup.Text(Why(c.r, row), 260) }

// numbers is the left cell of a blocking row: the difference, and both scores.
func numbers(row *Row) string {
	switch {
	case row.Score == nil:
		return ""
	case row.BaseScore == nil:
		return "**" + scoreOf(row) + "**"
	}
	return fmt.Sprintf("**%s** <br> <sub>%s&nbsp;→&nbsp;%s</sub>",
		row.Change(), row.Shown(row.BaseScore), row.Shown(row.Score))
}

// rest ends a table with what it leaves out.
func (c *comment) rest(n int) {
	if n > 0 {
		c.line("| | <sub>and " + phrase.Int(int64(n)) + " more</sub> |")
	}
}

// A long list of what did not hurt is folded.
const foldRows = 15

func (c *comment) alsoChanged() {
	rows := c.rows.Also
	shown := c.limit(len(rows))
	if shown > 0 {
		title := "Also changed"
		switch {
		case !slices.ContainsFunc(rows, func(row *Row) bool { return Label(row) != "error" }):
			title = "Not judged"
		case !slices.ContainsFunc(rows, func(row *Row) bool { return Label(row) != "passed" }):
			title = "Tried again or compared"
		case len(c.rows.Blocking) == 0:
			title = "Changed"
		}
		if shown > foldRows {
			c.line("<details><summary>" + title + ": " + phrase.Count(len(rows), "case") + "</summary>")
			c.line("")
		}
		c.line("| | " + title + " |")
		c.line("|--:|:--|")
		for _, row := range rows[:shown] {
			left, right := c.alsoCells(row)
			c.line("| " + left + " | " + right + " |")
		}
		c.rest(len(rows) - shown)
		if shown > foldRows {
			c.line("</details>")
		}
		c.line("")
		for _, row := range rows[:shown] {
			if row.Trial != nil && c.level == full {
				c.fold(row)
			}
		}
	}
	if counts := c.counts(); counts != "" {
		c.line(counts)
		c.line("")
	}
}

// counts names the classes by number where the rows are not shown, and always
// the cases that fail as they did at base.
func (c *comment) counts() string {
	var parts []string
	add := func(n int, noun string) {
		if n > 0 {
			parts = append(parts, phrase.Count(n, noun))
		}
	}
	if c.level == countsOnly {
		d := c.r.Diff
		add(d.Unclear, "unclear case")
		add(d.New, "new case")
		add(d.Removed, "removed case")
		add(d.Moved, "moved case")
	}
	if standing := c.rows.StandingText(); standing != "" {
		parts = append(parts, standing)
	}
	return strings.Join(parts, " · ")
}

func (c *comment) alsoCells(row *Row) (left, right string) {
	label := Label(row)
	right = markup.Icon(label) + " " + label + " · " + c.name(row)
	switch label {
	case "improved":
		return "**" + delta(row) + "**", right + c.small(c.why(row))
	case "moved":
		return "", right + " <sub>" + markup.Text(Remark(row), 220) + "</sub>"
	case "removed":
		return formerScore(row), right
	case "new", "flaky", "unclear", "passed":
		return delta(row), right + c.small(markup.Text(Remark(row), 240))
	case "error", "skipped":
		return formerScore(row), right + c.small(markup.Text(Remark(row), 240))
	}
	return delta(row), right + c.small(c.why(row))
}

func formerScore(row *Row) string {
	if row.BaseScore == nil {
		return ""
	}
	return "<sub>was&nbsp;" + row.Shown(row.BaseScore) + "</sub>"
}

// Label is the word for what happened to a row that does not block: improved,
// unclear, flaky, new, removed, moved, error, skipped, passed, lower or higher.
func Label(row *Row) string {
	kind := Unchanged
	if row.Class != nil {
		kind = *row.Class
	}
	switch kind {
	case Improvement:
		return "improved"
	case Unclear, Flaky, New, Gone, Moved, Failed:
		return string(kind)
	}
	switch {
	case row.Error != nil:
		return "error"
	case row.Verdict != nil && *row.Verdict == verdict.Skipped:
		return "skipped"
	case tried(row) > 0 && !moved(row):
		return "passed"
	case drop(row) < 0:
		return "lower"
	}
	return "higher"
}

// Remark is what has to be said about such a row beside its label; may be
// empty.
func Remark(row *Row) string {
	switch Label(row) {
	case "error":
		if row.Error != nil {
			return *row.Error
		}
	case "unclear":
		return "base has no verdict to compare with"
	case "flaky":
		return fmt.Sprintf("%s → %s under the same definition", *row.BaseVerdict, *row.Verdict)
	case "new":
		if row.Verdict != nil && *row.Verdict == verdict.Skipped {
			return "skipped"
		}
	case "moved":
		return "from " + deref(row.MovedFrom)
	case "skipped":
		return plan.Summarise(row.Reasons)
	case "passed":
		return row.Trial.Remark(row.Scale())
	}
	return ""
}

func (c *comment) small(s string) string {
	if s == "" {
		return ""
	}
	return " <br> <sub>" + s + "</sub>"
}

func delta(row *Row) string {
	if row.Score == nil || row.BaseScore == nil {
		return scoreOf(row)
	}
	return row.Change()
}

func scoreOf(row *Row) string {
	if row.Score == nil {
		return ""
	}
	if row.Ungated {
		return row.Shown(row.Score) + " ungated"
	}
	return row.Shown(row.Score)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// planned writes what would run where nothing may yet.
func (c *comment) planned() {
	rows := c.rows.Planned
	if len(rows) == 0 {
		return
	}
	c.alert("NOTE", []string{"**Nothing was run:** " + markup.Text(c.r.NotRun, 300)})
	shown := c.limit(len(rows))
	if shown == 0 {
		return
	}
	c.line("| | Would run |")
	c.line("|--:|:--|")
	for _, row := range rows[:shown] {
		why := markup.Text(plan.Summarise(row.Reasons), 240)
		c.line("| " + markup.Text(plannedWord(row.Action), 20) + " | " + c.name(row) + c.small(why) + " |")
	}
	c.rest(len(rows) - shown)
	c.line("")
}

func plannedWord(a plan.Action) string {
	switch a {
	case plan.Rejudge:
		return "judge"
	case plan.Redecide:
		return "decide"
	}
	return string(a)
}
