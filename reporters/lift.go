package reporters

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// mostLifted bounds the skills, and the cases of a line, that [Lift] names.
const mostLifted = 10

// Lift says in lines what skills add: with and without them, each skill if there are
// several, what the answers took, and the cases that do not tell or have no result. It
// returns none if no case ran without its skill.
func Lift(r *report.Report) []string {
	l := r.Lift
	if l == nil {
		return nil
	}
	var lines []string
	if said := l.String(); said != "" {
		lines = append(lines, said+", over "+textfmt.Count(l.Cases, "case"))
	}
	if len(l.Skills) > 1 {
		for i, s := range l.Skills[:min(len(l.Skills), mostLifted)] {
			line := textfmt.Clip(textfmt.Line(s.Skill), 120) + ": " + s.String()
			if left := len(l.Skills) - mostLifted; i == mostLifted-1 && left > 0 {
				line += "; and " + textfmt.Count(left, "more skill")
			}
			lines = append(lines, line)
		}
	}
	if changes := l.Costs.Changes(); len(changes) > 0 {
		lines = append(lines, "answers without → with the skill: "+strings.Join(changes, " · "))
	}
	if n := len(l.DoesNotTell); n > 0 {
		verb := textfmt.Verb(n, "passes without the skill in every run, and so does not tell", "pass without the skill in every run, and so do not tell")
		lines = append(lines, fmt.Sprintf("%s %s what it adds: %s", textfmt.Count(n, "case"), verb, some(l.DoesNotTell)))
	}
	if n := len(l.NotMeasured); n > 0 {
		names := make([]string, n)
		for i, gap := range l.NotMeasured {
			names[i] = gap.Case + " (" + textfmt.Clip(textfmt.Line(gap.Reason), 120) + ")"
		}
		lines = append(lines, fmt.Sprintf("%s without a comparison: %s", textfmt.Count(n, "case"), some(names)))
	}
	return lines
}

// some joins the first names, and counts the others.
func some(names []string) string {
	shown := make([]string, 0, mostLifted)
	for _, name := range names[:min(len(names), mostLifted)] {
		shown = append(shown, textfmt.Clip(textfmt.Line(name), 240))
	}
	said := strings.Join(shown, ", ")
	if left := len(names) - mostLifted; left > 0 {
		said += fmt.Sprintf(" and %d more", left)
	}
	return said
}
