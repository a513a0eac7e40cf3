package comment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// ContextDrift is the status context of a branch that is judged on a schedule.
const ContextDrift = "gavel/drift"

// A drift sorts the cases of a report.
type drift struct {
	report *report.Report
	// worse and better have a changed verdict, the largest change of the score first.
	worse, better []*report.Row
	// unjudged should have been judged and were not, excluding broken ones.
	unjudged []*report.Row
	judged   int
	// first counts cases that were judged for the first time.
	first int
}

// newDrift sorts the cases of a report that compares a commit with itself.
func newDrift(r *report.Report) drift {
	d := drift{report: r}
	for i := range r.Cases {
		row := &r.Cases[i]
		switch {
		case row.Invalid():
		case row.Error != nil:
			d.unjudged = append(d.unjudged, row)
		case row.Class == nil || row.Verdict == nil || *row.Verdict == verdict.Skipped:
		default:
			d.judged++
			d.sort(row)
		}
	}
	for _, rows := range [][]*report.Row{d.worse, d.better} {
		slices.SortStableFunc(rows, func(a, b *report.Row) int { return cmp.Compare(moved(b), moved(a)) })
	}
	return d
}

// Worse reports whether the verdict of a row is worse than the one before.
func Worse(row *report.Row) bool {
	return row.Error == nil && row.BaseVerdict != nil && row.Verdict != nil && row.Verdict.Rank() < row.BaseVerdict.Rank()
}

func (d *drift) sort(row *report.Row) {
	if row.BaseVerdict == nil {
		d.first++
		return
	}
	switch {
	case Worse(row):
		d.worse = append(d.worse, row)
	case row.Verdict.Rank() > row.BaseVerdict.Rank():
		d.better = append(d.better, row)
	}
}

// moved returns the change of a score.
func moved(row *report.Row) float64 {
	if row.Score == nil || row.BaseScore == nil {
		return 0
	}
	return max(*row.Score-*row.BaseScore, *row.BaseScore-*row.Score)
}

// state returns success if no verdict got worse, unless something was not judged.
func (d *drift) state() State {
	switch {
	case d.report.NotRunReason != "":
		return StateError
	case len(d.worse) > 0:
		return StateFailure
	case len(d.unjudged) > 0 || d.judged == 0 || report.InvalidFiles(d.report.Problems) > 0:
		return StateError
	}
	return StateSuccess
}

// headline summarizes the result in one line of plain text that still has to be
// escaped.
func (d *drift) headline() string {
	if d.report.NotRunReason != "" {
		return textfmt.Line(d.report.NotRunReason)
	}
	cases := textfmt.Count(d.judged, "case")
	var line string
	switch changed := len(d.worse) + len(d.better); {
	case d.judged == 0:
		line = "no case was judged"
	case d.judged == d.first:
		line = cases + " judged for the first time"
	case changed == 0:
		line = "no verdict of " + cases + " changed"
	case len(d.worse) == 0:
		line = fmt.Sprintf("%s of %s got better", textfmt.Count(changed, "verdict"), cases)
	case len(d.better) == 0:
		line = fmt.Sprintf("%s of %s got worse", textfmt.Count(changed, "verdict"), cases)
	default:
		line = fmt.Sprintf("%s of %s changed, %d for the worse", textfmt.Count(changed, "verdict"), cases, len(d.worse))
	}
	if n := len(d.unjudged); n > 0 {
		line += fmt.Sprintf(", %s not judged", textfmt.Int(int64(n)))
	}
	if n := report.InvalidFiles(d.report.Problems); n > 0 {
		line += ", " + textfmt.Count(n, "invalid definition")
	}
	return line
}

// scores describes the change of the mean, or is empty.
func (d *drift) scores() string {
	x := d.report.Diff
	if x.Delta == nil || *x.Delta == 0 {
		return ""
	}
	return fmt.Sprintf("score %s → %s (%s)", textfmt.Score(x.ScoreBase, 3), textfmt.Score(x.ScoreHead, 3), reporters.Difference(d.report))
}

// NewDriftStatus renders a report as one status, without a target URL: success if no
// verdict got worse, failure if one did, error if that is unknown.
func NewDriftStatus(r *report.Report) Status {
	d := newDrift(r)
	words := d.headline()
	if scores := d.scores(); scores != "" {
		words += " · " + scores
	}
	return Status{Context: ContextDrift, State: d.state(), Description: words}
}

// Changed counts the verdicts of a scheduled report that got worse and better.
func Changed(r *report.Report) (worse, better int) {
	d := newDrift(r)
	return len(d.worse), len(d.better)
}

