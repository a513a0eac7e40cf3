// Package code calls the functions in JavaScript that a file of the matrix dialect has for
// what it sends: for its variables, filters, prompts and tests. They are called while the
// file is compiled, so that the plan knows what they make.
//
// Most callers want [Caller.Call] with a function of [Inline] or [OfFile].
package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/javascript"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
	"github.com/gavel-evals/gavel/schema/template"
)

// MaxFile bounds a file of JavaScript that is called, in bytes.
const MaxFile = 256 << 10

// A Function is one that can be called; the zero Function is none.
type Function struct {
	expression string
	what       string // for messages
}

// IsZero reports whether there is no function.
func (f Function) IsZero() bool { return f.expression == "" }

// Inline is code of a definition as a function of named parameters. Messages name it as
// what says.
func Inline(code, parameters, what string) Function {
	return Function{expression: javascript.Inline(code, parameters), what: what}
}

// named matches the name of a file with code, and of a function in it.
var named = lazyregexp.New(`^(.*\.(?:c?js|mjs|c?ts|mts|py|rb)):([\w.]+)$`)

// Split divides file.js:function. The name of the function is empty where there is none.
func Split(name string) (file, function string) {
	if m := named.FindStringSubmatch(name); m != nil {
		return m[1], m[2]
	}
	return name, ""
}

// OfFile is the function of a file, by its name or the only one. The error is a
// [*template.NeedError] about a file that is not JavaScript.
func OfFile(file schema.File, name, what string) (Function, error) {
	return ofFile(file, what, func(source string) string { return javascript.Module(source, name) })
}

// ValueOfFile is like [OfFile] for a file that may export a value in place of a function.
func ValueOfFile(file schema.File, name, what string) (Function, error) {
	return ofFile(file, what, func(source string) string { return javascript.Value(source, name) })
}

func ofFile(file schema.File, what string, expression func(string) string) (Function, error) {
	switch ext := path.Ext(file.Path); {
	case ext != ".js" && ext != ".cjs" && ext != ".mjs":
		return Function{}, &template.NeedError{What: fmt.Sprintf("a program for %s (%s)", what, strings.TrimPrefix(ext, "."))}
	case len(file.Data) > MaxFile:
		return Function{}, &template.NeedError{What: fmt.Sprintf("a program for %s (more than %d KiB of JavaScript)", what, MaxFile>>10)}
	}
	return Function{expression: expression(string(file.Data)), what: what}, nil
}

// A Caller calls functions. It is not safe for concurrent use.
type Caller struct {
	// Budget bounds what all calls take; nil for no bound but that of each.
	Budget *javascript.Budget
	known  map[string]result
}

type result struct {
	value json.RawMessage
	err   error
}

// maxKnown bounds the results that are remembered.
const maxKnown = 10_000

// Call calls a function with arguments, which are written as JSON. Its error is a
// [*template.NeedError] about what a program has and the function lacks, or says what it
// throws. A function gives the same for the same, so it is called once.
func (c *Caller) Call(f Function, args ...any) (json.RawMessage, error) {
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
			c.known = map[string]result{}
		}
		c.known[key] = got
	}
	if missing, ok := errors.AsType[*javascript.MissingError](got.err); ok {
		return nil, &template.NeedError{What: fmt.Sprintf("a program for %s (%s)", f.what, missing.Name)}
	}
	return got.value, got.err
}

// Object calls a function that has to return an object.
func (c *Caller) Object(f Function, args ...any) (template.Variables, error) {
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
