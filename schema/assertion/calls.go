// Package assertion reads the assertions that promptfoo and AgentV have in common.
package assertion

import (
	"encoding/json"

	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/template"
)

// named is a tool or a skill in an assertion, with what is wanted of its calls.
type named struct {
	Name      string          `json:"name"`
	Tool      string          `json:"tool"`
	Pattern   string          `json:"pattern"`
	Min       *int            `json:"min"`
	Max       *int            `json:"max"`
	Mode      string          `json:"mode"`
	Steps     json.RawMessage `json:"steps"`
	Args      json.RawMessage `json:"args"`
	Arguments json.RawMessage `json:"arguments"`
	Ignore    []string        `json:"ignore"`
	Defaults  json.RawMessage `json:"defaults"`
}

// pattern is the name that is looked for.
func (n named) pattern() string {
	for _, s := range []string{n.Pattern, n.Name, n.Tool} {
		if s != "" {
			return s
		}
	}
	return ""
}

// Calls reads an assertion about the calls of a target, such as trajectory:tool-used:
// the name of a tool, a list of names, or an object. The error is a
// [*template.NeedError].
func Calls(kind string, value json.RawMessage) (evaluator.Calls, error) {
	out := evaluator.Calls{Type: kind}
	var one named
	isObject := json.Unmarshal(value, &one) == nil
	wrong := &template.NeedError{What: "a value of " + kind + " that can be read"}
	switch kind {
	case evaluator.CallsInSequence:
		list := value
		if isObject && len(one.Steps) > 0 {
			list, out.Exact = one.Steps, one.Mode == "exact"
		}
		for _, n := range names(list) {
			out.Tools = append(out.Tools, evaluator.CallName{Pattern: n.pattern(), Least: 1})
		}
	case evaluator.CallsWithArgs:
		out.Tools = []evaluator.CallName{{Pattern: one.pattern(), Least: 1}}
		if out.Args = one.Args; len(out.Args) == 0 {
			out.Args = one.Arguments
		}
		out.Exact, out.Ignore, out.Defaults = one.Mode == "exact", one.Ignore, one.Defaults
	case evaluator.CallsCounted:
		if !isObject || one.Min == nil && one.Max == nil {
			return out, wrong
		}
		if one.pattern() == "" {
			one.Pattern = "*"
		}
		out.Tools = []evaluator.CallName{one.bounded(0)}
	default:
		for _, n := range names(value) {
			out.Tools = append(out.Tools, n.bounded(1))
		}
	}
	if len(out.Tools) == 0 {
		return out, wrong
	}
	for _, tool := range out.Tools {
		if tool.Pattern == "" {
			return out, wrong
		}
	}
	return out, nil
}

// bounded is how often a tool is called, at least so often where nothing is written.
func (n named) bounded(least int) evaluator.CallName {
	out := evaluator.CallName{Pattern: n.pattern(), Least: least, Most: n.Max}
	if n.Min != nil {
		out.Least = *n.Min
	} else if n.Max != nil && *n.Max == 0 {
		out.Least = 0
	}
	return out
}

// names reads a name, an object, or a list of either.
func names(value json.RawMessage) []named {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		items = []json.RawMessage{value}
	}
	var out []named
	for _, item := range items {
		var n named
		if json.Unmarshal(item, &n.Name) != nil && json.Unmarshal(item, &n) != nil {
			continue
		}
		out = append(out, n)
	}
	return out
}
