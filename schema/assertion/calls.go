// Package assertion reads the assertions common to promptfoo and AgentV.
package assertion

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/suggest"
	"github.com/gavel-evals/gavel/schema/template"
)

// named is a tool or a skill in an assertion, with its wanted calls.
type named struct {
	Name      string          `json:"name"`
	Tool      string          `json:"tool"`
	Pattern   string          `json:"pattern"`
	Type      string          `json:"type"`
	Min       *int            `json:"min"`
	Max       *int            `json:"max"`
	Mode      string          `json:"mode"`
	Steps     json.RawMessage `json:"steps"`
	Args      json.RawMessage `json:"args"`
	Arguments json.RawMessage `json:"arguments"`
	Ignore    []string        `json:"ignore"`
	Defaults  json.RawMessage `json:"defaults"`
}

// callsKeys are the keys of the value of each assertion about calls.
var callsKeys = map[string][]string{
	evaluator.CallsUsed:       {"name", "tool", "pattern", "min", "max"},
	evaluator.CallsInSequence: {"mode", "steps"},
	evaluator.CallsWithArgs:   {"name", "tool", "pattern", "args", "arguments", "mode", "ignore", "defaults"},
	evaluator.CallsCounted:    {"name", "tool", "pattern", "type", "min", "max"},
	evaluator.CallsOfSkills:   {"name", "tool", "pattern", "min", "max"},
}

// callsModes maps assertion types to their modes.
var callsModes = map[string][]string{
	evaluator.CallsInSequence: {"in_order", "exact"},
	evaluator.CallsWithArgs:   {"partial", "exact"},
}

// callsHints describe the values of assertions about calls, by type.
var callsHints = map[string]string{
	evaluator.CallsUsed:       "write the name of a tool, a list of names, or {pattern, min, max}",
	evaluator.CallsInSequence: "write a list of names of tools, or {mode, steps}",
	evaluator.CallsWithArgs:   "write {name, args}",
	evaluator.CallsCounted:    "write {min, max}",
	evaluator.CallsOfSkills:   "write the name of a skill, a list of names, or {pattern, min, max}",
}

// pattern returns the name to look for.
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
// [*template.MistakeError].
func Calls(kind string, value json.RawMessage) (evaluator.Calls, error) {
	out := evaluator.Calls{Type: kind}
	list, one, err := callsValue(kind, value)
	if err != nil {
		return out, err
	}
	wrong := &template.MistakeError{Message: fmt.Sprintf("the value of %s cannot be read", kind), Hint: callsHints[kind]}
	switch kind {
	case evaluator.CallsInSequence:
		for _, n := range list {
			out.Tools = append(out.Tools, evaluator.CallName{Pattern: n.pattern(), Least: 1})
		}
		out.Exact = one.Mode == "exact"
	case evaluator.CallsWithArgs:
		out.Tools = []evaluator.CallName{{Pattern: one.pattern(), Least: 1}}
		if out.Args = one.Args; len(out.Args) == 0 {
			out.Args = one.Arguments
		}
		out.Exact, out.Ignore, out.Defaults = one.Mode == "exact", one.Ignore, one.Defaults
	case evaluator.CallsCounted:
		if one.Min == nil && one.Max == nil {
			return out, wrong
		}
		if one.pattern() == "" {
			one.Pattern = "*"
		}
		out.Tools = []evaluator.CallName{one.bounded(0)}
	default:
		for _, n := range list {
			out.Tools = append(out.Tools, n.bounded(1))
		}
	}
	if len(out.Tools) == 0 || slices.ContainsFunc(out.Tools, func(tool evaluator.CallName) bool { return tool.Pattern == "" }) {
		return out, wrong
	}
	return out, nil
}

// callsValue returns the list in a value, which may be one name or object, and the
// object itself. The error describes a mistake in any of them.
func callsValue(kind string, value json.RawMessage) (list []named, one named, err error) {
	if len(value) > 0 && value[0] == '{' {
		if one, err = namedIn(kind, value, callsKeys[kind]); err != nil {
			return nil, one, err
		}
		if kind == evaluator.CallsInSequence {
			value = one.Steps
		}
	}
	items := []json.RawMessage{value}
	var several []json.RawMessage
	if json.Unmarshal(value, &several) == nil {
		items = several
	}
	for _, item := range items {
		keys := callsKeys[kind]
		if kind == evaluator.CallsInSequence {
			keys = []string{"name", "tool", "pattern"}
		}
		n, err := namedIn(kind, item, keys)
		if err != nil {
			return nil, one, err
		}
		list = append(list, n)
	}
	return list, one, nil
}

// namedIn reads a name, or an object with some keys.
func namedIn(kind string, value json.RawMessage, keys []string) (named, error) {
	var n named
	wrong := func(message, hint string) (named, error) {
		return n, &template.MistakeError{Message: message, Hint: hint}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &n.Name) == nil {
		return n, nil
	}
	if json.Unmarshal(value, &object) != nil {
		return wrong(fmt.Sprintf("the value of %s cannot be read", kind), callsHints[kind])
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(keys, key) {
			hint := suggest.DidYouMean(key, keys)
			if hint == "" {
				hint = callsHints[kind]
			}
			return wrong(fmt.Sprintf("the value of %s has the unknown field `%s`", kind, template.Clip(key)), hint)
		}
	}
	if err := json.Unmarshal(value, &n); err != nil {
		return wrong(fmt.Sprintf("a field in the value of %s has a value that cannot be read", kind), callsHints[kind])
	}
	modes := callsModes[kind]
	switch {
	case n.Mode != "" && !slices.Contains(modes, n.Mode):
		return wrong(fmt.Sprintf("the mode of %s is %q", kind, template.Clip(n.Mode)), "write "+strings.Join(modes, " or "))
	case n.Min != nil && *n.Min < 0, n.Max != nil && *n.Max < 0:
		return wrong(fmt.Sprintf("the value of %s has a number of calls below 0", kind), "write a number from 0")
	case n.Min != nil && n.Max != nil && *n.Min > *n.Max:
		return wrong(fmt.Sprintf("the value of %s has a min above its max", kind), "swap them")
	case kind == evaluator.CallsWithArgs && len(n.Args)+len(n.Arguments) == 0:
		return wrong(fmt.Sprintf("the value of %s has no arguments", kind), "add args: {…}, or write trajectory:tool-used")
	}
	return n, nil
}

// bounded returns a name with its number of calls: at least once by default.
func (n named) bounded(least int) evaluator.CallName {
	out := evaluator.CallName{Pattern: n.pattern(), Least: least, Most: n.Max}
	if n.Min != nil {
		out.Least = *n.Min
	} else if n.Max != nil && *n.Max == 0 {
		out.Least = 0
	}
	return out
}
