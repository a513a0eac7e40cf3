// Package trial tells of cases that were run again because they failed, whose
// prompt an editor rewrote, or whose prompt was compared with a second one.
//
// Most callers want [Of], which is nil where there is nothing of the kind, and
// then [Trial.Lines] or [Trial.Markdown].
package trial

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/markup"
	"github.com/gavel-evals/gavel/reporters/phrase"
)

// A Trial is what there is to tell.
type Trial struct {
	// Attempts are all that were judged, where there was more than one to make.
	Attempts []verdict.Attempt `json:"attempts,omitempty"`
	Contest  *verdict.Contest  `json:"contest,omitempty"`
}

// Of gives what there is to tell of a result; nil for nothing.
func Of(r verdict.Result) *Trial {
	if len(r.Attempts) == 0 && r.Contest == nil {
		return nil
	}
	return &Trial{r.Attempts, r.Contest}
}

// Remark is what has to be known of a case that passed, in one line.
func (t *Trial) Remark(scale float64) string {
	var parts []string
	if n := len(t.Attempts); n > 1 && t.Attempts[n-1].Verdict == verdict.Pass {
		parts = append(parts, fmt.Sprintf("passed on attempt %d", n))
	}
	if t.rewritten() {
		parts = append(parts, "with a prompt that was rewritten")
	}
	text := strings.Join(parts, " ")
	if t.Contest != nil {
		text = strings.TrimPrefix(text+"; "+t.outcome(scale), "; ")
	}
	return text
}

func (t *Trial) rewritten() bool {
	_, _, rewritten := verdict.Result{Attempts: t.Attempts}.Prompts()
	return rewritten
}

// outcome says how the contest came out: who won, or that nobody did.
func (t *Trial) outcome(scale float64) string {
	c := t.Contest
	who := "no clear winner"
	if c.Winner != "" {
		who = c.Winner + " is better"
	}
	text := "A/B: " + who + " over " + phrase.Count(c.Pairs, "pair")
	if p := c.Preferences; p != nil && c.Pairs > 0 {
		text += fmt.Sprintf(": A preferred in %d, B in %d, %s", p.A, p.B, phrase.Count(p.Ties, "tie"))
	} else if c.Score != nil {
		text += ": " + difference(*c.Score, scale)
	}
	if c.Pairs == 1 {
		text += " (an interval takes two pairs)"
	}
	if c.Errors > 0 {
		text += fmt.Sprintf("; %s not judged: %s", phrase.Count(c.Errors, "pair"), phrase.Clip(phrase.Line(c.Error), 200))
	}
	return text
}

// difference writes "5.20 → 6.40/10 (+1.20, 95 % CI +0.40 … +2.00)".
func difference(d verdict.Difference, scale float64) string {
	text := phrase.Points(&d.A, scale) + " → " + phrase.OutOf(&d.B, scale) + " (" + phrase.Signed(d.Delta*scale, 2)
	if d.Low != nil && d.High != nil {
		text += ", 95 % CI " + interval(d, scale)
	}
	return text + ")"
}

func interval(d verdict.Difference, scale float64) string {
	if d.Low == nil || d.High == nil {
		return "–"
	}
	return phrase.Signed(*d.Low*scale, 2) + " … " + phrase.Signed(*d.High*scale, 2)
}

// attempts has a line for each.
func (t *Trial) attempts(scale float64) []string {
	var out []string
	for i, a := range t.Attempts {
		line := fmt.Sprintf("attempt %d: %s, %s", i+1, a.Verdict, phrase.OutOf(a.Score, scale))
		if a.Reason != "" {
			line += ", " + a.Reason
		}
		out = append(out, line)
	}
	return out
}

// changes are the lines of the first prompt and of the last as a diff; nil
// where they are the same.
func (t *Trial) changes() []string {
	before, after, rewritten := verdict.Result{Attempts: t.Attempts}.Prompts()
	if !rewritten {
		return nil
	}
	return diff(lines(before), lines(after))
}

// Lines tells all of it in plain lines, which are safe to print.
func (t *Trial) Lines(scale float64) []string {
	out := t.attempts(scale)
	if changes := t.changes(); changes != nil {
		out = append(append(out, "the final prompt, which the repository does not have:"), changes...)
	}
	if c := t.Contest; c != nil {
		out = append(out, t.outcome(scale))
		for _, d := range c.Criteria {
			out = append(out, "  "+d.ID+" "+difference(d, scale))
		}
	}
	for i, line := range out {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		out[i] = line[:indent] + phrase.Line(line[indent:])
	}
	return out
}

// Markdown tells all of it for a comment.
func (t *Trial) Markdown(scale float64) string {
	var b strings.Builder
	for _, line := range t.attempts(scale) {
		b.WriteString("- " + markup.Text(line, 300) + "\n")
	}
	if changes := t.changes(); changes != nil {
		b.WriteString("\nThe final prompt, which the repository does not have:\n\n" + fenced(changes))
	}
	c := t.Contest
	if c == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s\n", markup.Text(t.outcome(scale), 500))
	if len(c.Criteria) > 0 {
		b.WriteString("\n| criterion | A | B | B − A | 95 % CI |\n|:--|--:|--:|--:|--:|\n")
	}
	for _, d := range c.Criteria {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", markup.Text(d.ID, 120),
			phrase.Points(&d.A, scale), phrase.Points(&d.B, scale), phrase.Signed(d.Delta*scale, 2), interval(d, scale))
	}
	return strings.TrimLeft(b.String(), "\n")
}
