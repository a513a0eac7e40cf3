package evaluator

import (
	"slices"

	"github.com/gavel-evals/gavel/schema"
)

// The quantities that are measured, which are the criteria of Measured.
const (
	ToolCallCount  = "tool_calls"
	ModelCallCount = "llm_calls"
	TotalTokens    = "total_tokens"
	InputTokens    = "input_tokens"
	OutputTokens   = "output_tokens"
	CostUSD        = "cost_usd"
	DurationMS     = "duration_ms"
)

// Measured takes quantities of a sample. Their bounds are in the Rule, so
// that another bound costs no call. An unknown quantity is an error.
type Measured struct {
	// Type is execution_metrics, latency, cost or token_usage.
	Type string `json:"-"`
	// Quantities are sorted.
	Quantities []string `json:"quantities"`
}

// ReadsCost reports whether the price of the target matters.
func (m Measured) ReadsCost() bool { return slices.Contains(m.Quantities, CostUSD) }

// Kind returns the type.
func (m Measured) Kind() string { return m.Type }

// Version is the version of how the quantities are counted.
func (Measured) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Measured) Roles() []schema.Role { return nil }
