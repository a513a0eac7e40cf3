// Package row has what a row of a matrix is made of, for what is shown of it and written
// into files of results. None of it is in a digest.
package row

import (
	"bytes"
	"encoding/json"
	"maps"
)

// A Row is a test of a matrix with one of its prompts.
type Row struct {
	// Vars are the variables, with those that are filled into them.
	Vars map[string]json.RawMessage
	// Prompt is the template that is sent, or a chat as JSON. Label is its name, and
	// PromptFile the file that has it.
	Prompt, Label, PromptFile string
	// Test is the name of the test, which it has with every prompt; Description is how it
	// is described, or empty.
	Test, Description string
	// Asserts are the assertions, in the order of the evaluators.
	Asserts []Assertion
}

// An Assertion is one of a row, as it is written.
type Assertion struct {
	Type      string          `json:"type"`
	Value     json.RawMessage `json:"value,omitempty"`
	Threshold *float64        `json:"threshold,omitempty"`
	Weight    *float64        `json:"weight,omitempty"`
	Metric    string          `json:"metric,omitempty"`
}

// SameVars reports whether the variables of two rows are equal.
func (r *Row) SameVars(other *Row) bool {
	return maps.EqualFunc(r.Vars, other.Vars, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}
