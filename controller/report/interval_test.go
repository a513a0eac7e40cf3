package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/reporttest"
)

// TestInterval holds that a difference comes with what it may be by chance, and
// that the turns of one conversation count as one.
func TestInterval(t *testing.T) {
	add := func(s *reporttest.Scenario, n int, score float64, talk string) {
		for range n {
			key := fmt.Sprintf("math/1/case_%d", len(s.In.Plan.Rows))
			s.Add(key, pass(1), pass(score), definition).Head.Labels.Conversation = talk
		}
	}
	for _, tt := range []struct {
		name string
		fill func(*reporttest.Scenario)
		// half is that of the interval, 0 for none.
		half  float64
		noise bool
	}{
		// s² = 4·0.01/3 around d̄ = −0.9, t(0.975, 3) = 3.182446.
		{"clear", func(s *reporttest.Scenario) { add(s, 2, 0.2, ""); add(s, 2, 0, "") }, 3.182446 * math.Sqrt(0.04/12), false},
		{"noise", func(s *reporttest.Scenario) { add(s, 9, 1, ""); add(s, 1, 0, "") }, 2.262157 * 0.1, true},
		{"together", func(s *reporttest.Scenario) { add(s, 2, 0.2, "a"); add(s, 2, 0, "b"); add(s, 1, 0.1, "") }, 4.302653 * math.Sqrt(1.5*0.08) / 5, false},
		{"two", func(s *reporttest.Scenario) { add(s, 1, 1, ""); add(s, 1, 0, "") }, 0, false},
		{"alike", func(s *reporttest.Scenario) { add(s, 3, 0.5, "") }, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := reporttest.New()
			tt.fill(s)
			d := report.Compare(s.In).Diff
			if (d.CILow != nil) != (tt.half != 0) || (d.CIHigh != nil) != (tt.half != 0) {
				t.Fatalf("the interval is %v … %v", d.CILow, d.CIHigh)
			}
			if tt.half != 0 && (math.Abs(*d.CILow-max(-1, *d.Delta-tt.half)) > 1e-6 || math.Abs(*d.CIHigh-min(1, *d.Delta+tt.half)) > 1e-6) {
				t.Errorf("the interval is %v … %v around %v, want ± %v", *d.CILow, *d.CIHigh, *d.Delta, tt.half)
			}
			if got := strings.HasSuffix(reporters.Difference(d), ": may be noise"); got != tt.noise {
				t.Errorf("the difference is %s, want it to be called noise only where it may be", reporters.Difference(d))
			}
		})
	}
}
