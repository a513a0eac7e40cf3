package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/assertion"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/template"
)

// A jsFunction is a JavaScript function of a file for its variables, filters, prompts
// or tests. It is called while the file is compiled, so that the plan knows its result.
// The zero jsFunction is none.
type jsFunction struct {
	expression string
	what       string // for messages
}

// IsZero reports whether there is no function.
func (f jsFunction) IsZero() bool { return f.expression == "" }

// inlineFunction returns code of a definition as a function of named parameters. what
// is its name in messages.
func inlineFunction(code, parameters, what string) jsFunction {
	return jsFunction{expression: javascript.Inline(code, parameters), what: what}
}

// functionOfFile returns the function of a file, by its name or the only one. Its error about a file
// that is not JavaScript is a [*template.NeedError].
func functionOfFile(file schema.File, name, what string) (jsFunction, error) {
	return ofFile(file, what, func(source string) string { return javascript.Module(source, name) })
}

// valueOfFile is like [functionOfFile] for a file that may export a value instead of a
// function.
func valueOfFile(file schema.File, name, what string) (jsFunction, error) {
	return ofFile(file, what, func(source string) string { return javascript.Value(source, name) })
}

func ofFile(file schema.File, what string, expression func(string) string) (jsFunction, error) {
	switch ext := path.Ext(file.Path); {
	case ext != ".js" && ext != ".cjs" && ext != ".mjs":
		return jsFunction{}, &template.NeedError{What: fmt.Sprintf("a program for %s (%s)", what, strings.TrimPrefix(ext, "."))}
	case len(file.Data) > assertion.MaxJavaScript:
		return jsFunction{}, &template.NeedError{What: fmt.Sprintf("a program for %s (more than %d KiB of JavaScript)", what, assertion.MaxJavaScript>>10)}
	}
	return jsFunction{expression: expression(string(file.Data)), what: what}, nil
}

// A jsCaller calls functions. It is not safe for concurrent use.
type jsCaller struct {
	// Budget bounds all calls together. If it is nil, each call has its own bound.
	Budget *javascript.Budget
	known  map[string]jsResult
}

type jsResult struct {
	value json.RawMessage
	err   error
}

// maxKnown bounds the results that are remembered.
const maxKnown = 10_000

// Call calls a function with arguments, which are encoded as JSON. Its error is a
// [*template.NeedError] about something only a program has, or the thrown error.
// Results are cached, since a function returns the same for the same arguments.
func (c *jsCaller) Call(f jsFunction, args ...any) (json.RawMessage, error) {
	call := javascript.Call{Code: f.expression, Pure: true}
	for _, arg := range args {
		raw, err := json.Marshal(arg)
		if err != nil {
			return nil, err
		}
		call.Args = append(call.Args, raw)
	}
	raw, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	key := string(raw)
	got, known := c.known[key]
	if !known {
		got.value, got.err = c.Budget.Run(context.Background(), call)
		if c.known == nil || len(c.known) >= maxKnown {
			c.known = map[string]jsResult{}
		}
		c.known[key] = got
	}
	if missing, ok := errors.AsType[*javascript.MissingError](got.err); ok {
		return nil, &template.NeedError{What: fmt.Sprintf("a program for %s (%s)", f.what, missing.Name)}
	}
	return got.value, got.err
}

// Object calls a function that must return an object.
func (c *jsCaller) Object(f jsFunction, args ...any) (template.Variables, error) {
	raw, err := c.Call(f, args...)
	if err != nil {
		return nil, err
	}
	var out template.Variables
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &out) != nil {
		return nil, fmt.Errorf("the function must return an object, and returns %s", template.Clip(string(raw)))
	}
	return out, nil
}
