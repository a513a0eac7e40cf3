package drift

import (
	"fmt"
	"strings"
	"time"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/github"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Options say where a comment will be shown.
type Options struct {
	// Branch is whose commit was judged.
	Branch string
	// Due is the time by the clock.
	Due time.Time
	// RepositoryURL is the repository's page. Without it nothing is linked.
	RepositoryURL string
	// MaxBytes limits the comment. Defaults to [comment.MaxBytes].
	MaxBytes int
}

// Markdown renders the one comment that an issue has about a branch. Where it
// would grow past MaxBytes it is rendered again with less, never cut.
func Markdown(r *report.Report, o Options) string {
	if o.MaxBytes == 0 {
		o.MaxBytes = comment.MaxBytes
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

func (d *drift) markdown(o Options, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- gavel:drift branch=%s -->\n", textfmt.MarkerName(o.Branch))
	fmt.Fprintf(&b, "### %s %s: %s\n", icon(d.state()), textfmt.Markdown(o.Branch, 100), textfmt.Markdown(d.headline(), 200))
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

func icon(s github.State) string {
	switch s {
	case github.Success:
		return "✅"
	case github.Failure:
		return "❌"
	}
	return "⚠️"
}

// A section is a table of which at most so many rows are shown.
type section struct {
	title string
	rows  []*report.Row
	most  int
}

func (d *drift) table(b *strings.Builder, o Options, s section) {
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
		b.WriteString("| " + numbers(row) + " | " + d.cell(o, row) + " |\n")
	}
	if rest := len(s.rows) - shown; rest > 0 {
		fmt.Fprintf(b, "| | <sub>and %s more</sub> |\n", textfmt.Int(int64(rest)))
	}
	b.WriteString("\n")
}

func (d *drift) cell(o Options, row *report.Row) string {
	head := ""
	if d.report.Head != nil {
		head = *d.report.Head
	}
	out := textfmt.MarkdownLink(textfmt.Markdown(row.Name(), 200), comment.Blob(o.RepositoryURL, head, row.File, row.Line))
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

// numbers is the difference, and both scores.
func numbers(row *report.Row) string {
	if row.Score == nil || row.BaseScore == nil {
		return ""
	}
	return fmt.Sprintf("**%s** <br> <sub>%s&nbsp;→&nbsp;%s</sub>", row.Change(), row.Shown(row.BaseScore), row.Shown(row.Score))
}
