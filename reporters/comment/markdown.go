// Package comment puts a report on a pull request: the comment ([Markdown]), two
// statuses ([NewStatuses]) and a check run ([NewCheck]), and for a branch that is
// judged on a schedule the comment of an issue ([DriftMarkdown]). These functions are
// pure.
//
// A [Publisher] writes them to the forge. It decides nothing about a verdict, and a
// failure to publish changes none. The client handles credentials, limits and the pace
// of writing. The publisher looks before it repeats a write whose answer was lost.
package comment

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/textfmt"
	"github.com/gavel-evals/gavel/schema"
)

// MaxBytes is the default of Options.MaxBytes. GitHub accepts 65,536 characters; the
// rest is a reserve for servers that count differently.
const MaxBytes = 60_000

// Options describe the place of a comment.
type Options struct {
	// RepositoryURL is the repository's page, https://github.com/owner/name.
	// Without it nothing is linked.
	RepositoryURL string
	// HeadSHA and BaseSHA are the commits of file links, 40 hex digits. They default to
	// the report's.
	HeadSHA, BaseSHA string
	// RunURL is the page of the full report; empty without one.
	RunURL string
	// MaxBytes limits the comment. Defaults to MaxBytes.
	MaxBytes int
	// Refused are lines about refused commands.
	Refused []string
	// Commands are useful commands for a comment or a shell, ready to copy.
	Commands []string
	// Hint explains who reads them, if that is not obvious.
	Hint string
}

// Marker is the first line of every comment.
const Marker = "<!-- gavel:report instance=default -->"

// Markdown renders the comment of a pull request: the marker, one line of judgement,
// warnings about a green gate, then the cases. Beyond MaxBytes it is rendered again
// with less content, never cut. It is pure: equal reports give equal comments.
func Markdown(r *report.Report, o Options) string {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	if o.HeadSHA == "" && r.Head != nil {
		o.HeadSHA = *r.Head
	}
	if o.BaseSHA == "" && r.Base != nil {
		o.BaseSHA = *r.Base
	}
	sorted := reporters.Arrange(r)
	return fitting(o.MaxBytes, longest(r), func(room room) string {
		c := comment{r: r, o: o, room: room, rows: sorted}
		return c.render()
	})
}

// A comment is one rendering at one size.
type comment struct {
	r    *report.Report
	o    Options
	room room
	rows reporters.Sections
	b    strings.Builder
	// opened folds are in the text, deferred ones go into the last.
	opened   int
	deferred []fold
	// cases are folds about cases, left the ones without room.
	cases, left int
}

func (c *comment) render() string {
	c.line(Marker)
	c.line("### " + c.headline())
	c.line(c.scoreLine())
	if said := c.r.PassK.String(); said != "" {
		c.line(textfmt.Markdown("P"+said[1:]+".", 200))
	}
	if said := reporters.Answers(c.r); said != "" {
		c.line(textfmt.Markdown("A"+said[1:], 600))
	}
	for i, said := range reporters.Lift(c.r) {
		if i == 0 {
			said = "Lift: " + said
		}
		c.line("")
		c.line(textfmt.Markdown(said+".", 1200))
	}
	for i, said := range reporters.Triggers(c.r) {
		if i == 0 {
			said = "Triggers of " + said
		}
		c.line("")
		c.line(textfmt.Markdown(said+".", 600))
	}
	if said := reporters.Seen(c.r); said != "" {
		c.line("<sub>" + textfmt.Markdown(said, 600) + "</sub>")
	}
	c.line("")
	c.problems()
	c.notices()
	c.commands()
	c.planned()
	c.targets()
	c.blocking()
	c.alsoChanged()
	c.groups()
	c.labels()
	c.warnings()
	c.lastFold()
	c.next()
	c.line(c.foot())
	return c.b.String()
}

// line writes one line and stops growing once the comment is too long anyway.
func (c *comment) line(s string) {
	if !c.isTooLong() {
		c.b.WriteString(s)
		c.b.WriteByte('\n')
	}
}

// isTooLong reports whether the text has passed the limit of a comment, so that rendering can stop.
func (c *comment) isTooLong() bool { return c.b.Len() > c.o.MaxBytes && c.room.rows > 0 }

// limit returns the number of rows that a table shows at this size, out of n.
func (c *comment) limit(n int) int { return min(n, c.room.rows) }

