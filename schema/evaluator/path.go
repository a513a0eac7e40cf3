package evaluator

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// A Path leads to a value within JSON, through names and indexes.
type Path []any

var pathStep = regexp.MustCompile(`^(?:\.?([^.\[\]]+)|\[([0-9]+)\])`)

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
