package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A needError says what a text needs that is not read.
type needError struct{ what string }

func (e *needError) Error() string { return e.what }

// maxFilled bounds a text whose variables are filled in, in bytes.
const maxFilled = 1 << 20

// placeholder matches what Nunjucks would do something about.
var placeholder = regexp.MustCompile(`\{\{[^{}]*\}\}|\{%[^%]*%\}|\{#|\{\{`)

// variable matches the one form of a placeholder that is read: a variable, or a
// field or an item of one.
var variable = regexp.MustCompile(`^\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\])*)\s*-?\}\}$`)

// variables are the values of a test by name.
type variables map[string]json.RawMessage

// fill replaces the variables of a text; one that is not known is empty. The
// error is a [*needError] about anything else that Nunjucks would fill in.
func (v variables) fill(text string) (string, error) {
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
			return "", &needError{"the template expression " + clip(rest[at[0]:at[1]])}
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
			return "", &needError{fmt.Sprintf("more than %d bytes in one text", maxFilled)}
		}
	}
	out.WriteString(rest)
	return out.String(), nil
}

// lookup writes the value of a path such as user.names[0]. Objects and lists
// are written as compact JSON.
func (v variables) lookup(path string) (string, error) {
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	if steps[0] == "env" {
		return "", &needError{"the environment variable " + strings.TrimPrefix(path, "env.")}
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
	return written(value), nil
}

// written is a value as it is filled in: a text without quotes, null as nothing,
// anything else as JSON.
func written(value json.RawMessage) string {
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

// fillJSON fills in the variables of every text within a value.
func (v variables) fillJSON(value json.RawMessage) (json.RawMessage, error) {
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

func (v variables) fillAny(value any) (any, error) {
	var err error
	switch x := value.(type) {
	case string:
		return v.fill(x)
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

func clip(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return s
}
