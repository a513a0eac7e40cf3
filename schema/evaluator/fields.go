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
	// Match is exact, contains, regex, numeric_tolerance or date; empty without an
	// expected value.
	Match string `json:"match,omitempty"`
	// Expected is canonical JSON; for contains and regex a string to look for. If it is
	// nil, the field only has to exist.
	Expected json.RawMessage `json:"expected,omitempty"`
	// Required means that a missing field counts as wrong; otherwise a missing one does
	// not count.
	Required bool `json:"required,omitempty"`
	// Unexpected means that the expected answer lacks the field, so that it is right in
	// every JSON answer (AgentV).
	Unexpected bool `json:"unexpected,omitempty"`
	// Tolerance is the largest difference of equal numbers, as a share of the expected
	// one if Relative is set.
	Tolerance float64 `json:"tolerance,omitempty"`
	Relative  bool    `json:"relative,omitempty"`
	// Formats are the allowed formats of dates, besides year-month-day.
	Formats []string `json:"formats,omitempty"`
}

// Kind returns "field_accuracy".
func (FieldAccuracy) Kind() string { return "field_accuracy" }

// Version returns the version of the comparisons. Since 2, the model's thinking is not
// a part of the answer. Since 3, a missing field that is not required does not count.
// Since 4, a date may have its month as a word, or numbers in another order.
func (FieldAccuracy) Version() int { return 4 }

// Roles returns nil: no model is asked.
func (FieldAccuracy) Roles() []schema.Role { return nil }
