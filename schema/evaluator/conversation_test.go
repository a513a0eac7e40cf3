package evaluator_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

func TestConversationRule(t *testing.T) {
	calls := []evaluator.CallExpectation{
		{Tool: "refund", Params: []byte(`{"id":1}`)},
		{Tool: "refund", Params: []byte(`{"id":2}`)},
		{Tool: "refund#2"},
		{Tool: "refund", Forbidden: true},
	}
	evaluator.NumberCalls(calls)
	c := evaluator.Conversation{
		Criteria: "Be kind.",
		Outcomes: []evaluator.Outcome{{Label: "refund", Want: []byte("true")}},
		Calls:    calls,
	}
	want := schema.Rule{
		Threshold: 0.75,
		Weights: map[string]float64{
			"overall": 1, "outcome:refund": 0, "calls:refund": 0, "calls:refund#2": 0, "calls:refund#2#2": 0, "avoids:refund": 0,
		},
		Required: []string{"outcome:refund", "calls:refund", "calls:refund#2", "calls:refund#2#2", "avoids:refund"},
	}
	if diff := cmp.Diff(want, c.Rule(0.75)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConversationMetricsSumToOne(t *testing.T) {
	sum, rule := 0.0, evaluator.Conversation{}.Rule(1)
	for _, m := range evaluator.ConversationMetrics() {
		sum += rule.Weights[m.ID]
	}
	if len(rule.Weights) != 8 || len(rule.Required) != 0 || math.Abs(sum-1) > 1e-12 {
		t.Errorf("weights %v sum to %v; required %v", rule.Weights, sum, rule.Required)
	}
}
