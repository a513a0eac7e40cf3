package evaluator

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// A Path leads to a value within JSON, through names and indexes.
type Path []any

var pathStep = lazyregexp.New(`^(?:\.?([^.\[\]]+)|\[([0-9]+)\])`)

// ParsePath parts name.list[0].name into names and indexes.
func ParsePath(text string) (Path, bool) {
	var steps Path
	for rest := text; rest != ""; {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			return nil, false
		}
		rest = rest[len(m[0]):]
		if m[1] != "" {
			steps = append(steps, m[1])
			continue
		}
		i, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, false
		}
		steps = append(steps, i)
	}
	return steps, len(steps) > 0
}

// Find returns the value that a path leads to, or nil.
func (p Path) Find(value json.RawMessage) json.RawMessage {
	for _, step := range p {
		switch s := step.(type) {
		case string:
			var object map[string]json.RawMessage
			if json.Unmarshal(value, &object) != nil {
				return nil
			}
			value = object[s]
		case int:
			var list []json.RawMessage
			if json.Unmarshal(value, &list) != nil || s >= len(list) {
				return nil
			}
			value = list[s]
		}
	}
	return value
}

// shortest is the minimum length of names for which a misspelling is suggested.
const shortest = 3

// Nearest returns the most similar name for the first step without a value; empty if
// there is a value, or no similar name.
func (p Path) Nearest(value json.RawMessage) string {
	for i, step := range p {
		if next := p[i : i+1].Find(value); next != nil {
			value = next
			continue
		}
		name, isName := step.(string)
		var object map[string]json.RawMessage
		if !isName || json.Unmarshal(value, &object) != nil {
			return ""
		}
		near := suggest.Nearest(name, slices.Collect(maps.Keys(object)))
		if len(name) < shortest && !strings.EqualFold(name, near) {
			return "" // any other short name is near
		}
		return near
	}
	return ""
}
