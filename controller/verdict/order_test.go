package verdict_test

import (
	"fmt"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// TestTheOrderOfScoresSaysNothing decides about 0.7, 0.8 and 0.9 in each order, whose
// sums differ in the last bit: as criteria, evaluators, samples, members and bounds.
func TestTheOrderOfScoresSaysNothing(t *testing.T) {
	sums := map[float64]bool{}
	for _, s := range [][3]float64{{0.7, 0.8, 0.9}, {0.7, 0.9, 0.8}, {0.8, 0.7, 0.9}, {0.8, 0.9, 0.7}, {0.9, 0.7, 0.8}, {0.9, 0.8, 0.7}} {
		a, b, c := s[0], s[1], s[2] // constants would be summed exactly
		sums[(a+b+c)/3] = true
		bands := &schema.Bands{Pass: 0.8, Borderline: 0.6}
		rule := schema.Rule{Threshold: 0.8}
		three := &schema.Case{Policy: schema.Policy{Bands: bands}}
		var each verdict.Sample
		for i, score := range s {
			three.Evaluators = append(three.Evaluators, schema.Evaluator{Name: fmt.Sprint(i), Weight: 1, Rule: rule})
			m := scores(score)
			m.Evaluator = fmt.Sprint(i)
			each.Measurements = append(each.Measurements, m)
		}
		one := func(rule schema.Rule, list ...verdict.Sample) verdict.Result {
			c := &schema.Case{Evaluators: []schema.Evaluator{{Name: "main", Weight: 1, Rule: rule}}, Policy: schema.Policy{Bands: bands}}
			return verdict.DecideCase(c, list)
		}
		for _, tt := range []struct {
			name string
			got  verdict.Result
		}{
			{"criteria", one(rule, samples(scores(a, b, c))...)},
			{"samples", one(rule, samples(scores(a), scores(b), scores(c))...)},
			{"evaluators", verdict.DecideCase(three, []verdict.Sample{each})},
			{"a floor", one(schema.Rule{Threshold: 0.8, Floor: 0.8}, samples(scores(a, b, c))...)},
		} {
			if tt.got.Verdict != verdict.Pass {
				t.Errorf("%v as %s: the verdict is %s (%s), want pass at 0.8", s, tt.name, tt.got.Verdict, tt.got.Reason)
			}
		}
	}
	if len(sums) < 2 {
		t.Error("all sums are equal, so that this proves nothing")
	}
}
