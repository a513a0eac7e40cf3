// Package jsonform tells whether JSON has a form. Forms are written in the part
// of JSON Schema that describes values one by one; a keyword outside of it is
// refused when the form is read, so that none is silently without effect.
package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
)

// maxPattern bounds a pattern, whose compiled form grows with it.
const maxPattern = 4096

// A Form says what values are allowed.
type Form struct {
	// never marks the form false, which allows no value.
	never   bool
	pattern *regexp.Regexp
	keywords
}

type keywords struct {
	Type  words           `json:"type"`
	Enum  []value         `json:"enum"`
	Const json.RawMessage `json:"const"`

	Minimum          *float64 `json:"minimum"`
	Maximum          *float64 `json:"maximum"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64 `json:"exclusiveMaximum"`
	MinLength        *int     `json:"minLength"`
	MaxLength        *int     `json:"maxLength"`
	Pattern          string   `json:"pattern"`

	Items    *Form `json:"items"`
	MinItems *int  `json:"minItems"`
	MaxItems *int  `json:"maxItems"`

	Properties           map[string]*Form `json:"properties"`
	Required             []string         `json:"required"`
	AdditionalProperties *Form            `json:"additionalProperties"`

	AllOf []*Form `json:"allOf"`
	AnyOf []*Form `json:"anyOf"`
	OneOf []*Form `json:"oneOf"`
	Not   *Form   `json:"not"`

	// What says nothing about values.
	Schema      string `json:"$schema"`
	ID          string `json:"$id"`
	Comment     string `json:"$comment"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Format      string `json:"format"`
	Default     any    `json:"default"`
	Examples    any    `json:"examples"`
}

// words are a list, or one.
type words []string

func (w *words) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(w))
}

// A value is JSON in canonical form, which equal values share.
type value string

func (v *value) UnmarshalJSON(raw []byte) error {
	canonical, err := schema.Canonical(raw)
	*v = value(canonical)
	return err
}

// kinds are the types of values.
var kinds = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// Parse reads a form. The error says which keyword cannot be read.
func Parse(raw []byte) (*Form, error) {
	var f Form
	if err := json.Unmarshal(raw, &f); err != nil {
		text := strings.TrimPrefix(err.Error(), "json: ")
		if keyword, ok := strings.CutPrefix(text, "unknown field "); ok {
			return nil, fmt.Errorf("the keyword %s is not read; write the form out with type, properties, required, items, enum and their like", keyword)
		}
		return nil, errors.New(text)
	}
	return &f, nil
}

// UnmarshalJSON reads a form, which may be true or false.
func (f *Form) UnmarshalJSON(raw []byte) error {
	var allowed bool
	if json.Unmarshal(raw, &allowed) == nil && string(raw) != "null" {
		f.never = !allowed
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f.keywords); err != nil {
		return err
	}
	for _, t := range f.Type {
		if !slices.Contains(kinds, t) {
			return fmt.Errorf("there is no type %q", t)
		}
	}
	if len(f.Pattern) > maxPattern {
		return fmt.Errorf("a pattern has %d bytes and may have %d", len(f.Pattern), maxPattern)
	}
	if f.Pattern == "" {
		return nil
	}
	var err error
	f.pattern, err = regexp.Compile(f.Pattern)
	return err
}

// Check says where and why JSON does not have the form; nil where it has.
func (f *Form) Check(raw []byte) error {
	canonical, err := schema.Canonical(raw)
	if err != nil {
		return err
	}
	return f.check(canonical, "$")
}

