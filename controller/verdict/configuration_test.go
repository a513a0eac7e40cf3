package verdict_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// numeric is the example of a rubric with weights that the format's description
// gives: 0.4, 0.3 and 0.3.
func numeric(threshold *float64) schema.Evaluator {
	spec := evaluator.Criteria{Criteria: []evaluator.Criterion{{Name: "Completeness"}, {Name: "Clarity"}, {Name: "Feasibility"}}}
	return schema.Evaluator{Name: "criteria", Weight: 1, Spec: spec, Rule: spec.Rule([]float64{0.4, 0.3, 0.3}, threshold)}
}

// judgedBy is a sample with scores out of ten.
func judgedBy(completeness, clarity, feasibility float64) verdict.Sample {
	return verdict.Sample{Measurements: []verdict.Measurement{{Evaluator: "criteria", Criteria: []verdict.Criterion{
		{ID: "Completeness", Score: completeness / 10}, {ID: "Clarity", Score: clarity / 10}, {ID: "Feasibility", Score: feasibility / 10},
	}}}}
}

func TestNumericConfiguration(t *testing.T) {
	at := func(threshold float64) *float64 { return &threshold }
	for _, tt := range []struct {
		name      string
		threshold *float64
		samples   []verdict.Sample
		verdict   verdict.Verdict
		score     float64 // out of ten
		ungated   bool
	}{
		{"one run", at(8), []verdict.Sample{judgedBy(9, 8, 8)}, verdict.Pass, 8.4, false},
		{"just at the threshold", at(8.4), []verdict.Sample{judgedBy(9, 8, 8)}, verdict.Pass, 8.4, false},
		{"just below", at(8.41), []verdict.Sample{judgedBy(9, 8, 8)}, verdict.Fail, 8.4, false},
		{"mean of three", at(7), []verdict.Sample{judgedBy(9, 8, 8), judgedBy(5, 5, 5), judgedBy(8, 8, 8)}, verdict.Pass, (8.4 + 5 + 8) / 3, false},
		{"rounded to a billionth", at(0.3), []verdict.Sample{judgedBy(0.1, 0.1, 0.1), judgedBy(0.5, 0.5, 0.5)}, verdict.Pass, 0.3, false},
		{"threshold 0", at(0), []verdict.Sample{judgedBy(0, 0, 0)}, verdict.Pass, 0, false},
		{"threshold 10", at(10), []verdict.Sample{judgedBy(10, 10, 10)}, verdict.Pass, 10, false},
		{"no threshold", nil, []verdict.Sample{judgedBy(1, 0, 0)}, verdict.Pass, 0.4, true},
		{"no threshold, an error", nil, []verdict.Sample{{Error: "timeout"}}, verdict.Error, 0, false},
		{"an error is not a zero", at(8), []verdict.Sample{judgedBy(9, 8, 8), {Error: "timeout"}}, verdict.Pass, 8.4, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := verdict.Decide([]schema.Evaluator{numeric(tt.threshold)}, tt.samples)
			if got.Verdict != tt.verdict || got.NoThreshold != tt.ungated {
				t.Fatalf("%s, ungated %v (%s); want %s, %v", got.Verdict, got.NoThreshold, got.Reason, tt.verdict, tt.ungated)
			}
			if got.Score != nil && math.Abs(*got.Score*10-tt.score) > 1e-9 {
				t.Errorf("score %v out of ten, want %v", *got.Score*10, tt.score)
			}
		})
	}
}

// TestToolCountsFailWhateverTheScore has counts next to a judge: they have no
// share in the score, and a violation in one of the samples fails the case.
func TestToolCountsFailWhateverTheScore(t *testing.T) {
	counts := evaluator.ToolCounts{Counts: []evaluator.ToolCount{{Tool: "search", Least: 1}}}
	evaluators := []schema.Evaluator{numeric(nil), {Name: "tool_counts", Spec: counts, Rule: counts.Rule()}}
	sample := func(held float64) verdict.Sample {
		s := judgedBy(10, 10, 10)
		s.Measurements = append(s.Measurements, verdict.Measurement{Evaluator: "tool_counts", Reason: "search was called never", Criteria: []verdict.Criterion{{ID: "search", Score: held}}})
		return s
	}
	for _, tt := range []struct {
		held []float64
		want verdict.Verdict
	}{{[]float64{1, 1, 1}, verdict.Pass}, {[]float64{1, 0, 1}, verdict.Fail}, {[]float64{0}, verdict.Fail}} {
		var samples []verdict.Sample
		for _, h := range tt.held {
			samples = append(samples, sample(h))
		}
		got := verdict.Decide(evaluators, samples)
		if got.Verdict != tt.want || got.Score == nil || *got.Score != 1 {
			t.Errorf("%v: %+v, want %s with the score of the judge", tt.held, got, tt.want)
		}
		if tt.want == verdict.Fail && !strings.Contains(got.Reason, "search was called never") {
			t.Errorf("reason %q", got.Reason)
		}
	}
}

func TestSemanticConfiguration(t *testing.T) {
	spec := evaluator.Semantic{}
	ev := []schema.Evaluator{{Name: "semantic", Weight: 1, Spec: spec, Rule: spec.Rule()}}
	sample := func(pass, grade float64) verdict.Sample {
		return verdict.Sample{Measurements: []verdict.Measurement{{Evaluator: "semantic", Criteria: []verdict.Criterion{
			{ID: evaluator.PassCriterion, Score: pass}, {ID: evaluator.GradeCriterion, Score: grade},
		}}}}
	}
	for _, tt := range []struct {
		name    string
		samples []verdict.Sample
		want    verdict.Verdict
		score   float64
	}{
		{"passes", []verdict.Sample{sample(1, 0.75)}, verdict.Pass, 0.75},
		{"passes with a bad grade", []verdict.Sample{sample(1, 0)}, verdict.Pass, 0},
		{"fails with a good grade", []verdict.Sample{sample(0, 1)}, verdict.Fail, 1},
		{"one of three does not pass", []verdict.Sample{sample(1, 1), sample(0, 0.25), sample(1, 1)}, verdict.Fail, 0.75},
		{"all pass", []verdict.Sample{sample(1, 1), sample(1, 0.5)}, verdict.Pass, 0.75},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := verdict.Decide(ev, tt.samples)
			if got.Verdict != tt.want || math.Abs(*got.Score-tt.score) > 1e-9 {
				t.Errorf("%s %v, want %s %v", got.Verdict, *got.Score, tt.want, tt.score)
			}
		})
	}
}

func TestPromptsOfAttempts(t *testing.T) {
	for _, tt := range []struct {
		systems       []string
		before, after string
		rewritten     bool
	}{{nil, "", "", false}, {[]string{"a"}, "a", "a", false}, {[]string{"a", "b", "a"}, "a", "a", false}, {[]string{"", "b"}, "", "b", true}} {
		var r verdict.Result
		for _, s := range tt.systems {
			r.Attempts = append(r.Attempts, verdict.Attempt{System: s})
		}
		if before, after, rewritten := r.Prompts(); before != tt.before || after != tt.after || rewritten != tt.rewritten {
			t.Errorf("%q: prompts %q and %q, rewritten %v; want those of the table", tt.systems, before, after, rewritten)
		}
	}
}
