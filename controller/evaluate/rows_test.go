package evaluate_test

import (
	"fmt"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// benchmarkRows is how many rows a suite of inline JavaScript has.
const benchmarkRows = 10_000

// BenchmarkRows measures a suite of rows with one inline function each, as a run does: the
// function gets the answer and its context, and a child computes. The number of one row is
// us/row.
func BenchmarkRows(b *testing.B) {
	spec := evaluator.JavaScript{Code: "output.length > 3 && output.includes(context.vars.want)", Context: raw(`{"vars": {"want": "row"}, "prompt": "say it"}`)}
	ev := schema.Evaluator{Name: "javascript", Weight: 1, Spec: spec}
	for b.Loop() {
		for n := range benchmarkRows {
			m := measured(b.Context(), b, ev, input("say it", fmt.Sprintf("row %d", n), &script{}))
			if m.Error != "" {
				b.Fatal(m.Error)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*benchmarkRows), "us/row")
}
