package dashboard_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/dashboard"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/report"
)

// powerful is a green report that would have shown something.
func powerful() *report.Report {
	r := scored("pass", 0.9, 1)
	r.Power = &power.Statement{
		Cases: 40, Broken: .98, Halved: .2, Fall: .5, Units: 40, Needed: 7, Curve: [len(power.Falls)]float64{.25, .5, .999, 1},
	}
	return r
}

// TestPowerCurve: the page of a green run draws the chances: 0.25 at 0.05 is a quarter of the
// height, 10 to 140, and a sixth of the width, 60 to 610. A red run has no curve, and neither
// has one of an earlier version.
func TestPowerCurve(t *testing.T) {
	h := newHouse(t)
	h.run("green", powerful())
	red, old := powerful(), powerful()
	red.Gate.Result = report.GateFail
	old.Power.Curve = [len(power.Falls)]float64{}
	h.run("red", red)
	h.run("old", old)
	site := h.site(dashboard.Config{})
	has(t, site, "/runs/green", `<polyline points="151.7,107.5 243.3,75.0 426.7,10.1 610.0,10.0"/>`,
		`<text x="151.7" y="166" text-anchor="middle">−0.05</text>`, "a fall of all cases by 0.20 would have been seen in over 99 %", "would have shown one case of 40 that always fails in 98 %")
	for _, run := range []string{"red", "old"} {
		if page := get(t, site, "/runs/"+run, 200); strings.Contains(page, `<svg class="chart"`) {
			t.Errorf("the %s run has a curve:\n%s", run, page)
		}
	}
}
