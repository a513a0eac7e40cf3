package reporters

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// An Attempts has the attempts of a case and the comparison of its prompts.
type Attempts struct {
	attempts   []verdict.Attempt
	comparison *verdict.Comparison
}

// NewAttempts returns the attempts of a case; nil if it has neither.
func NewAttempts(attempts []verdict.Attempt, comparison *verdict.Comparison) *Attempts {
	if len(attempts) == 0 && comparison == nil {
		return nil
	}
	return &Attempts{attempts, comparison}
}

// Remark returns the noteworthy fact about a case that passed, in one line.
func (r *Attempts) Remark(scale float64) string {
	var parts []string
	if n := len(r.attempts); n > 1 && r.attempts[n-1].Verdict == verdict.Pass {
		parts = append(parts, fmt.Sprintf("passed on attempt %d", n))
	}
	if r.rewritten() {
		parts = append(parts, "with a prompt that was rewritten")
	}
	text := strings.Join(parts, " ")
	if r.comparison != nil {
		text = strings.TrimPrefix(text+"; "+r.outcome(scale), "; ")
	}
	return text
}

func (r *Attempts) rewritten() bool {
	_, _, rewritten := verdict.Result{Attempts: r.attempts}.Prompts()
	return rewritten
}

// outcome returns the result of the comparison: the winner, or that there is none.
func (r *Attempts) outcome(scale float64) string {
	c := r.comparison
	who := "no clear winner"
	if c.Winner != "" {
		who = c.Winner + " is better"
	}
	text := "A/B: " + who + " over " + textfmt.Count(c.Pairs, "pair")
	if p := c.Preferences; p != nil && c.Pairs > 0 {
		text += fmt.Sprintf(": A preferred in %d, B in %d, %s", p.A, p.B, textfmt.Count(p.Ties, "tie"))
	} else if c.Score != nil {
		text += ": " + difference(*c.Score, scale)
	}
	if c.Pairs == 1 {
		text += " (an interval takes two pairs)"
	}
	if c.Errors > 0 {
		text += fmt.Sprintf("; %s not judged: %s", textfmt.Count(c.Errors, "pair"), textfmt.Clip(textfmt.Line(c.Error), 200))
	}
	return text
}

// difference formats "5.20 → 6.40/10 (+1.20, 95 % CI +0.40 … +2.00)".
func difference(d verdict.Difference, scale float64) string {
	text := textfmt.Points(&d.A, scale) + " → " + textfmt.OutOf(&d.B, scale) + " (" + textfmt.Signed(d.Delta*scale, 2)
	if d.Low != nil && d.High != nil {
		text += ", 95 % CI " + interval(d, scale)
	}
	return text + ")"
}

func interval(d verdict.Difference, scale float64) string {
	if d.Low == nil || d.High == nil {
		return "–"
	}
	return textfmt.Signed(*d.Low*scale, 2) + " … " + textfmt.Signed(*d.High*scale, 2)
}

// attemptLines returns a line for each attempt.
func (r *Attempts) attemptLines(scale float64) []string {
	var out []string
	for i, a := range r.attempts {
		line := fmt.Sprintf("attempt %d: %s, %s", i+1, a.Verdict, textfmt.OutOf(a.Score, scale))
		if a.Reason != "" {
			line += ", " + a.Reason
		}
		out = append(out, line)
	}
	return out
}

// changes returns a diff of the first prompt and the last; nil if they are equal.
func (r *Attempts) changes() []string {
	before, after, rewritten := verdict.Result{Attempts: r.attempts}.Prompts()
	if !rewritten {
		return nil
	}
	return diff(lines(before), lines(after))
}

// proposed returns a diff of the last prompt and an editor's proposal; nil without one.
func (r *Attempts) proposed() []string {
	n := len(r.attempts)
	if n == 0 || r.attempts[n-1].Proposal == "" {
		return nil
	}
	return diff(lines(r.attempts[n-1].System), lines(r.attempts[n-1].Proposal))
}

// notRun introduces a proposal.
const notRun = "prompt that the editor proposes; it was not run:"

// Lines renders everything as plain lines, which are safe to print.
func (r *Attempts) Lines(scale float64) []string {
	out := r.attemptLines(scale)
	if changes := r.changes(); changes != nil {
		out = append(append(out, "the final prompt, which the repository does not have:"), changes...)
	}
	if changes := r.proposed(); changes != nil {
		out = append(append(out, "the "+notRun), changes...)
	}
	if c := r.comparison; c != nil {
		out = append(out, r.outcome(scale))
		for _, d := range c.Criteria {
			out = append(out, "  "+d.ID+" "+difference(d, scale))
		}
	}
	for i, line := range out {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		out[i] = line[:indent] + textfmt.Line(line[indent:])
	}
	return out
}

// Markdown renders everything for a comment.
func (r *Attempts) Markdown(scale float64) string {
	var b strings.Builder
	for _, line := range r.attemptLines(scale) {
		b.WriteString("- " + textfmt.Markdown(line, 300) + "\n")
	}
	if changes := r.changes(); changes != nil {
		b.WriteString("\nThe final prompt, which the repository does not have:\n\n" + fenced(changes))
	}
	if changes := r.proposed(); changes != nil {
		b.WriteString("\nThe " + notRun + "\n\n" + fenced(changes))
	}
	c := r.comparison
	if c == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s\n", textfmt.Markdown(r.outcome(scale), 500))
	if len(c.Criteria) > 0 {
		b.WriteString("\n| criterion | A | B | B − A | 95 % CI |\n|:--|--:|--:|--:|--:|\n")
	}
	for _, d := range c.Criteria {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", textfmt.Markdown(d.ID, 120),
			textfmt.Points(&d.A, scale), textfmt.Points(&d.B, scale), textfmt.Signed(d.Delta*scale, 2), interval(d, scale))
	}
	return strings.TrimLeft(b.String(), "\n")
}
