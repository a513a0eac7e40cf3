package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// The ways in which a trajectory is compared.
const (
	// AnyOrder requires the expected calls in any order.
	AnyOrder = "any_order"
	// InOrder allows other calls between the expected ones. If all of them were
	// made in another order, the score is 0.
	InOrder = "in_order"
	// ExactOrder allows no other call. An extra call or another order makes the score
	// 0.
	ExactOrder = "exact"
	// Superset allows other calls than the expected ones, in any order; Subset allows
	// no others, and expected ones may be missing.
	Superset = "superset"
	Subset   = "subset"
)

// Trajectory compares the target's calls with the expected ones. Every tool of Minimums
// and every step is a criterion, in every mode.
type Trajectory struct {
	Mode     string         `json:"mode"`
	Minimums map[string]int `json:"minimums,omitempty"`
	Steps    []Step         `json:"steps,omitempty"`
	// NoCall means that an empty list of steps was written: under ExactOrder any call
	// is an extra one.
	NoCall bool `json:"no_call,omitempty"`
	// Partial means that another order or an extra call costs its share of the
	// score, and not all of it (AgentV 4).
	Partial bool `json:"partial,omitempty"`
}

// A Step is a call that is expected.
type Step struct {
	Tool string `json:"tool"`
	// Args are compared deeply, listed keys only; nil means any.
	Args json.RawMessage `json:"args,omitempty"`
	// AnyValue lists the arguments that must exist, with any value.
	AnyValue []string `json:"any_value,omitempty"`
	// MaxMS bounds the duration of the call; 0 means that it may take any.
	MaxMS float64 `json:"max_duration_ms,omitempty"`
	// Exact means that no argument may be there that is not listed.
	Exact bool `json:"exact,omitempty"`
	// Compare is [Superset] for a call that has all of Args, each with an equal value,
	// and may have more, and [Subset] for one that only has Args. Otherwise Args are
	// compared deeply.
	Compare string `json:"compare,omitempty"`
}

// Kind returns "tool_trajectory".
func (Trajectory) Kind() string { return "tool_trajectory" }

// Version returns the version of the matching. Since 2, a wrong order makes the whole
// score 0 under InOrder and ExactOrder, and so does an extra call under ExactOrder.
// Since 3, a step may be made several times under Subset.
func (t Trajectory) Version() int {
	if t.Mode == Subset {
		return 3
	}
	return 2
}

// Roles returns nil: no model is asked.
func (Trajectory) Roles() []schema.Role { return nil }
