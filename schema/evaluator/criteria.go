package evaluator

import "github.com/gavel-evals/gavel/schema"

// A Criterion is one thing that a judge looks at. All its fields are shown to
// the judge.
type Criterion struct {
	// Name is unique among the criteria, and the id of what is measured.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Weight tells a judge that decides on the whole how much the criterion
	// matters. It is nil where the judge scores each criterion alone: there the
	// weight belongs to the Rule, so that changing it needs no call.
	Weight *float64 `json:"weight,omitempty"`
}

// CriteriaScale is the highest score that a judge gives a criterion.
const CriteriaScale = 10

// Criteria asks a judge to score an output from 0 to [CriteriaScale] by each
// criterion.
type Criteria struct {
	// Instruction is what the case tells the judge.
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

// Version is the version of the question to the judge and of the reply's reading.
// Since 2, a score out of range is asked for again.
func (Criteria) Version() int { return 2 }

// Roles returns the judge.
func (Criteria) Roles() []schema.Role { return []schema.Role{schema.Judge} }
