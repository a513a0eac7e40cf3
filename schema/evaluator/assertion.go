package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// Assertion holds the answer of the target against one rule that no model is
// asked about (the assertions of the matrix dialect). It is one criterion with
// the score 1 or 0.
type Assertion struct {
	// Type is the name of the rule without not-, such as icontains-any.
	Type string `json:"type"`
	// Not inverts the result.
	Not bool `json:"not,omitempty"`
	// Value is what is looked for: a string, a list of strings, a JSON Schema, or any
	// value to be equal to, as the Type wants it. nil where the Type needs none.
	Value json.RawMessage `json:"value,omitempty"`
	// Most is the largest edit distance of levenshtein.
	Most int `json:"most,omitempty"`
}

// Kind returns "assertion".
func (Assertion) Kind() string { return "assertion" }

// Version is the version of the comparisons.
func (Assertion) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Assertion) Roles() []schema.Role { return nil }

// Graded has a judge grade the answer by a rubric in words (llm-rubric of the
// matrix dialect). The measurement has two criteria: [GradedPass], 1 or 0, and
// [GradedScore].
type Graded struct {
	Rubric string `json:"rubric"`
	// Not inverts both criteria.
	Not bool `json:"not,omitempty"`
}

// The criteria of a [Graded] measurement.
const (
	GradedPass  = "pass"
	GradedScore = "score"
)

// Kind returns "llm-rubric".
func (Graded) Kind() string { return "llm-rubric" }

// Version is the version of the judge's prompt.
func (Graded) Version() int { return 1 }

// Roles returns the judge.
func (Graded) Roles() []schema.Role { return []schema.Role{schema.Judge} }
