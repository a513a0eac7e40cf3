package evaluator

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema"
)

// The rules of Calls.
const (
	// CallsUsed requires each tool to be called within its bounds.
	CallsUsed = "trajectory:tool-used"
	// CallsInSequence wants the tools in their order.
	CallsInSequence = "trajectory:tool-sequence"
	// CallsWithArgs wants a call of the tool with arguments.
	CallsWithArgs = "trajectory:tool-args-match"
	// CallsCounted bounds how many calls there are.
	CallsCounted = "trajectory:step-count"
	// CallsOfSkills wants skills to be used.
	CallsOfSkills = "skill-used"
	// CallsAreValid wants every call to name a tool that was offered, with arguments
	// that fit its parameters.
	CallsAreValid = "is-valid-openai-tools-call"
)

// Calls compares the calls of the target with one rule. It is one criterion with the
// score 1 or 0. A target that does not report its calls cannot be measured.
type Calls struct {
	// Type is one of the rules.
	Type string `json:"type"`
	// Not inverts the result.
	Not bool `json:"not,omitempty"`
	// Tools are the wanted tools, in the order of a sequence.
	Tools []CallName `json:"tools,omitempty"`
	// Exact forbids additions: no other call in a sequence, no other argument.
	Exact bool `json:"exact,omitempty"`
	// Args are the wanted arguments, Ignore the ignored ones, and Defaults the values
	// of omitted arguments.
	Args     json.RawMessage `json:"args,omitempty"`
	Ignore   []string        `json:"ignore,omitempty"`
	Defaults json.RawMessage `json:"defaults,omitempty"`
}

// A CallName is a tool or a skill by name, in which * stands for any characters and ?
// for one, ignoring case. Least and Most bound its calls, both inclusive.
type CallName struct {
	Pattern string `json:"pattern"`
	Least   int    `json:"least,omitempty"`
	// Most is nil if there is no upper bound.
	Most *int `json:"most,omitempty"`
}

// Kind returns "calls".
func (Calls) Kind() string { return "calls" }

// Version returns the version of the rules. Since 2 an answer that was cut off is an error
// of an inverted one that holds.
func (c Calls) Version() int {
	if c.Not {
		return 2
	}
	return 1
}

// Roles returns nil: no model is asked.
func (Calls) Roles() []schema.Role { return nil }