func (f *Form) check(raw json.RawMessage, at string) error {
	if f.never {
		return fmt.Errorf("%s is not allowed", at)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	if len(f.Type) > 0 && !slices.ContainsFunc(f.Type, func(t string) bool { return isKind(t, v) }) {
		return fmt.Errorf("%s is no %s", at, strings.Join(f.Type, " or "))
	}
	if f.Enum != nil && !slices.Contains(f.Enum, value(raw)) {
		return fmt.Errorf("%s is none of the %d values of enum", at, len(f.Enum))
	}
	if f.Const != nil {
		if want, err := schema.Canonical(f.Const); err != nil || !bytes.Equal(want, raw) {
			return fmt.Errorf("%s is not %s", at, f.Const)
		}
	}
	var err error
	switch x := v.(type) {
	case string:
		err = f.text(x, at)
	case float64:
		err = f.number(x, at)
	case []any:
		err = f.list(raw, at)
	case map[string]any:
		err = f.object(raw, at)
	}
	if err != nil {
		return err
	}
	return f.combined(raw, at)
}

func isKind(kind string, v any) bool {
	switch x := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && math.Trunc(x) == x
	case []any:
		return kind == "array"
	}
	return kind == "object"
}

func (f *Form) text(s, at string) error {
	n := utf8.RuneCountInString(s)
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		return fmt.Errorf("%s has %d characters, at least %d are wanted", at, n, *f.MinLength)
	case f.MaxLength != nil && n > *f.MaxLength:
		return fmt.Errorf("%s has %d characters, at most %d are wanted", at, n, *f.MaxLength)
	case f.pattern != nil && !f.pattern.MatchString(s):
		return fmt.Errorf("%s does not match %s", at, f.Pattern)
	}
	return nil
}

func (f *Form) number(x float64, at string) error {
	switch {
	case f.Minimum != nil && x < *f.Minimum:
		return fmt.Errorf("%s is %v, at least %v is wanted", at, x, *f.Minimum)
	case f.Maximum != nil && x > *f.Maximum:
		return fmt.Errorf("%s is %v, at most %v is wanted", at, x, *f.Maximum)
	case f.ExclusiveMinimum != nil && x <= *f.ExclusiveMinimum:
		return fmt.Errorf("%s is %v, more than %v is wanted", at, x, *f.ExclusiveMinimum)
	case f.ExclusiveMaximum != nil && x >= *f.ExclusiveMaximum:
		return fmt.Errorf("%s is %v, less than %v is wanted", at, x, *f.ExclusiveMaximum)
	}
	return nil
}

func (f *Form) list(raw json.RawMessage, at string) error {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return err
	}
	switch {
	case f.MinItems != nil && len(items) < *f.MinItems:
		return fmt.Errorf("%s has %d items, at least %d are wanted", at, len(items), *f.MinItems)
	case f.MaxItems != nil && len(items) > *f.MaxItems:
		return fmt.Errorf("%s has %d items, at most %d are wanted", at, len(items), *f.MaxItems)
	case f.Items == nil:
		return nil
	}
	for i, item := range items {
		if err := f.Items.check(item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

func (f *Form) object(raw json.RawMessage, at string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	for _, name := range f.Required {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("%s has no %s", at, name)
		}
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		form, known := f.Properties[name]
		if !known {
			form = f.AdditionalProperties
		}
		if form == nil {
			continue
		}
		if err := form.check(fields[name], at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func (f *Form) combined(raw json.RawMessage, at string) error {
	for _, one := range f.AllOf {
		if err := one.check(raw, at); err != nil {
			return err
		}
	}
	if n := fitting(f.AnyOf, raw, at); f.AnyOf != nil && n == 0 {
		return fmt.Errorf("%s fits none of the %d forms of anyOf", at, len(f.AnyOf))
	}
	if n := fitting(f.OneOf, raw, at); f.OneOf != nil && n != 1 {
		return fmt.Errorf("%s fits %d of the %d forms of oneOf", at, n, len(f.OneOf))
	}
	if f.Not != nil && f.Not.check(raw, at) == nil {
		return fmt.Errorf("%s fits the form of not", at)
	}
	return nil
}

func fitting(forms []*Form, raw json.RawMessage, at string) int {
	n := 0
	for _, f := range forms {
		if f.check(raw, at) == nil {
			n++
		}
	}
	return n
}
