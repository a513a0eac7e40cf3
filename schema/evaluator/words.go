package evaluator

import "github.com/gavel-evals/gavel/schema"

// The ways to compare words of an [Overlap].
const (
	ByROUGE = "rouge-n"
	ByBLEU  = "bleu"
)

// Overlap compares the words of the answer with those of reference texts (rouge-n and
// bleu of the matrix dialect). The measurement has the criteria of [Graded].
type Overlap struct {
	// By is ByROUGE or ByBLEU.
	By string `json:"by"`
	// Texts are the references: one for ByROUGE.
	Texts []string `json:"texts"`
	// Least is the score that passes.
	Least float64 `json:"least"`
	// Not inverts both criteria.
	Not bool `json:"not,omitempty"`
}

// Kind returns By.
func (o Overlap) Kind() string { return o.By }

// Version returns the version of the tokens and of the formula. With Not, an answer that
// was cut off and passes is an error, since the first version.
func (Overlap) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Overlap) Roles() []schema.Role { return nil }

// Refusal reports whether the answer refuses, by the words of refusals (is-refusal of the
// matrix dialect). The measurement has the criteria of [Graded].
type Refusal struct {
	// Not inverts the pass, and the score unless there is no text.
	Not bool `json:"not,omitempty"`
}

// Kind returns "is-refusal".
func (Refusal) Kind() string { return "is-refusal" }

// Version returns the version of the words.
func (Refusal) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Refusal) Roles() []schema.Role { return nil }
