package evaluator

import "github.com/gavel-evals/gavel/schema"

// SelectBest asks a judge to choose the best among the answers of a case and its peers
// (select-best of the matrix dialect). It is one criterion with the score 1 for the
// chosen answer, and for every equal answer, else 0.
type SelectBest struct {
	// Criterion describes the best answer.
	Criterion string `json:"criterion"`
	// Target is the judging model; empty means the judge. Its identity is a separate
	// part of J.
	Target string `json:"-"`
}

// Kind returns "select-best".
func (SelectBest) Kind() string { return "select-best" }

// Version returns the version of the judge's prompt.
func (SelectBest) Version() int { return 1 }

// Roles returns the judge unless another model is asked.
func (s SelectBest) Roles() []schema.Role { return judgeUnless(s.Target) }

// Targets returns the name of the model that replaces the judge.
func (s SelectBest) Targets() []string { return named(s.Target) }

// MaxScore compares the scores of a case and its peers (max-score of the matrix
// dialect). It is one criterion with the score 1 for every case with the highest score,
// else 0.
type MaxScore struct {
	// Weights are the weights of the case's other evaluators, in their order; comparing
	// ones have none.
	Weights []float64 `json:"weights"`
	// Sum adds the weighted scores up, instead of taking their mean.
	Sum bool `json:"sum,omitempty"`
	// Least is the minimum of the highest score.
	Least *float64 `json:"least,omitempty"`
}

// Kind returns "max-score".
func (MaxScore) Kind() string { return "max-score" }

// Version returns the version of the comparison.
func (MaxScore) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (MaxScore) Roles() []schema.Role { return nil }

// Selects returns the evaluator, without transforms of the answer, if it compares a
// case with its peers.
func Selects(spec schema.Spec) (schema.Spec, bool) {
	if t, ok := spec.(Transformed); ok {
		spec = t.Spec
	}
	switch spec.(type) {
	case SelectBest, MaxScore:
		return spec, true
	}
	return nil, false
}
