package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// Function runs a program of the repository on the answer: a function in Python, Ruby or
// JavaScript. It reads {output, context} on stdin and prints what the function returns
// as JSON. The measurement has the criteria of [Graded].
type Function struct {
	Program
	// Code is handed to the program in addition, where the definition has it itself.
	Code string `json:"code,omitempty"`
	// Context is the function's argument context.
	Context json.RawMessage `json:"context,omitempty"`
	// Threshold is the least number that passes; nil passes those above 0.
	Threshold *float64 `json:"threshold,omitempty"`
	// Not inverts both criteria.
	Not bool `json:"not,omitempty"`
}

// Kind returns "function".
func (Function) Kind() string { return "function" }

// Version is the version of what the program reads and prints, and of which files it
// sees. Since 2, it sees those that count and no others.
func (Function) Version() int { return 2 }

// Roles returns nil: a program is asked.
func (Function) Roles() []schema.Role { return nil }
