// Package template fills variables into texts as Nunjucks does.
//
// Most callers want [Variables.Fill].
package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A NeedError says what a text needs that is not read.
type NeedError struct{ What string }

// Error returns what is needed.
func (e *NeedError) Error() string { return e.What }

// maxFilled bounds a text whose variables are filled in, in bytes.
const maxFilled = 1 << 20

// An EnvironmentError is about a text that needs the variable of that name.
type EnvironmentError string

// Error names the variable.
func (e EnvironmentError) Error() string { return "the environment variable " + string(e) }

// placeholder matches what Nunjucks would do something about.
var placeholder = regexp.MustCompile(`\{\{[^{}]*\}\}|\{%[^%]*%\}|\{#|\{\{`)

// variable matches the one form of a placeholder that is read: a variable, or a
// field or an item of one.
var variable = regexp.MustCompile(`^\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\])*)\s*-?\}\}$`)

// Variables are values by name, as JSON.
type Variables map[string]json.RawMessage

// Fill replaces the variables of a text; one that is not known is empty. The
// error is an [EnvironmentError] or a [*NeedError] about anything else that Nunjucks
// would fill in.
func (v Variables) Fill(text string) (string, error) {
	if !strings.Contains(text, "{{") && !strings.Contains(text, "{%") && !strings.Contains(text, "{#") {
		return text, nil
	}
	var out strings.Builder
	rest := text
	for {
		at := placeholder.FindStringIndex(rest)
		if at == nil {
			break
		}
		match := variable.FindStringSubmatch(rest[at[0]:at[1]])
		if match == nil {
			return "", &NeedError{"the template expression " + Clip(rest[at[0]:at[1]])}
		}
		value, err := v.lookup(match[1])
		if err != nil {
			return "", err
		}
		before, after := rest[:at[0]], rest[at[1]:]
		if strings.HasPrefix(match[0], "{{-") {
			before = strings.TrimRight(before, " \t\r\n")
		}
		if strings.HasSuffix(match[0], "-}}") {
			after = strings.TrimLeft(after, " \t\r\n")
		}
		out.WriteString(before)
		out.WriteString(value)
		if rest = after; out.Len() > maxFilled {
			return "", &NeedError{fmt.Sprintf("more than %d bytes in one text", maxFilled)}
		}
	}
	out.WriteString(rest)
	return out.String(), nil
}

// lookup writes the value of a path such as user.names[0]. Objects and lists
// are written as compact JSON.
func (v Variables) lookup(path string) (string, error) {
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	if steps[0] == "env" {
		return "", EnvironmentError(strings.TrimPrefix(path, "env."))
	}
	if _, known := v[steps[0]]; !known && steps[0] == "vars" && len(steps) > 1 {
		steps = steps[1:]
	}
	value := v[steps[0]]
	for _, step := range steps[1:] {
		if n, err := strconv.Atoi(step); err == nil {
			var items []json.RawMessage
			if json.Unmarshal(value, &items) != nil || n >= len(items) {
				return "", nil
			}
			value = items[n]
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(value, &fields) != nil {
			return "", nil
		}
		value = fields[step]
	}
	return Written(value), nil
}

// Written is a value as it is filled in: a text without quotes, null as nothing,
// anything else as JSON.
func Written(value json.RawMessage) string {
	var s string
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case json.Unmarshal(value, &s) == nil:
		return s
	}
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return string(value)
	}
	return out.String()
}

// FillJSON fills in the variables of every text within a value.
func (v Variables) FillJSON(value json.RawMessage) (json.RawMessage, error) {
	var any any
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	if err := dec.Decode(&any); err != nil {
		return nil, err
	}
	filled, err := v.fillAny(any)
	if err != nil {
		return nil, err
	}
	return json.Marshal(filled)
}

func (v Variables) fillAny(value any) (any, error) {
	var err error
	switch x := value.(type) {
	case string:
		return v.Fill(x)
	case []any:
		for i := range x {
			if x[i], err = v.fillAny(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range x {
			if x[name], err = v.fillAny(x[name]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// Clip shortens a text that is shown.
func Clip(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return s
}
