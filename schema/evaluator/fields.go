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
	// Match is exact, contains, regex, numeric_tolerance or date.
	Match string `json:"match"`
	// Expected is canonical JSON; for contains and regex a string that is
	// looked for.
	Expected json.RawMessage `json:"expected"`
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
// it answered is not a part of the answer.
func (FieldAccuracy) Version() int { return 2 }

// Roles returns nil: no model is asked.
func (FieldAccuracy) Roles() []schema.Role { return nil }
