// Package schematest holds values against the JSON Schemas that Gavel writes
// for editors, in tests. It reads the keywords that they use, and refuses every
// other, so that none is written that no test has looked at.
//
// Most callers want [Parse] and then [Schema.Check].
package schematest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Schema is one JSON Schema with its definitions.
type Schema struct{ root map[string]any }

// Parse reads a schema.
func Parse(text []byte) (*Schema, error) {
	s := &Schema{}
	if err := json.Unmarshal(text, &s.root); err != nil {
		return nil, fmt.Errorf("read a JSON Schema: %w", err)
	}
	return s, nil
}

func (s *Schema) definition(def string) any {
	defs, _ := s.root["$defs"].(map[string]any)
	return defs[def]
}

// Check holds JSON against a definition, or against the whole schema where def
// is empty. The error says where and why it is refused.
func (s *Schema) Check(def string, text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("read a value: %w", err)
	}
	if def != "" {
		return s.check(s.definition(def), value, "$")
	}
	return s.check(s.root, value, "$")
}

func (s *Schema) check(schema, value any, at string) error {
	rules, ok := schema.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %v is not a schema", at, schema)
	}
	for _, keyword := range slices.Sorted(maps.Keys(rules)) {
		var err error
		switch keyword {
		case "$schema", "$defs", "title", "description":
		case "then", "else": // of if
		case "$ref":
			name, _ := rules[keyword].(string)
			err = s.check(s.definition(strings.TrimPrefix(name, "#/$defs/")), value, at)
		case "if", "allOf", "anyOf":
			err = s.combined(keyword, rules, value, at)
		case "properties", "required", "additionalProperties", "minProperties", "maxProperties":
			err = s.object(keyword, rules, value, at)
		case "items", "minItems", "maxItems":
			err = s.list(keyword, rules[keyword], value, at)
		default:
			err = scalar(keyword, rules[keyword], value, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) combined(keyword string, rules map[string]any, value any, at string) error {
	if keyword == "if" {
		branch := "then"
		if s.check(rules["if"], value, at) != nil {
			branch = "else"
		}
		if rules[branch] == nil {
			return nil
		}
		return s.check(rules[branch], value, at)
	}
	var first error
	for _, one := range rules[keyword].([]any) {
		err := s.check(one, value, at)
		switch {
		case err == nil && keyword == "anyOf":
			return nil
		case err != nil && keyword == "allOf":
			return err
		case first == nil:
			first = err
		}
	}
	return first
}

func (s *Schema) object(keyword string, rules map[string]any, value any, at string) error {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	properties, _ := rules["properties"].(map[string]any)
	limit, _ := rules[keyword].(float64)
	switch keyword {
	case "minProperties", "maxProperties":
		if n := float64(len(fields)); keyword == "minProperties" && n < limit || keyword == "maxProperties" && n > limit {
			return fmt.Errorf("%s: %v fields, %s %v", at, n, keyword, limit)
		}
		return nil
	case "required":
		for _, name := range rules[keyword].([]any) {
			if _, ok := fields[name.(string)]; !ok {
				return fmt.Errorf("%s: %s is missing", at, name)
			}
		}
		return nil
	case "properties":
		for name, rule := range properties {
			inner, ok := fields[name]
			if !ok {
				continue
			}
			if err := s.check(rule, inner, at+"."+name); err != nil {
				return err
			}
		}
		return nil
	}
	for name, inner := range fields {
		if _, known := properties[name]; known {
			continue
		}
		if rules[keyword] == false {
			return fmt.Errorf("%s: %s is unknown", at, name)
		}
		if err := s.check(rules[keyword], inner, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) list(keyword string, rule, value any, at string) error {
	items, ok := value.([]any)
	if !ok {
		return nil
	}
	limit, _ := rule.(float64)
	switch {
	case keyword == "minItems" && float64(len(items)) < limit, keyword == "maxItems" && float64(len(items)) > limit:
		return fmt.Errorf("%s: %d items, %s %v", at, len(items), keyword, rule)
	case keyword != "items":
		return nil
	}
	for i, item := range items {
		if err := s.check(rule, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func scalar(keyword string, rule, value any, at string) error {
	limit, _ := rule.(float64)
	number, isNumber := value.(float64)
	text, isText := value.(string)
	length := float64(utf8.RuneCountInString(text))
	holds := false
	switch keyword {
	case "type":
		holds = isOf(rule, value)
	case "enum":
		holds = slices.ContainsFunc(rule.([]any), func(one any) bool { return reflect.DeepEqual(one, value) })
	case "const":
		holds = reflect.DeepEqual(rule, value)
	case "minimum":
		holds = !isNumber || number >= limit
	case "exclusiveMinimum":
		holds = !isNumber || number > limit
	case "maximum":
		holds = !isNumber || number <= limit
	case "exclusiveMaximum":
		holds = !isNumber || number < limit
	case "minLength":
		holds = !isText || length >= limit
	case "maxLength":
		holds = !isText || length <= limit
	default:
		return fmt.Errorf("%s: the keyword %s is not read", at, keyword)
	}
	if !holds {
		return fmt.Errorf("%s: %v is not %s %v", at, value, keyword, rule)
	}
	return nil
}

// isOf reports whether a value is of a type, or of one of several.
func isOf(rule, value any) bool {
	if several, ok := rule.([]any); ok {
		return slices.ContainsFunc(several, func(one any) bool { return isOf(one, value) })
	}
	switch x := value.(type) {
	case nil:
		return rule == "null"
	case bool:
		return rule == "boolean"
	case string:
		return rule == "string"
	case []any:
		return rule == "array"
	case map[string]any:
		return rule == "object"
	case float64:
		return rule == "number" || rule == "integer" && x == math.Trunc(x)
	}
	return false
}
