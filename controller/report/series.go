package report

import (
	"strings"

	"github.com/gavel-evals/gavel/controller/verdict"
)

// marks are the symbols of verdicts in a series.
var marks = map[verdict.Verdict]string{verdict.Pass: "✓", verdict.Borderline: "≈", verdict.Fail: "✗"}

// Measured reports whether there were reruns; false for nil.
func (c *Confirmation) Measured() bool { return c != nil && len(c.Samples) > 0 }

// Series formats the reruns of both sides in order, such as "head ✗ ✗ ✓, base ✓ ✓".
func (c *Confirmation) Series() string {
	var out []string
	for _, side := range []string{"head", "base"} {
		var series strings.Builder
		for _, s := range c.Samples {
			if s.Side != side {
				continue
			}
			mark, ok := marks[s.Verdict]
			if !ok {
				mark = "!"
			}
			series.WriteString(" " + mark)
		}
		if series.Len() > 0 {
			out = append(out, side+series.String())
		}
	}
	return strings.Join(out, ", ")
}
