package evaluator

import (
	"encoding/json"
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// The kinds of checks.
const (
	CheckContains    = "contains"
	CheckNotContains = "not_contains"
	CheckIContains   = "icontains"
	CheckAny         = "any_of"
	CheckAll         = "all_of"
	CheckEquals      = "equals"
	CheckRegex       = "regex"
	CheckJSON        = "is_json"
	CheckPath        = "json_path"
	CheckLatency     = "latency_ms"
	CheckCost        = "cost_usd"
)

// Checks are assertions on answer, cost and time that need no model. Each is a
// criterion.
type Checks struct {
	Checks []Check `json:"checks"`
}

// A Check is one assertion. A quantity has its bound in the Rule.
type Check struct {
	// ID is unique in the case.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Text is the wanted text, the RE2 pattern, or the path within JSON.
	Text string `json:"text,omitempty"`
	// Texts are the texts of any_of and all_of.
	Texts []string `json:"texts,omitempty"`
	// Value is the JSON expected at json_path.
	Value json.RawMessage `json:"value,omitempty"`
	// Form is a JSON Schema that the answer must fit; nil allows any JSON.
	Form json.RawMessage `json:"form,omitempty"`
}

// Rule returns a rule that requires every check, whatever the score of the case.
// Quantities are bounded by most.
func (c Checks) Rule(most map[string]float64) schema.Rule {
	rule := schema.Rule{Most: most}
	for _, check := range c.Checks {
		rule.Required = append(rule.Required, check.ID)
	}
	return rule
}

// ReadsCost reports whether the price of the target matters.
func (c Checks) ReadsCost() bool {
	return slices.ContainsFunc(c.Checks, func(check Check) bool { return check.Kind == CheckCost })
}

// Kind returns "checks".
func (Checks) Kind() string { return "checks" }

// Version returns the version of the comparisons. Since 2, every keyword of JSON Schema
// and the formats count; since 3, the model's thinking is ignored;
// since 4, what an answer that was cut off does not contain is an error.
func (c Checks) Version() int {
	if slices.ContainsFunc(c.Checks, func(check Check) bool { return check.Kind == CheckNotContains }) {
		return 4
	}
	return 3
}

// Roles returns nil: no model is asked.
func (Checks) Roles() []schema.Role { return nil }
