package comment

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/golden"
)

var commands = []string{"gavel run --base main"}

func onForge() Options {
	return Options{RepositoryURL: "https://github.com/octo/demo", RunURL: "https://gavel.example/r/8412", Commands: commands}
}

// comments are the goldens: whole comments for a reviewer to read.
func comments() map[string]func() string {
	of := func(s *reporttest.Scenario, o Options) func() string {
		return func() string { return Markdown(report.Compare(s.In), o) }
	}
	hostileOptions := onForge()
	hostileOptions.Commands = []string{reporttest.HostileTexts()[0], reporttest.HostileTexts()[6]}
	fork := onForge()
	fork.RunURL, fork.Commands = "", []string{"/gavel approve 9f31c2e"}
	commanded := onForge()
	commanded.Refused = []string{`"/gavel aprove 9f31c2e" of mona was refused: not understood: unknown command "aprove"; did you mean ` + "`approve`?"}
	hostileCommanded := onForge()
	hostileCommanded.Refused = reporttest.HostileTexts()
	small := onForge()
	small.MaxBytes = 3000
	return map[string]func() string{
		"nothing_affected":   of(reporttest.NothingAffected(), onForge()),
		"first_run":          of(reporttest.FirstRun(), onForge()),
		"regressions":        of(reporttest.Regressions(), onForge()),
		"one_cause":          of(reporttest.OneCause(23), onForge()),
		"fresh_ledger":       of(reporttest.FreshLedger(), onForge()),
		"no_links":           of(reporttest.Regressions(), Options{}),
		"invalid":            of(reporttest.InvalidDefinitions(), onForge()),
		"waiting_definition": of(reporttest.WaitingDefinition(), fork),
		"changed_2000":       of(reporttest.ChangedCases(2000), onForge()),
		"changed_2000_small": of(reporttest.ChangedCases(2000), small),
		"errors":             of(reporttest.ErrorsOnly(), onForge()),
		"superseded":         of(reporttest.Superseded(), onForge()),
		"moved_removed_new":  of(reporttest.MovedRemovedNew(), onForge()),
		"lightened":          of(reporttest.Lightened(), onForge()),
		"costlier":           of(reporttest.Costlier(), onForge()),
		"withdrawn":          of(reporttest.Withdrawn(), onForge()),
		"weightless":         of(reporttest.Weightless(), onForge()),
		"commands":           of(reporttest.Commanded("mona", "the policy says 60 days now"), commanded),
		"hostile_commands":   of(reporttest.Commanded(reporttest.HostileTexts()[5], reporttest.HostileTexts()[0]), hostileCommanded),
		"waiting":            of(reporttest.Waiting(), fork),
		"hostile":            of(reporttest.Hostile(reporttest.HostileTexts()), hostileOptions),
	}
}

// TestMarkdownGolden compares whole comments with testdata.
func TestMarkdownGolden(t *testing.T) {
	for name, render := range comments() {
		t.Run(name, func(t *testing.T) {
			got := render()
			holds(t, got)
			golden.Compare(t, "testdata/"+name+".md", got)
		})
	}
}

// ownTags are all the HTML that a comment consists of.
var (
	ownTags    = regexp.MustCompile(`</?(?:sub|b|i|code|summary|details)>|<(?:br|wbr)>`)
	ownMarker  = regexp.MustCompile(`\A<!-- gavel:report instance=[A-Za-z0-9._-]+ -->\n`)
	ownBlock   = regexp.MustCompile("(?m)^To run this commit, .*:\n\n```\n/gavel approve [0-9a-f]{7,40}\n```\n")
	ownLinks   = regexp.MustCompile(`\]\(https://[^\s()<>]*\)`)
	ownStarts  = regexp.MustCompile(`^(?:|### \S.*|> .*|>|\|.*\||<details><summary>.*|</details>|<sub>.*</sub>|Score .*|\*\*Next:\*\* .*|Answers of .*|(?:None|\d[\d,]*) .*)$`)
	ownEntity  = regexp.MustCompile(`&(?:amp|lt|gt|nbsp|#\d+);`)
	mentions   = regexp.MustCompile(`@[^&]`)
	references = regexp.MustCompile(`(?i)#\d|GH-\d`)
)

// holds checks the properties of every comment whatever the report contains.
func holds(t *testing.T, comment string) {
	t.Helper()
	if !ownMarker.MatchString(comment) || strings.Count(comment, "<!--") != 1 {
		t.Errorf("the marker is not the first line and the only one")
	}
	if !utf8.ValidString(comment) {
		t.Error("invalid UTF-8")
	}
	body := ownBlock.ReplaceAllString(ownMarker.ReplaceAllString(comment, ""), "")
	for _, r := range body {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != 0x200D && r != 0x200C) {
			t.Errorf("control character %U", r)
		}
	}
	for _, tag := range []string{"details", "summary", "sub", "b", "code", "i"} {
		if strings.Count(body, "<"+tag+">") != strings.Count(body, "</"+tag+">") {
			t.Errorf("<%s> is not closed", tag)
		}
	}
	columns := 0
	for _, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		if !ownStarts.MatchString(line) {
			t.Errorf("line starts with foreign text: %.80q", line)
		}
		columns = holdsLine(t, line, columns)
	}
}

