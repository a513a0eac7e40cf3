// Package jsonschema checks JSON against JSON Schemas: draft 2020-12, or draft-07 if
// $schema names it.
//
// [Compile] rejects a keyword that the draft does not have, so that no typo is silently
// ignored. References stay within the schema: nothing is read from a file or a network.
// Known formats are checked, others are not. Patterns are RE2, so their time only
// depends on the text.
//
// A schema and a value may both come from a stranger. Their size, their nesting and the
// steps of a check are bounded, and it is an error to exceed a bound.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address is the library's name for a schema.
const address = "urn:gavel:schema"

// A Schema describes the allowed values. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema

	mu sync.Mutex
	// left is how many steps the running check may still take, guarded by mu.
	left int
}

// Compile compiles a schema, which may be true or false. The error is an
// [*UnknownError] for a name that JSON Schema does not have; any other describes the
// mistake with its position.
func Compile(raw []byte) (*Schema, error) { return compile(raw, "") }

// CompileDefinition compiles the schema of a name in a schema's $defs. It returns the
// errors of [Compile].
func CompileDefinition(raw []byte, name string) (*Schema, error) {
	return compile(raw, "#/$defs/"+name)
}

func compile(raw []byte, fragment string) (*Schema, error) {
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if err := checkKeywords(doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(nothing{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(address, doc); err != nil {
		return nil, err
	}
	s := &Schema{}
	if s.compiled, err = c.Compile(address + fragment); err != nil {
		return nil, readable(err, doc)
	}
	return s, s.bound()
}

// readable converts a library error to words that people understand.
func readable(err error, doc any) error {
	if refused, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](refused.Err); ok {
			return mismatch(invalid, doc)
		}
	}
	return errors.New(strings.ReplaceAll(err.Error(), address, "$"))
}

// nothing loads no schema.
type nothing struct{}

func (nothing) Load(string) (any, error) {
	return nil, errors.New("a schema refers to itself alone")
}

func compilePattern(pattern string) (jsonschema.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("a pattern has %d bytes and may have %d", len(pattern), maxPattern)
	}
	return regexp.Compile(pattern)
}

// Check returns nil if a value fits the schema. The error is a [*Mismatch] if it does
// not fit, is not JSON, or exceeds a bound by itself. Any other means that the schema
// is too complex for the value.
func (s *Schema) Check(raw []byte) error {
	value, err := decode(raw)
	if err != nil {
		return &Mismatch{At: "$", Message: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = maxSteps
	err = s.compiled.Validate(value)
	if s.left < 0 {
		return fmt.Errorf("the JSON Schema is too complex: checking the value takes more than %d steps", maxSteps)
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return mismatch(invalid, value)
	}
	return err
}

// decode reads one JSON value within the bounds, its numbers as they are
// written.
func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read JSON: more data after the value")
	}
	return value, checkValue(value, 0)
}
