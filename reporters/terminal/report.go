package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/phrase"
)

// Report writes what a run found: failures first, then what else changed, the
// counts, and the gate.
func Report(w io.Writer, r *reporters.Report, o Options) error {
	p := newPage(o)
	for _, n := range r.Notices {
		p.wrapped(p.paint(yellow, "! "), strings.TrimSpace(n.Case+" "+n.Message+" "+n.File), "")
	}
	for _, rank := range []func(reporters.Row) bool{isRegression, isFailure, isError, isOther} {
		for _, row := range r.Cases {
			if rank(row) {
				p.row(row)
			}
		}
	}
	p.groups(r.Groups)
	p.summary(r)
	return p.writeTo(w)
}

func class(row reporters.Row) reporters.Class {
	if row.Class == nil {
		return ""
	}
	return *row.Class
}

func isVerdict(row reporters.Row, v verdict.Verdict) bool {
	return row.Verdict != nil && *row.Verdict == v
}

func isRegression(row reporters.Row) bool { return class(row) == reporters.Regression }

func isFailure(row reporters.Row) bool {
	return !isRegression(row) && isVerdict(row, verdict.Fail) && shown(row)
}

func isError(row reporters.Row) bool { return isVerdict(row, verdict.Error) }

// isOther are the rest that people look for: what changed without failing.
func isOther(row reporters.Row) bool {
	return !isRegression(row) && !isVerdict(row, verdict.Fail) && !isError(row) && shown(row)
}

// shown leaves out the cases that the change does not affect and those that
// pass as they did.
func shown(row reporters.Row) bool {
	switch class(row) {
	case reporters.Unchanged:
		return false
	case "":
		return row.Action != plan.Reuse && row.Action != plan.Skip && !isVerdict(row, verdict.Pass) || isVerdict(row, verdict.Fail)
	}
	return true
}

func (p *page) row(row reporters.Row) {
	mark, color := "·", dim
	switch {
	case isRegression(row), isVerdict(row, verdict.Fail):
		mark, color = "✗", red
	case isError(row):
		mark, color = "!", yellow
	case isVerdict(row, verdict.Pass):
		mark, color = "✓", green
	}
	word := string(class(row))
	if word == "" && row.Verdict != nil {
		word = string(*row.Verdict)
	}
	score := phrase.Score(row.Score, 2)
	if row.BaseScore != nil && row.Score != nil {
		score = phrase.Score(row.BaseScore, 2) + " → " + score
	}
	p.WriteString(p.paint(color, mark+" "+fmt.Sprintf("%-12s", word)) + phrase.Line(row.Key) + "  " + score + "\n")
	if row.MovedFrom != nil {
		p.wrapped("              ", "from "+*row.MovedFrom, dim)
		return
	}
	text := row.Reason
	if row.Error != nil {
		text = *row.Error
	}
	p.wrapped("              ", text, "")
	if len(row.Reasons) > 0 {
		p.wrapped("              ", "because "+plan.Summarise(row.Reasons), dim)
	}
}

// groups writes the domains on one line each, with their levels.
func (p *page) groups(groups []reporters.Group) {
	for _, g := range groups {
		if len(g.Path) != 1 {
			continue
		}
		line := fmt.Sprintf("  %-24s %s", phrase.Clip(phrase.Line(g.Path[0]), 24), phrase.Score(g.Score, 2))
		if g.Base != nil && g.Score != nil && *g.Base != *g.Score {
			line += "  " + phrase.Signed(*g.Score-*g.Base, 2)
		}
		p.WriteString(line + "\n")
	}
}

func (p *page) summary(r *reporters.Report) {
	s := r.Summary
	fmt.Fprintf(p, "\n%s: %d passed, %d failed", phrase.Count(s.Cases, "case"), s.Pass, s.Fail)
	for _, extra := range []struct {
		n    int
		word string
	}{{s.Borderline, "borderline"}, {s.Error, "errors"}, {s.Skipped, "skipped"}} {
		if extra.n > 0 {
			fmt.Fprintf(p, ", %d %s", extra.n, extra.word)
		}
	}
	fmt.Fprintf(p, " · %d run, %d rejudged, %d redecided, %d reused\n", s.Run, s.Rejudged, s.Redecided, s.Reused)
	fmt.Fprintf(p, "score %s", phrase.Score(s.Score, 3))
	if d := r.Diff; d.Delta != nil {
		fmt.Fprintf(p, " · %s → %s (%s) over %s judged on both sides",
			phrase.Score(d.ScoreBase, 3), phrase.Score(d.ScoreHead, 3), phrase.Signed(*d.Delta, 3), phrase.Count(d.Pairs, "case"))
	}
	fmt.Fprintf(p, "\n%s, %s tokens", phrase.Count(s.Calls, "call"), phrase.Int(s.Tokens))
	if s.CostUSD != nil && s.Calls > 0 {
		fmt.Fprintf(p, ", %s", phrase.USD(*s.CostUSD))
	}
	p.WriteString("\n")
	color := map[string]string{reporters.GatePass: green, reporters.GateFail: red}[r.Gate.Result]
	if color == "" {
		color = yellow
	}
	p.WriteString(p.paint(bold+";"+color, "gate "+r.Gate.Result) + ": ")
	p.WriteString(phrase.Line(r.Gate.Reason) + "\n")
}
