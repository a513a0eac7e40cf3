package evaluator

import "github.com/gavel-evals/gavel/schema"

// Semantic asks a judge whether an output passes, for a grade from [Grades],
// and for an analysis. The two criteria are [PassCriterion], which is met or
// not, and [GradeCriterion].
type Semantic struct {
	// Instruction is the case's instruction to the judge.
	Instruction string `json:"instruction"`
	// Criteria are the judge's criteria; without any the instruction alone applies.
	Criteria []Criterion `json:"criteria,omitempty"`
}

// The criteria that Semantic measures.
const (
	PassCriterion  = "pass"
	GradeCriterion = "grade"
)

// A Grade is a word of the judge with its score.
type Grade struct {
	Word  string
	Score float64
}

// Grades returns the words that the judge chooses from, worst first.
func Grades() []Grade {
	return []Grade{{"Very Bad", 0}, {"Poor", 0.25}, {"Average", 0.5}, {"Good", 0.75}, {"Excellent", 1}}
}

// Rule returns a rule that passes an output that passed in every sample; the grades
// make the score.
func (Semantic) Rule() schema.Rule {
	return schema.Rule{
		Weights:  map[string]float64{GradeCriterion: 1, PassCriterion: 0},
		Required: []string{PassCriterion}, Unanimous: true,
	}
}

// Kind returns "semantic".
func (Semantic) Kind() string { return "semantic" }

// Version returns the version of the grades and of the question to the judge. Since 2,
// the model's thinking is ignored.
// Since 3 the model is told that an answer was cut off.
func (Semantic) Version() int { return 3 }

// Roles returns the judge.
func (Semantic) Roles() []schema.Role { return []schema.Role{schema.Judge} }

// Comparison asks a judge which of two outputs for the same input is better:
// twice, the second time in the other order, since judges favour a place. A
// preference that does not survive this is a tie.
type Comparison struct {
	Instruction string      `json:"instruction"`
	Criteria    []Criterion `json:"criteria,omitempty"`
}

// Kind returns "comparison".
func (Comparison) Kind() string { return "comparison" }

// Version returns the version of the question to the judge. Since 2, the model's
// thinking is ignored.
// Since 3 the model is told that an answer was cut off.
func (Comparison) Version() int { return 3 }

// Roles returns the judge.
func (Comparison) Roles() []schema.Role { return []schema.Role{schema.Judge, schema.Judge} }
