package reporters

import (
	"slices"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/textfmt"
)

// Triggers says in lines how many queries of each skill are right. The ones with most wrong
// queries come first; of many skills the others are counted.
func Triggers(r *report.Report) []string {
	all := slices.Clone(r.Triggers)
	slices.SortStableFunc(all, func(a, b report.Triggering) int { return b.Wrong() - a.Wrong() })
	var lines []string
	for i, t := range all[:min(len(all), mostLifted)] {
		name := t.Skill
		if t.Target != "" {
			name += " (" + t.Target + ")"
		}
		line := textfmt.Clip(textfmt.Line(name), 120) + ": " + t.String()
		if left := len(all) - mostLifted; i == mostLifted-1 && left > 0 {
			line += "; and " + textfmt.Count(left, "more skill")
		}
		lines = append(lines, line)
	}
	return lines
}