// holdsLine checks one line. columns is the number of pipes in each row of
// the table that the line belongs to, 0 outside of one.
func holdsLine(t *testing.T, line string, columns int) int {
	t.Helper()
	pipes := strings.Count(line, "|")
	switch {
	case !strings.HasPrefix(line, "|"):
		if pipes > 0 {
			t.Errorf("pipe outside a table: %.80q", line)
		}
		pipes = 0
	case columns > 0 && pipes > columns:
		t.Errorf("row has %d pipes, table has %d: %.120q", pipes, columns, line)
	case columns > 0:
		pipes = columns
	}
	rest := ownTags.ReplaceAllString(line, "")
	rest = ownLinks.ReplaceAllString(rest, "]")
	text := ownEntity.ReplaceAllString(rest, "\x00")
	if i := strings.IndexAny(strings.TrimPrefix(text, ">"), "<>\\~$&"); i >= 0 {
		t.Errorf("live character in %.120q", text)
	}
	if strings.Contains(text, "](") || strings.Contains(text, "://") || strings.Contains(strings.ToLower(text), "www.") {
		t.Errorf("live link in %.400q", text)
	}
	if m := mentions.FindString(rest); m != "" {
		t.Errorf("mention in %.120q", rest)
	}
	if m := references.FindString(text); m != "" {
		t.Errorf("reference %s in %.120q", m, rest)
	}
	if strings.Count(text, "`")%2 == 1 || strings.Contains(text, "```") {
		t.Errorf("backticks in %.120q", text)
	}
	return pipes
}

// TestMarkdownLevels checks that a smaller limit gives a smaller rendering
// that is whole, and that the last level fits what publishers fall back to.
func TestMarkdownLevels(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    *reporttest.Scenario
	}{{"plain", reporttest.ChangedCases(2000)}, {"hostile", reporttest.Hostile(reporttest.HostileTexts())}} {
		r := report.Compare(tt.s.In)
		for _, limit := range []int{60_000, 30_000, 10_000, 3_000} {
			t.Run(fmt.Sprint(tt.name, limit), func(t *testing.T) {
				o := onForge()
				o.MaxBytes = limit
				got := Markdown(r, o)
				holds(t, got)
				if len(got) > limit {
					t.Errorf("%d bytes, limit %d:\n%s", len(got), limit, got)
				}
				if !strings.Contains(got, "Gate failed: ") || !strings.HasSuffix(got, "</sub>\n") {
					t.Errorf("gate or foot is missing:\n%s", got)
				}
			})
		}
	}
}

// breakouts are shorter ways out of the text than hostileTexts, one each, so
// that a change of one byte is still a way out: of fences, tables, folds and
// comments, into links and mentions, and of the line that a terminal shows.
var breakouts = []string{
	"~~~~", "````js", "    indented", "> quote", "|", "\\|", "a\r\nb", "a\u2028b\u0085c", "</summary>", "</ details >", "<br/>",
	"-->", "<!-->", "&lt;!-- x --&gt;", "<![CDATA[", "<?php", "&#x3c;b&#x3e;", "<a href='data:text/html,x'>", "<javascript:alert(1)>",
	"![][x]\n[x]: vbscript:y", "[x](<javascript:y> \"z\")", "[^1]: note", "\\[x\\](y)", "$`x`$",
	"@dependabot merge", "\u200B@octocat", "＠octocat", "@\u2060octocat", "closes: octo/demo#1", "RESOLVES #1", "#\uFE0F1", "gh-1", "octo/demo@9f31c2e",
	"/lgtm", "bors merge", "<!-- gavel:report instance=other -->\nmore", "gavel:report",
	"\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "\x9d0;title\x9c", "\x1b[2J\x1b[H", "\u061C\u200E\u200F\u202A\u2068", "\u00AD\u034F\uFFF9\U000E0001", "\x7f\x00\x0b",
}

// FuzzMarkdown puts one text into every field of a report.
func FuzzMarkdown(f *testing.F) {
	for _, s := range slices.Concat(reporttest.HostileTexts(), breakouts) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o := onForge()
		o.Commands, o.Hint, o.RunURL = []string{s}, s, s
		got := Markdown(report.Compare(reporttest.Hostile([]string{s, "plain", s}).In), o)
		holds(t, got)
		if len(got) > MaxBytes {
			t.Errorf("%d bytes", len(got))
		}
	})
}

func BenchmarkMarkdown2000(b *testing.B) {
	r := report.Compare(reporttest.ChangedCases(2000).In)
	b.ReportAllocs()
	for b.Loop() {
		Markdown(r, onForge())
	}
}

