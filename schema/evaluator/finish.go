package evaluator

import "github.com/gavel-evals/gavel/schema"

// Finish compares the finish reason of the target's last reply with another one
// (finish-reason of the matrix dialect). It is one criterion with the score 1 or 0.
type Finish struct {
	// Reason is stop, length, tool_calls, content_filter, or a provider's own.
	Reason string `json:"reason"`
	// Not inverts the result.
	Not bool `json:"not,omitempty"`
}

// Kind returns "finish-reason".
func (Finish) Kind() string { return "finish-reason" }

// Version returns the version of the comparison.
func (Finish) Version() int { return 1 }

// Roles returns nil: no model is asked.
func (Finish) Roles() []schema.Role { return nil }

// ReadsFinish reports whether a measurement needs the reason for which a reply ended.
func ReadsFinish(spec schema.Spec) bool {
	switch s := spec.(type) {
	case Finish:
		return true
	case Composite:
		for _, part := range s.parts() {
			if ReadsFinish(part) {
				return true
			}
		}
	}
	return false
}
