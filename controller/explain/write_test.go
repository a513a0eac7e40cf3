package explain_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// TestWriteAMeasuredQuantity: it has no score before it is compared with its bounds.
func TestWriteAMeasuredQuantity(t *testing.T) {
	took := 79.
	x := explain.Case{Key: "talk#hello", File: "talk.yaml", Line: 1, Judgements: []explain.Judgement{{Sample: verdict.Sample{
		Measurements: []verdict.Measurement{{Evaluator: "quick", Criteria: []verdict.Criterion{
			{ID: "latency", Value: &took, Note: "duration_ms 79"}, {ID: "tone", Score: 0},
		}}},
	}}}}
	var out strings.Builder
	if err := x.Write(&out, explain.Detail{}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	if want := "latency – duration_ms 79 tone 0.00"; !strings.Contains(got, want) {
		t.Errorf("the explanation lacks %q:\n%s", want, out.String())
	}
}
