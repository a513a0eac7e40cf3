package comment

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// commands lists the executed and refused commands. Accepted cases mention it
// themselves, and a notice lists the quarantined ones.
func (c *comment) commands() {
	const most = 10
	var said []string
	for _, o := range c.r.Commands {
		if o.Verb != report.CommandAccept && o.Verb != report.CommandQuarantine {
			said = append(said, textfmt.Markdown(o.String(), 200))
		}
	}
	for _, line := range c.o.Refused {
		said = append(said, textfmt.Markdown(line, 300))
	}
	if len(said) == 0 {
		return
	}
	if earlier := len(said) - most; earlier > 0 {
		said = append([]string{textfmt.Int(int64(earlier)) + " earlier"}, said[earlier:]...)
	}
	c.alert("NOTE", []string{strings.Join(said, " <br> ")})
}

// Explain renders everything in a report about one row, as a separate comment. marker
// is its first line.
func Explain(r *report.Report, row *report.Row, marker string, o Options) string {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	if r.Head != nil {
		o.HeadSHA = *r.Head
	}
	if r.Base != nil {
		o.BaseSHA = *r.Base
	}
	c := comment{r: r, o: o}
	c.line(marker)
	said := "no verdict"
	if row.Verdict != nil {
		said = string(*row.Verdict)
	}
	c.line("**" + c.name(row) + "**: " + said + scores(row) + ", at " + c.commits())
	c.line("")
	for _, text := range []string{row.VerdictReason, deref(row.Error), reporters.Why(r, row), reporters.Remark(row)} {
		if text != "" {
			c.line(textfmt.Markdown(text, 1000))
			c.line("")
		}
	}
	c.writeTranscript(row)
	effort := []string{textfmt.Count(row.Samples, "sample"), textfmt.Count(row.Calls, "call")}
	c.line("<sub>" + strings.Join(effort, ", ") + " in the last run</sub>")
	return c.b.String()
}

// scores formats both scores of a row, if there are any.
func scores(row *report.Row) string {
	switch {
	case row.Score == nil:
		return ""
	case row.BaseScore == nil:
		return ", " + scoreOf(row)
	}
	return ", " + row.Shown(row.BaseScore) + " → " + row.Shown(row.Score)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// approval matches the command that allows a commit to run.
var approval = lazyregexp.New(`\A/gavel approve [0-9a-f]{7,40}\z`)

// approve returns the command that this pull request waits for; empty for none.
func (c *comment) approve() string {
	for _, command := range c.o.Commands {
		if approval.MatchString(command) {
			return command
		}
	}
	return ""
}

// approval writes the awaited command as a block that people can copy.
func (c *comment) approval() {
	c.block("To run this commit, somebody with write permission comments:", c.approve())
	c.block("To have this commit judged without what it changes of the targets, somebody with write permission comments:", c.acceptance())
}

// acceptance returns the command that clears the commit's target changes; empty for
// none.
func (c *comment) acceptance() string {
	if c.r.TargetChanges == nil {
		return ""
	}
	for _, command := range c.o.Commands {
		if command == "/gavel accept "+c.r.TargetChanges.File+" <reason>" {
			return command
		}
	}
	return ""
}

// block writes an awaited command, if there is one.
func (c *comment) block(says, command string) {
	if command == "" {
		return
	}
	c.line(says)
	c.line("")
	c.line("```")
	c.line(command)
	c.line("```")
	c.line("")
}
