package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// Function runs a program of the repository on the answer: a function in Python, Ruby
// or JavaScript. It reads {output, context} on stdin and prints the function's result
// as JSON. The measurement has the criteria of [Graded].
type Function struct {
	Program
	// Code is an additional input of the program, if it is in the definition itself.
	Code string `json:"code,omitempty"`
	// Context is the function's argument context.
	Context json.RawMessage `json:"context,omitempty"`
	// Threshold is the least number that passes; with nil every number above 0 passes.
	Threshold *float64 `json:"threshold,omitempty"`
	// Not inverts the pass, and a score that follows from it.
	Not bool `json:"not,omitempty"`
}

// Kind returns "function".
func (Function) Kind() string { return "function" }

// Version returns the version of the program's input and output, and of its visible
// files. Since 2, it only sees the digested files. Since 3 a score that a
// function gives is the same with Not. Since 4 an answer that was cut off is an error of an
// inverted one that holds. One more since a score that is not a number is an error. One
// more with a threshold that Python's dictionaries are held against.
func (f Function) Version() int {
	version := 3
	if f.Not {
		version = 5
	}
	if f.Threshold != nil && len(f.Argv) > 0 && f.Argv[0] != "node" {
		version++
	}
	return version
}

// Roles returns nil: no model is asked.
func (Function) Roles() []schema.Role { return nil }
