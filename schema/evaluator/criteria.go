package evaluator

import "github.com/gavel-evals/gavel/schema"

// A Criterion is one aspect that a judge evaluates. All its fields are shown to the
// judge.
type Criterion struct {
	// Name is unique among the criteria, and the id of the measurement.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Weight tells a judge that decides as a whole the importance of the criterion. It
	// is nil if the judge scores each criterion alone: then the weight belongs to the
	// Rule, so that changing it needs no call.
	Weight *float64 `json:"weight,omitempty"`
}

// CriteriaScale is the highest score of a criterion.
const CriteriaScale = 10

// Criteria asks a judge to score an output from 0 to [CriteriaScale] by each
// criterion.
type Criteria struct {
	// Instruction is the case's instruction to the judge.
	Instruction string      `json:"instruction"`
	Criteria    []Criterion `json:"criteria"`
}

// Rule weighs the criteria. A threshold is on the scale of the judge; nil
// passes every score, which is marked.
func (c Criteria) Rule(weights []float64, threshold *float64) schema.Rule {
	rule := schema.Rule{Weights: make(map[string]float64, len(c.Criteria)), Ungated: threshold == nil}
	for i, criterion := range c.Criteria {
		rule.Weights[criterion.Name] = weights[i]
	}
	if threshold != nil {
		rule.Threshold = *threshold / CriteriaScale
	}
	return rule
}

// Kind returns "criteria".
func (Criteria) Kind() string { return "criteria" }

// Version returns the version of the question to the judge and of reading the reply.
// Since 2, a score out of range is asked for again.
// Since 3 the model is told that an answer was cut off.
func (Criteria) Version() int { return 3 }

// Roles returns the judge.
func (Criteria) Roles() []schema.Role { return []schema.Role{schema.Judge} }