// limitAlso is limit for rows that block nothing.
func (c *comment) limitAlso(n int) int { return min(n, c.room.also) }

// headline is Headline with a sign for the state.
func (c *comment) headline() string {
	r := c.r
	icon := "✅"
	switch {
	case report.InvalidFiles(r.Problems) > 0 || r.Gate.Result == report.GateFail:
		icon = "❌"
	case c.waits() && r.Gate.Result == report.GateUndetermined:
		icon = "⏸️"
	case r.Gate.Result != report.GatePass || len(c.rows.Blocking) > 0 || r.ScoresFell() != "":
		icon = "⚠️"
	}
	said := textfmt.Markdown(c.rows.Headline(r), 200)
	switch {
	case c.approve() == "" && c.acceptance() != "":
		said += " · waits for an acceptance"
	case c.approve() == "":
	case c.waits():
		said = "Waiting for approval: " + strings.TrimPrefix(said, "Gate undetermined: ")
	default:
		said += " · the rest waits for approval"
	}
	return icon + " " + said
}

// waits reports whether nothing, or not each definition, is judged before an approval.
func (c *comment) waits() bool {
	return c.r.NotRunReason != "" || report.WaitingFiles(c.r.Problems) > 0
}

func (c *comment) scoreLine() string {
	r := c.r
	var parts []string
	switch d := r.Diff; {
	case !reporters.Scored(r):
	case d.Delta != nil && *d.Delta != 0:
		parts = append(parts, fmt.Sprintf("Score **%s → %s** (%s)", textfmt.Score(d.ScoreBase, 3), textfmt.Score(d.ScoreHead, 3), reporters.Difference(r))+c.scope()+reporters.DespiteFailures(r, d.ScoreHead))
	case d.Delta != nil:
		parts = append(parts, "Score **"+textfmt.Score(d.ScoreHead, 3)+"**, unchanged"+c.scope()+reporters.DespiteFailures(r, d.ScoreHead))
	case r.Summary.Score != nil:
		parts = append(parts, "Score **"+textfmt.Score(r.Summary.Score, 3)+"**"+reporters.DespiteFailures(r, r.Summary.Score))
	}
	if reporters.Unexamined(r) {
		parts = append(parts, c.commit(r.Head, c.o.HeadSHA))
	} else {
		parts = append(parts, reporters.Effort(c.r), c.commits())
	}
	if page := textfmt.WebAddress(c.o.RunURL); page != "" {
		parts = append(parts, textfmt.MarkdownLink("full report", page))
	}
	line := strings.Join(parts, " · ")
	return strings.ToUpper(line[:1]) + line[1:]
}

// scope names the compared cases if they are not all active ones.
func (c *comment) scope() string {
	pairs, active := c.r.Diff.Pairs, c.r.Summary.Cases-c.r.Summary.Skipped
	if pairs >= active {
		return ""
	}
	return " over the " + textfmt.Count(pairs, "case") + " on both sides"
}

func (c *comment) commits() string {
	out := c.commit(c.r.Head, c.o.HeadSHA)
	if c.r.Base == nil {
		return out + " without a base"
	}
	return out + " against " + c.commit(c.r.Base, c.o.BaseSHA)
}

func (c *comment) commit(name *string, sha string) string {
	if isCommit(sha) {
		page := textfmt.WebAddress(c.o.RepositoryURL)
		if page != "" {
			page += "/commit/" + sha
		}
		return textfmt.MarkdownLink("`"+sha[:7]+"`", page)
	}
	if name == nil {
		return "unknown"
	}
	return textfmt.Markdown(*name, 60)
}

// alert writes one of GitHub's alerts with a list of paragraphs.
func (c *comment) alert(kind string, paragraphs []string) {
	c.line("> [!" + kind + "]")
	c.line("> " + strings.Join(paragraphs, "\n>\n> "))
	c.line("")
}

