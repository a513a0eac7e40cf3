package evaluate_test

import (
	"errors"
	"testing"

	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestTrapP4: a judge or an embedding that cannot be reached is an error and never a
// score, inverted or not. With promptfoo the assertion fails with the score 0.
func TestTrapP4(t *testing.T) {
	for _, spec := range []schema.Spec{
		evaluator.Graded{Rubric: "Is polite"},
		evaluator.Graded{Rubric: "Is rude", Not: true},
		evaluator.Similar{Texts: []string{"hello"}},
		evaluator.Similar{Texts: []string{"hello"}, Not: true},
	} {
		m := measure(t, spec, "hi", &script{err: errors.New("connection refused")})
		fails(t, m, "connection refused")
		result := verdict.Decide([]schema.Evaluator{{Name: "main", Weight: 1, Spec: spec}}, []verdict.Sample{{Measurements: []verdict.Measurement{m}}})
		if result.Score != nil || result.Verdict != verdict.Error {
			t.Errorf("%T: the result is %+v, want an error without a score", spec, result)
		}
	}
}
