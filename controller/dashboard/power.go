package dashboard

import (
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
)

// A powerCurve is the chart of the chances that a comparison sees a fall of all cases.
type powerCurve struct {
	Line   string
	Points []powerPoint
	Grid   []tick
}

// A powerPoint is one fall.
type powerPoint struct{ X, Y, Label, Tip string }

// powerOf draws the power of a green run; nil for another, and for a run of an earlier version,
// which has no curve.
func powerOf(r *report.Report) *powerCurve {
	if reporters.Seen(r) == "" || r.Power.Curve == [len(power.Falls)]float64{} {
		return nil
	}
	var c powerCurve
	for _, chance := range []float64{0, 0.5, 1} {
		y := height(chance)
		c.Grid = append(c.Grid, tick{pixels(y), pixels(y + 4), fmt.Sprintf("%.0f %%", chance*100)})
	}
	most := power.Falls[len(power.Falls)-1]
	var line strings.Builder
	for i, chance := range r.Power.Curve {
		x := powerLeft + power.Falls[i]/most*(chartWidth-powerLeft-3*chartMargin)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, height(chance))
		c.Points = append(c.Points, powerPoint{
			pixels(x), pixels(height(chance)), fmt.Sprintf("−%.2f", power.Falls[i]),
			fmt.Sprintf("a fall of all cases by %.2f would have been seen in %s", power.Falls[i], report.Chance(chance)),
		})
	}
	c.Line = strings.TrimSpace(line.String())
	return &c
}

// powerLeft is the place of the labels in percent, on the ground of a narrow window.
const powerLeft = 60
