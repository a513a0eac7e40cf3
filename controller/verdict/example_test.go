package verdict_test

import (
	"fmt"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

func ExampleDecide() {
	evaluators := []schema.Evaluator{{Name: "keyword", Weight: 1, Rule: schema.Rule{Threshold: 0.75}}}
	sample := func(ordinal int, scores ...float64) verdict.Sample {
		m := verdict.Measurement{Evaluator: "keyword"}
		for i, score := range scores {
			m.Criteria = append(m.Criteria, verdict.Criterion{ID: fmt.Sprint("word ", i+1), Score: score})
		}
		return verdict.Sample{Ordinal: ordinal, Measurements: []verdict.Measurement{m}}
	}
	result := verdict.Decide(evaluators, []verdict.Sample{sample(0, 1, 1), sample(1, 1, 0)})
	fmt.Println(result.Verdict, *result.Score, result.Samples)
	result = verdict.Decide(evaluators, []verdict.Sample{sample(0, 1, 0), sample(1, 1, 0)})
	fmt.Println(result.Verdict, *result.Score, result.Samples)
	// Output:
	// pass 0.75 2
	// fail 0.5 2
}