// TestConversations folds the turns of a conversation next to their suites.
func TestConversations(t *testing.T) {
	s := reporttest.New()
	for _, turn := range []string{"support/1/a", "support/1/b"} {
		row := s.Add(turn, reporttest.Pass(1), reporttest.Pass(1), reporttest.Definition())
		for _, c := range []*schema.CaseInfo{row.Head, row.Base} {
			c.Dialect, c.Labels.Groups, c.Labels.Conversation = schema.DialectEvalcase, []string{"support"}, "refund"
		}
	}
	text := Markdown(report.Compare(s.In), Options{})
	for _, part := range []string{"<summary>By conversation</summary>", "| support: refund | ", "<summary>By suite</summary>"} {
		if !strings.Contains(text, part) {
			t.Errorf("the comment lacks %q:\n%s", part, text)
		}
	}
}

// TestLabels folds how the cases of each difficulty and tag did.
func TestLabels(t *testing.T) {
	s := reporttest.New()
	for _, c := range []struct {
		key        string
		difficulty string
		side       *reporttest.Side
	}{{"a/1/a", "hard", reporttest.Fail(0, "no")}, {"a/1/b", "normal", reporttest.Pass(1)}} {
		row := s.Add(c.key, nil, c.side, reporttest.Definition())
		row.Head.Labels.Difficulty, row.Head.Labels.Tags = c.difficulty, []string{"<b>"}
	}
	text := Markdown(report.Compare(s.In), Options{})
	for _, part := range []string{
		"<summary>By difficulty, tag and status</summary>", "| difficulty | hard | 0.00 | 1 case: 1 fail |", "| difficulty | normal | 1.00 | 1 case: 1 pass |",
		"| tag | &lt;b&gt; | 0.50 | 2 cases: 1 pass, 1 fail |",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the comment lacks %q:\n%s", part, text)
		}
	}
}

// TestGroupTables holds that the tables of two dialects can be distinguished, that a
// difference has its interval and names its cases, and that none is shown if there is
// no interval.
func TestGroupTables(t *testing.T) {
	s := reporttest.New()
	for _, tt := range []struct {
		key, dialect string
		base         *reporttest.Side
		head         float64
	}{
		{"shop/1/a", schema.DialectEvalcase, reporttest.Pass(1), 0.5}, {"shop/1/b", schema.DialectEvalcase, reporttest.Pass(1), 0.5},
		{"shop/1/c", schema.DialectEvalcase, reporttest.Pass(1), 0.3}, {"shop/1/d", schema.DialectEvalcase, reporttest.Pass(1), 0.3},
		{"shop/1/e", schema.DialectEvalcase, nil, 0.4}, {"talk/1/f", schema.DialectTestcase, reporttest.Pass(1), 0.5},
	} {
		row := s.Add(tt.key, tt.base, reporttest.Pass(tt.head), reporttest.Definition())
		for _, c := range []*schema.CaseInfo{row.Head, row.Base} {
			if c != nil {
				c.Dialect, c.Labels.Groups = tt.dialect, c.Labels.Groups[:1]
			}
		}
	}
	text := Markdown(report.Compare(s.In), Options{})
	holds(t, text)
	for _, part := range []string{
		// t(0.975, 3)·√(0.04/12) = 0.184
		"<summary>By suite (evalcase)</summary>\n\n| | score | Δ (95 % interval) | cases |\n|:--|--:|--:|--:|\n| shop | **.40** | **−0.60 (−0.78 … −0.42)** | 5 |\n\n<sub>Δ is over the 4 of 5 cases that were judged on both sides</sub>\n</details>",
		"<summary>By suite (testcase)</summary>\n\n| | score | cases |\n|:--|--:|--:|\n| talk | .50 | 1 |\n</details>",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the comment lacks\n%s\nin\n%s", part, text)
		}
	}
}

// TestWhatIsNotReadIsAWarning holds that a file that looks like a definition is
// named where a reader looks, with its place and what it lacks.
func TestWhatIsNotReadIsAWarning(t *testing.T) {
	s := reporttest.Regressions()
	at := schema.Position{File: "test_definitions/bot.json", Line: 1, Column: 1}
	s.In.Problems = append(s.In.Problems,
		schema.Problem{Position: at, Severity: schema.Warning, Rule: schema.RuleLooksLike, Message: "the file is not read; it looks like promptval: `test_type` is missing"},
		schema.Problem{Position: at, Severity: schema.Note, Rule: schema.RuleNoDefinition, Message: "7 files are not definitions"})
	text := strings.ReplaceAll(Markdown(report.Compare(s.In), Options{RepositoryURL: "https://github.com/octo/demo"}), "<wbr>", "")
	_, block, _ := strings.Cut(text, "> [!WARNING]")
	block, _, _ = strings.Cut(block, "\n\n")
	if !strings.Contains(block, "test_definitions/bot.json#L1)") || !strings.Contains(block, "it looks like promptval") || strings.Contains(text, "7 files") {
		t.Errorf("the comment warns of\n%s", block)
	}
}