// problems lists the mistakes in the definitions.
func (c *comment) problems() {
	var bad, waiting []schema.Problem
	for _, p := range c.r.Problems {
		switch {
		case p.Severity != schema.Error:
		case p.Rule == schema.RuleWaits:
			waiting = append(waiting, p)
		default:
			bad = append(bad, p)
		}
	}
	n := report.InvalidFiles(bad)
	title := fmt.Sprintf("**%s %s invalid and %s not run**", textfmt.Count(n, "definition"), textfmt.Verb(n, "is", "are"), textfmt.Verb(n, "was", "were"))
	if report.OutOfBounds(bad) {
		title = "**Nothing of this commit was run**"
	}
	c.listed("CAUTION", title, bad)
	n = report.WaitingFiles(waiting)
	c.listed("NOTE", fmt.Sprintf("**%s %s for approval, and %s not run**", textfmt.Count(n, "definition"), textfmt.Verb(n, "waits", "wait"), textfmt.Verb(n, "was", "were")), waiting)
}

// listed writes problems under a title, if there are any.
func (c *comment) listed(kind, title string, bad []schema.Problem) {
	if len(bad) == 0 {
		return
	}
	out := []string{title}
	bad = reporters.Causes(bad)
	shown := c.limit(len(bad))
	for _, p := range bad[:shown] {
		out = append(out, c.problem(p))
	}
	if rest := len(bad) - shown; rest > 0 {
		out = append(out, textfmt.Count(rest, "problem")+" "+more(shown))
	}
	c.alert(kind, out)
}

// problem returns the place of a problem, its message and its repair.
func (c *comment) problem(p schema.Problem) string {
	where := textfmt.MarkdownLink(textfmt.Markdown(p.Position.String(), 200), c.o.blob(c.o.HeadSHA, p.File, p.Line))
	if p.Rule == schema.RuleOutOfBounds { // it concerns a folder, or everything
		where = textfmt.Markdown(strings.TrimPrefix(p.File, "."), 200)
	}
	what := textfmt.Markdown(p.Message, 300)
	if p.Hint != "" {
		what += "; " + textfmt.Markdown(p.Hint, 300)
	}
	return strings.TrimPrefix(where+" <br> "+what, " <br> ")
}

// warnings folds a table of the warnings about the definitions.
func (c *comment) warnings() {
	all := slices.DeleteFunc(slices.Clone(c.r.Problems), func(p schema.Problem) bool { return p.Severity != schema.Warning })
	if len(all) == 0 {
		return
	}
	title := textfmt.Count(len(all), "warning") + " in the definitions"
	all = reporters.Causes(schema.SortProblems(all))
	c.fold(fold{title: title, body: func() {
		c.line("| warning |")
		c.line("|:--|")
		shown := c.limitAlso(len(all))
		for _, p := range all[:shown] {
			c.line("| " + c.problem(p) + " |")
		}
		if rest := len(all) - shown; rest > 0 {
			c.line("| <sub>and " + textfmt.Int(int64(rest)) + " more</sub> |")
		}
	}})
}

// more ends the line that counts omitted rows.
func more(shown int) string {
	if shown > 0 {
		return "more"
	}
	return "in all"
}

func (c *comment) notices() {
	all := append(c.r.Notices[:len(c.r.Notices):len(c.r.Notices)], unread(c.r.Problems)...)
	if len(all) == 0 {
		return
	}
	var out []string
	shown := c.limit(len(all))
	for _, n := range all[:shown] {
		name, sha := n.Case, c.o.HeadSHA
		if name == "" {
			name = n.File
		}
		if n.AtBase {
			sha = c.o.BaseSHA
		}
		out = append(out, strings.TrimSpace(textfmt.MarkdownLink(textfmt.Markdown(name, 200), c.o.blob(sha, n.File, n.Line))+" "+textfmt.Markdown(n.Message, 300)))
	}
	if rest := len(all) - shown; rest > 0 {
		out = append(out, textfmt.Count(rest, "change")+" "+more(shown)+" that can hide a failure")
	}
	c.alert("WARNING", out)
}

// unread returns notices about unread files that were probably meant as definitions:
// nobody judges their cases, and nothing else shows that.
func unread(problems []schema.Problem) []report.Notice {
	var out []report.Notice
	for _, p := range problems {
		if p.Severity == schema.Warning && (p.Rule == schema.RuleLooksLike || p.Rule == schema.RuleNoDefinition) {
			out = append(out, report.Notice{File: p.File, Line: p.Line, Message: p.Message})
		}
	}
	return out
}

// wordsPage explains the words of verdicts.
const wordsPage = "https://github.com/gavel-evals/gavel/blob/main/examples/pull-requests.md#the-words"

