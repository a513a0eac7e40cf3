package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// FieldAccuracy compares fields of an answer that is JSON with expected values.
type FieldAccuracy struct {
	Fields []Field `json:"fields"`
}

// A Field is one value of an answer. Its Path is its criterion.
type Field struct {
	// Path leads to the value, such as items[0].total.
	Path string `json:"path"`
	// Match is exact, contains, regex, numeric_tolerance or date; empty where
	// nothing is expected.
	Match string `json:"match,omitempty"`
	// Expected is canonical JSON; for contains and regex a string that is
	// looked for. If it is nil, the field only has to be there.
	Expected json.RawMessage `json:"expected,omitempty"`
	// Required means that the field counts as wrong where it is missing; one
	// that is not required and missing does not count.
	Required bool `json:"required,omitempty"`
	// Unexpected means that the expected answer does not have the field, so that it is
	// right in every answer that is JSON (AgentV).
	Unexpected bool `json:"unexpected,omitempty"`
	// Tolerance is the largest difference of numbers that are equal, as a share
	// of the expected one where Relative is set.
	Tolerance float64 `json:"tolerance,omitempty"`
	Relative  bool    `json:"relative,omitempty"`
	// Formats are how dates may be written, besides year-month-day.
	Formats []string `json:"formats,omitempty"`
}

// Kind returns "field_accuracy".
func (FieldAccuracy) Kind() string { return "field_accuracy" }

// Version is the version of the comparisons. Since 2, what a model thought before
// it answered is not a part of the answer. Since 3, a field that is missing and
// not required does not count.
func (FieldAccuracy) Version() int { return 3 }

// Roles returns nil: no model is asked.
func (FieldAccuracy) Roles() []schema.Role { return nil }
