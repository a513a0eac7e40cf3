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

// Measured measures quantities of a sample. Their bounds are in the Rule, so that
// another bound costs no call. An unknown quantity is an error.
type Measured struct {
	// Type is execution_metrics, latency, cost or token_usage.
	Type string `json:"-"`
	// Quantities are sorted.
	Quantities []string `json:"quantities"`
	// Exploration asks for a share of calls that read; nil asks for none.
	Exploration *Exploration `json:"exploration,omitempty"`
}

// Exploration is how much of its calls a target should spend on tools that only
// read.
type Exploration struct {
	// Ratio is the share in [0,1] that is wanted, Tolerance how far from it the
	// share may be.
	Ratio     float64 `json:"ratio"`
	Tolerance float64 `json:"tolerance"`
	// Tools are the names of the reading tools. Without names, a tool reads if its name
	// has one of the words of ReadingWords.
	Tools []string `json:"tools,omitempty"`
}

// ExplorationRatio is the criterion of an Exploration: 1 if the share is within the
// tolerance, else 0.
const ExplorationRatio = "exploration_ratio"

// ReadingWords returns the words in names of tools that only read.
func ReadingWords() []string {
	return []string{"read", "grep", "glob", "search", "list", "find", "get", "fetch", "query", "inspect", "view"}
}

// ReadsCost reports whether the price of the target matters.
func (m Measured) ReadsCost() bool { return slices.Contains(m.Quantities, CostUSD) }

// Kind returns the type.
func (m Measured) Kind() string { return m.Type }

// Version returns the version of counting the quantities, and of the reading tools.
func (Measured) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Measured) Roles() []schema.Role { return nil }