// usesWords reports whether the comment has words that need an explanation, such as
// flaky.
func (c *comment) usesWords() bool {
	d := c.r.Diff
	return d.Regressions+d.Unclear+d.Flaky > 0 || c.r.Remeasured != nil && c.r.Remeasured.Mean.Called || c.r.ScoresFell() != "" ||
		strings.Contains(c.scoreLine(), "may be noise") || strings.Contains(c.r.Gate.Reason, "(±")
}

func (c *comment) foot() string {
	r := c.r
	var parts []string
	if !reporters.Unexamined(r) { // the headline has the gate's reason
		parts = append(parts, textfmt.Markdown(r.Gate.String(), 400))
	}
	if r.NotRunReason == "" {
		parts = append(parts, textfmt.Markdown(reporters.Cost(r), 200))
	}
	if n := r.Summary.AsksNothing; n > 0 {
		parts = append(parts, textfmt.Count(n, "case")+" "+textfmt.Verb(n, "asks", "ask")+" nothing of the answer")
	}
	if d := r.ConfigDigest; len(d) >= 7 && isHex(d) {
		parts = append(parts, "config `"+d[:7]+"`")
	}
	if c.usesWords() {
		parts = append(parts, textfmt.MarkdownLink("what these words mean", wordsPage))
	}
	var commands []string
	for _, cmd := range c.o.Commands {
		if !approval.MatchString(cmd) && cmd != c.acceptance() { // they have their own blocks
			commands = append(commands, "<code>"+textfmt.Markdown(cmd, 100)+"</code>")
		}
	}
	lines := []string{strings.Join(parts, " · ")}
	if len(commands) > 0 {
		lines = append(lines, strings.Join(commands, " · "))
		if c.o.Hint != "" {
			lines = append(lines, textfmt.Markdown(c.o.Hint, 200))
		}
	}
	if lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" }); len(lines) == 0 {
		return ""
	}
	return "<sub>" + strings.Join(lines, " <br> ") + "</sub>"
}

func (o Options) blob(commit, file string, line int) string {
	return Blob(o.RepositoryURL, commit, file, line)
}

// Blob returns the address of a line of a file at a commit of the repository with a
// page; empty if a forge cannot show the commit or the path.
func Blob(repositoryURL, commit, file string, line int) string {
	repo := textfmt.WebAddress(repositoryURL)
	if repo == "" || !isCommit(commit) || file == "" || strings.HasPrefix(file, "/") {
		return ""
	}
	for _, segment := range strings.Split(file, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return ""
		}
	}
	out := repo + "/blob/" + commit + "/" + textfmt.PercentEncode(file, "-._/")
	if line > 0 {
		out += fmt.Sprintf("#L%d", line)
	}
	return out
}

func isCommit(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// A room is the size of a rendering: the number of folds about cases, of rows in each
// table that blocks nothing, and of rows in all others.
type room struct{ folds, also, rows int }

// leastAlso is the number of non-blocking rows that are kept as long as there is a row
// to drop.
const leastAlso = 10

// fitting renders as much as limit bytes hold. Folds about cases are dropped first, the
// worst case last; then rows are dropped from the end of each table, those that block
// nothing first. longest is the length of the longest table. The smallest rendering has
// no row, and may be longer than limit.
func fitting(limit, longest int, render func(room) string) string {
	// most finds the largest number up to longest with which the comment fits.
	most := func(with func(int) room) (string, bool) {
		n := sort.Search(longest, func(n int) bool { return len(render(with(n+1))) > limit })
		text := render(with(n))
		return text, len(text) <= limit
	}
	if all := render(room{math.MaxInt, math.MaxInt, math.MaxInt}); len(all) <= limit {
		return all
	}
	if text, ok := most(func(n int) room { return room{n, math.MaxInt, math.MaxInt} }); ok {
		return text
	}
	if text, ok := most(func(n int) room { return room{0, leastAlso + n, math.MaxInt} }); ok {
		return text
	}
	text, _ := most(func(n int) room { return room{0, min(n, leastAlso), n} })
	return text
}

// longest returns a number of rows that no table of the report exceeds.
func longest(r *report.Report) int {
	return len(r.Cases) + len(r.Problems) + len(r.Notices) + len(r.Groups) + len(r.Conversations)
}
