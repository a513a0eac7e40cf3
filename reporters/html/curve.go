package html

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

const (
	curveWidth  = 96 // pixels
	curveHeight = 20 // pixels
	mostPoints  = 24
)

// curve draws the scores of a case's last judgements as SVG, the oldest on the left;
// empty for fewer than two. A failure has a mark. Only numbers go into it.
func curve(points []report.PastJudgement) template.HTML {
	points = points[max(0, len(points)-mostPoints):]
	if len(points) < 2 {
		return ""
	}
	var line, marks strings.Builder
	step := float64(curveWidth-6) / float64(len(points)-1)
	judged, passed := 0, 0
	for i, p := range points {
		if p.Score == nil {
			continue
		}
		judged++
		x, y := 3+step*float64(i), 3+(1-min(1, max(0, *p.Score)))*(curveHeight-6)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
		if p.Verdict == verdict.Pass {
			passed++
		} else {
			fmt.Fprintf(&marks, `<circle cx="%.1f" cy="%.1f" r="2"/>`, x, y)
		}
	}
	label := fmt.Sprintf("passed %d of the last %d", passed, judged)
	return template.HTML(fmt.Sprintf( //nolint:gosec // numbers only
		`<svg class="curve" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s"><title>%s</title><polyline points="%s"/>%s</svg>`,
		curveWidth, curveHeight, curveWidth, curveHeight, label, label, strings.TrimSpace(line.String()), marks.String()))
}
