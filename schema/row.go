package schema

import (
	"bytes"
	"encoding/json"
	"maps"
)

// A Row is a test of a matrix with one of its prompts. Reports and files of results show it; none of it
// is in a digest.
type Row struct {
	// Vars are the variables, after filling.
	Vars map[string]json.RawMessage
	// Prompt is the template that is sent, or a chat as JSON. Label is its name, and PromptFile its file.
	Prompt, Label, PromptFile string
	// Test is the name of the test, which is the same for every prompt. Description may be empty.
	Test, Description string
	// Asserts are in the order of the evaluators.
	Asserts []RowAssertion
}

// A RowAssertion is an assertion of a row, as it is written.
type RowAssertion struct {
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