// DriftOptions describe the place of a comment.
type DriftOptions struct {
	// Branch is the judged branch.
	Branch string
	// Due is the scheduled time.
	Due time.Time
	// RepositoryURL is the repository's page. Without it nothing is linked.
	RepositoryURL string
	// MaxBytes limits the comment. Defaults to [MaxBytes].
	MaxBytes int
}

// DriftMarkdown renders the only comment of an issue about a branch. Beyond MaxBytes it
// is rendered again with less content, never cut.
func DriftMarkdown(r *report.Report, o DriftOptions) string {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	d := newDrift(r)
	rows := len(r.Cases)
	for _, most := range []int{rows, min(rows, 100), min(rows, 20)} {
		if text := d.markdown(o, most); len(text) <= o.MaxBytes {
			return text
		}
	}
	return d.markdown(o, 0)
}

func (d *drift) markdown(o DriftOptions, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- gavel:drift branch=%s -->\n", textfmt.MarkerName(o.Branch))
	fmt.Fprintf(&b, "### %s %s: %s\n", driftIcon(d.state()), textfmt.Markdown(o.Branch, 100), textfmt.Markdown(d.headline(), 200))
	var about []string
	if scores := d.scores(); scores != "" {
		about = append(about, strings.ToUpper(scores[:1])+scores[1:])
	}
	if head := d.report.Head; head != nil && len(*head) == 40 {
		page := textfmt.WebAddress(o.RepositoryURL)
		if page != "" {
			page += "/commit/" + *head
		}
		about = append(about, textfmt.MarkdownLink("`"+(*head)[:7]+"`", page))
	}
	about = append(about, "judged again, due "+o.Due.UTC().Format("2006-01-02 15:04 UTC"))
	b.WriteString(strings.Join(about, " · ") + "\n\n")
	d.table(&b, o, section{"Worse", d.worse, most})
	d.table(&b, o, section{"Better", d.better, most})
	d.table(&b, o, section{"Not judged", d.unjudged, most})
	foot := []string{textfmt.Markdown(reporters.Cost(d.report), 200)}
	if d.first > 0 && d.first < d.judged {
		foot = append(foot, textfmt.Count(d.first, "case")+" judged for the first time")
	}
	b.WriteString("<sub>" + strings.Join(foot, " · "))
	if night := d.report.Nightly.String(); night != "" {
		b.WriteString(" <br> " + textfmt.Markdown(night, 300))
	}
	b.WriteString("</sub>\n")
	return b.String()
}

func driftIcon(s State) string {
	switch s {
	case StateSuccess:
		return "✅"
	case StateFailure:
		return "❌"
	}
	return "⚠️"
}

// A section is a table with a bounded number of rows.
type section struct {
	title string
	rows  []*report.Row
	most  int
}

func (d *drift) table(b *strings.Builder, o DriftOptions, s section) {
	if len(s.rows) == 0 {
		return
	}
	if s.most == 0 {
		fmt.Fprintf(b, "%s: %s\n\n", s.title, textfmt.Count(len(s.rows), "case"))
		return
	}
	fmt.Fprintf(b, "| | %s |\n|--:|:--|\n", s.title)
	shown := min(len(s.rows), s.most)
	for _, row := range s.rows[:shown] {
		b.WriteString("| " + scoreChange(row) + " | " + d.cell(o, row) + " |\n")
	}
	if rest := len(s.rows) - shown; rest > 0 {
		fmt.Fprintf(b, "| | <sub>and %s more</sub> |\n", textfmt.Int(int64(rest)))
	}
	b.WriteString("\n")
}

func (d *drift) cell(o DriftOptions, row *report.Row) string {
	head := ""
	if d.report.Head != nil {
		head = *d.report.Head
	}
	out := textfmt.MarkdownLink(textfmt.Markdown(row.Name(), 200), Blob(o.RepositoryURL, head, row.File, row.Line))
	why := row.VerdictReason
	switch {
	case row.Error != nil:
		why = *row.Error
	case row.BaseVerdict != nil && row.Verdict != nil:
		out = fmt.Sprintf("%s → %s · %s", *row.BaseVerdict, *row.Verdict, out)
	}
	if why != "" {
		out += " <br> " + textfmt.Markdown(why, 240)
	}
	return out
}

// scoreChange formats the difference and both scores.
func scoreChange(row *report.Row) string {
	if row.Score == nil || row.BaseScore == nil {
		return ""
	}
	return fmt.Sprintf("**%s** <br> <sub>%s&nbsp;→&nbsp;%s</sub>", row.Change(), row.Shown(row.BaseScore), row.Shown(row.Score))
}
