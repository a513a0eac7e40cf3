package report_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/reporttest"
	"github.com/gavel-evals/gavel/schema"
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
		// half is half of the interval, 0 for none.
		half  float64
		noise bool
	}{
		// s² = 4·0.01/3 around d̄ = −0.9, t(0.975, 3) = 3.182446.
		{"clear", func(s *reporttest.Scenario) { add(s, 2, 0.2, ""); add(s, 2, 0, "") }, 3.182446 * math.Sqrt(0.04/12), false},
		{"noise", func(s *reporttest.Scenario) { add(s, 9, 1, ""); add(s, 1, 0, "") }, 2.262157 * 0.1, true},
		{"together", func(s *reporttest.Scenario) { add(s, 2, 0.2, "a"); add(s, 2, 0, "b"); add(s, 2, 0.1, "c") }, 4.302653 * math.Sqrt(1.5*0.08) / 6, false},
		{"too few weigh", func(s *reporttest.Scenario) { add(s, 2, 0.2, "a"); add(s, 2, 0, "b"); add(s, 1, 0.1, "") }, 0, false},
		{"two", func(s *reporttest.Scenario) { add(s, 1, 1, ""); add(s, 1, 0, "") }, 0, false},
		{"alike", func(s *reporttest.Scenario) { add(s, 3, 0.5, "") }, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := reporttest.New()
			tt.fill(s)
			r := report.Compare(s.In)
			d := r.Diff
			if (d.CILow != nil) != (tt.half != 0) || (d.CIHigh != nil) != (tt.half != 0) {
				t.Fatalf("the interval is %v … %v", d.CILow, d.CIHigh)
			}
			if tt.half != 0 && (math.Abs(*d.CILow-max(-1, *d.Delta-tt.half)) > 1e-6 || math.Abs(*d.CIHigh-min(1, *d.Delta+tt.half)) > 1e-6) {
				t.Errorf("the interval is %v … %v around %v, want ± %v", *d.CILow, *d.CIHigh, *d.Delta, tt.half)
			}
			if got := strings.HasSuffix(reporters.Difference(r), ": may be noise"); got != tt.noise {
				t.Errorf("the difference is %s, want it to be called noise only where it may be", reporters.Difference(r))
			}
			// A regression that is confirmed is none, nor is a fall of all cases.
			r.Diff.Confirmed = 1
			confirmed := reporters.Difference(r)
			r.Diff.Confirmed, r.Remeasured = 0, &report.Noise{}
			r.Remeasured.Mean.Called = true
			if called := reporters.Difference(r); strings.Contains(confirmed+called, "noise") {
				t.Errorf("the difference is %s and %s, next to what is certain", confirmed, called)
			}
		})
	}
}

// TestCluster: cases that share a workspace, a database or a group count as one where the
// setting says so, and the turns of a conversation do always.
func TestCluster(t *testing.T) {
	add := func(s *reporttest.Scenario, n int, score float64, group, file string) {
		for range n {
			row := s.Add(fmt.Sprintf("%s/1/case_%d", group, len(s.In.Plan.Rows)), pass(1), pass(score), definition)
			row.Head.Inputs = append(row.Head.Inputs, schema.Input{File: file, Role: "workspace"}, schema.Input{File: "none", Role: "database", Absent: true})
		}
	}
	// Three clusters of two with the differences −0.8, −1 and −0.9.
	three := 4.302653 * math.Sqrt(1.5*0.08) / 6
	// Six cases: s² = 4·0.01/5.
	six := 2.570582 * math.Sqrt(0.04/30)
	for _, tt := range []struct {
		by   string
		half float64
	}{{"", six}, {"case", six}, {"fixture", three}, {"group", 0}} {
		s := reporttest.New()
		add(s, 2, 0.2, "math", "a")
		add(s, 2, 0, "math", "b")
		add(s, 2, 0.1, "talk", "c")
		s.In.Cluster = tt.by
		d := report.Compare(s.In).Diff
		switch {
		case d.Known() != (tt.half != 0):
			t.Errorf("by %q the interval is %v … %v", tt.by, d.CILow, d.CIHigh)
		case d.Known() && math.Abs(*d.CILow+0.9+tt.half) > 1e-6 && *d.CILow > -1:
			t.Errorf("by %q the interval is %v … %v, want −0.9 ± %v", tt.by, *d.CILow, *d.CIHigh, tt.half)
		case d.Known() && math.Abs(*d.CIHigh+0.9-tt.half) > 1e-6:
			t.Errorf("by %q the interval is %v … %v, want −0.9 ± %v", tt.by, *d.CILow, *d.CIHigh, tt.half)
		}
	}
}
