package run

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

var judges = []schema.Evaluator{{Name: "main", Weight: 1, Spec: evaluator.Criteria{}, Rule: schema.Rule{Threshold: 0.5}}}

// marked is a sample whose output has a mark out of 10 for each criterion.
func marked(marks map[string]float64) verdict.Sample {
	m := verdict.Measurement{Evaluator: "main"}
	for _, id := range []string{"clarity", "tone"} {
		if mark, ok := marks[id]; ok {
			m.Criteria = append(m.Criteria, verdict.Criterion{ID: id, Score: max(mark, 0) / 10, NotApplicable: mark < 0})
		}
	}
	return verdict.Sample{Measurements: []verdict.Measurement{m}}
}

// clear is a sample with a mark for its clarity.
func clear(mark float64) verdict.Sample { return marked(map[string]float64{"clarity": mark}) }

// prefers is a pair in which the judge prefers B by this much.
func prefers(score float64) abPair {
	return abPair{A: clear(8), B: clear(8), Preference: verdict.Measurement{Criteria: []verdict.Criterion{{Score: score}}}}
}

func times(n int, p abPair) []abPair {
	var pairs []abPair
	for range n {
		pairs = append(pairs, p)
	}
	return pairs
}

func TestProblems(t *testing.T) {
	failed := verdict.Sample{Error: "the target is down"}
	unread := verdict.Sample{Measurements: []verdict.Measurement{{Error: "the judge was not understood"}}}
	for _, tt := range []struct {
		name string
		pair abPair
		want string
	}{
		{"both were judged", abPair{A: clear(5), B: clear(6)}, ""},
		{"A failed", abPair{A: failed, B: clear(6)}, "the target is down"},
		{"B failed", abPair{A: clear(5), B: failed}, "the target is down"},
		{"B could not be measured", abPair{A: clear(5), B: unread}, "the judge was not understood"},
		{"A has no measurement", abPair{B: clear(6)}, "it was not judged"},
		{"the preference could not be read", abPair{A: clear(5), B: clear(6), Preference: verdict.Measurement{Error: "no preference"}}, "no preference"},
	} {
		if got := tt.pair.Problem(); got != tt.want {
			t.Errorf("%s: the problem is %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTheBetterScoreWins(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pairs  []abPair
		winner string
		delta  float64
	}{
		{"B is better each time", times(4, abPair{A: clear(3), B: clear(9)}), "B", 0.6},
		{"A is better each time", times(4, abPair{A: clear(9), B: clear(3)}), "A", -0.6},
		{"both are alike", times(4, abPair{A: clear(8), B: clear(8)}), "", 0},
		{"one pair has no interval", times(1, abPair{A: clear(1), B: clear(9)}), "", 0.8},
		{"the difference varies around 0", append(times(2, abPair{A: clear(9), B: clear(3)}), times(2, abPair{A: clear(3), B: clear(9)})...), "", 0},
	} {
		var c verdict.Comparison
		decideComparison(&c, judges, tt.pairs)
		if c.Winner != tt.winner || c.Pairs != len(tt.pairs) {
			t.Errorf("%s: the winner of %d pairs is %q, want %q of %d", tt.name, c.Pairs, c.Winner, tt.winner, len(tt.pairs))
		}
		if c.Score == nil || math.Abs(c.Score.Delta-tt.delta) > 1e-9 {
			t.Errorf("%s: the scores differ by %+v, want %g", tt.name, c.Score, tt.delta)
		}
	}
}

func TestNoPairs(t *testing.T) {
	c := verdict.Comparison{Preferences: &verdict.Preferences{}}
	decideComparison(&c, judges, nil)
	if diff := cmp.Diff(verdict.Comparison{Preferences: &verdict.Preferences{}}, c); diff != "" {
		t.Errorf("without pairs something is decided (-want +got):\n%s", diff)
	}
}

// TestCriteria that were not measured under both prompts, or do not apply to one,
// are not compared.
func TestCriteria(t *testing.T) {
	var c verdict.Comparison
	decideComparison(&c, judges, []abPair{
		{A: marked(map[string]float64{"clarity": 4, "tone": 2}), B: marked(map[string]float64{"clarity": 6, "tone": 8})},
		{A: marked(map[string]float64{"clarity": 4, "tone": -1}), B: marked(map[string]float64{"clarity": 6, "tone": 8})},
		{A: marked(map[string]float64{"clarity": 4, "tone": 2}), B: marked(map[string]float64{"clarity": 6})},
	})
	want := []verdict.Difference{
		{Evaluator: "main", ID: "clarity", A: 0.4, B: 0.6, Delta: 0.2},
		{Evaluator: "main", ID: "tone", A: 0.2, B: 0.8, Delta: 0.6},
	}
	ends := cmpopts.IgnoreFields(verdict.Difference{}, "Low", "High")
	if diff := cmp.Diff(want, c.Criteria, ends, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Fatalf("the criteria that are compared (-want +got):\n%s", diff)
	}
	if c.Criteria[0].Low == nil || c.Criteria[1].Low != nil {
		t.Errorf("intervals of three pairs and of one: %+v, want one for the first alone", c.Criteria)
	}
}

// TestIntervalsEndWhereScoresDo compares a criterion that every pair meets under one
// prompt and none under the other.
func TestIntervalsEndWhereScoresDo(t *testing.T) {
	var c verdict.Comparison
	decideComparison(&c, judges, times(5, abPair{A: clear(0), B: clear(10)}))
	if c.Score.High == nil || *c.Score.High > 1 || *c.Score.Low < -1 {
		t.Errorf("the interval of a difference of 1 is %v to %v, want it within -1 and 1", *c.Score.Low, *c.Score.High)
	}
}

func TestPreferences(t *testing.T) {
	for _, tt := range []struct {
		name    string
		a, b, n int // pairs in which A, B, neither is preferred
		winner  string
	}{
		{"B in six of six", 0, 6, 0, "B"},
		{"A in six of six", 6, 0, 0, "A"},
		{"B in five of five may be chance", 0, 5, 0, ""},
		{"ties do not count", 0, 6, 20, "B"},
		{"as often", 4, 4, 0, ""},
	} {
		c := verdict.Comparison{Preferences: &verdict.Preferences{}}
		pairs := append(append(times(tt.a, prefers(0)), times(tt.b, prefers(1))...), times(tt.n, prefers(0.5))...)
		decideComparison(&c, judges, pairs)
		want := verdict.Preferences{A: tt.a, B: tt.b, Ties: tt.n, P: c.Preferences.P}
		if diff := cmp.Diff(want, *c.Preferences); diff != "" {
			t.Errorf("%s: the preferences (-want +got):\n%s", tt.name, diff)
		}
		if c.Winner != tt.winner {
			t.Errorf("%s: the winner is %q with p = %g, want %q", tt.name, c.Winner, c.Preferences.P, tt.winner)
		}
	}
}
