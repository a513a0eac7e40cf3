package evaluator

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// ToolCounts counts the target's calls of its tools. Each count is a separate
// criterion, by the name of the tool. A target that does not report its calls cannot be
// measured: that is an error and not a count of 0.
type ToolCounts struct {
	// Counts are sorted by tool, since the order of the calls has no meaning.
	Counts []ToolCount `json:"counts"`
}

// A ToolCount bounds how often a tool is called in a sample, both inclusive.
type ToolCount struct {
	Tool  string `json:"tool"`
	Least int    `json:"least"`
	// Most is nil if there is no upper bound.
	Most *int `json:"most,omitempty"`
}

// AsksNothing reports whether a case passes whatever the answer is: it only has
// evaluators that represent none or, in the format matrix, that cannot fail, and
// compares no prompts.
func AsksNothing(c *schema.Case) bool {
	return c.Skip == "" && c.Alternative == nil && len(c.Evaluators) > 0 && !slices.ContainsFunc(c.Evaluators, func(ev schema.Evaluator) bool {
		spec, ok := ev.Spec.(ToolCounts)
		return (!ok || len(spec.Counts) > 0) && (c.Dialect != schema.DialectMatrix || canFail(ev.Rule, c.Policy.Bands))
	})
}

// canFail reports whether an evaluator with this rule can fail the case. An assertion
// of weight 0, or one with a threshold of 0, cannot.
func canFail(rule schema.Rule, bands *schema.Bands) bool {
	least := rule.Threshold
	if bands != nil { // the score of the case decides
		least = bands.Pass
	}
	return least > 0 || len(rule.Required) > 0 || rule.NonZero || rule.Floor > 0
}

// Holds reports whether so many calls are within the bounds.
func (c ToolCount) Holds(calls int) bool {
	return calls >= c.Least && (c.Most == nil || calls <= *c.Most)
}

// Rule returns a rule that passes if every count holds in every sample.
func (ToolCounts) Rule() schema.Rule { return schema.Rule{Threshold: 1} }

// Kind returns "tool_counts".
func (ToolCounts) Kind() string { return "tool_counts" }

// Version returns the version of the counting.
func (ToolCounts) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (ToolCounts) Roles() []schema.Role { return nil }
