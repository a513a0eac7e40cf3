package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestDecide judges each sample alone, and finds what it took by its ordinal.
func TestDecide(t *testing.T) {
	c := &schema.Case{Evaluators: []schema.Evaluator{{Name: "a", Weight: 1, Spec: evaluator.Checks{}, Rule: schema.Rule{Threshold: 0.5}}}}
	judged := func(ordinal int, score float64) ledger.Judgement {
		return ledger.Judgement{Sample: verdict.Sample{Ordinal: ordinal, Measurements: []verdict.Measurement{{Evaluator: "a", Criteria: []verdict.Criterion{{ID: "x", Score: score}}}}}}
	}
	stored := ledger.StoredCase{Judgements: []ledger.Judgement{judged(0, 1), judged(2, 0), judged(3, 1)}}
	stored.Executions = []ledger.Execution{{Ordinal: 2, Transcript: verdict.Transcript{Latency: time.Second, Usage: verdict.Usage{Calls: 1}}}}
	one, none := 1.0, 0.0
	scored := func(score float64) []verdict.EvaluatorResult {
		return []verdict.EvaluatorResult{{Name: "a", Type: "checks", Weight: &one, Score: score, Pass: score == 1, Criteria: []verdict.Criterion{{ID: "x", Score: score}}}}
	}
	want := []report.Sample{
		{Score: &one, Verdict: verdict.Pass, Evaluators: scored(1)},
		{
			Score: &none, Verdict: verdict.Fail, Evaluators: scored(0), Usage: verdict.Usage{Calls: 1}, Latency: time.Second,
			Effort: &verdict.Effort{Samples: 1, Calls: 1, Latency: time.Second, Untraced: true},
		},
	}
	if diff := cmp.Diff(want, decideSamples(c, stored, 2)); diff != "" {
		t.Errorf("the samples (-want +got):\n%s", diff)
	}
}
