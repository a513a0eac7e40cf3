package javascript

import (
	"errors"
	"fmt"
	"math/rand"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// maxCalls bounds how deep functions call each other.
const maxCalls = 2000

// answer is what came of a function: its value as JSON, what it threw, or why it is
// not a function.
type answer struct {
	Value   rawValue `json:"value,omitempty"`
	Thrown  string   `json:"thrown,omitempty"`
	Invalid string   `json:"invalid,omitempty"`
}

// rawValue is JSON that the interpreter wrote.
type rawValue []byte

// MarshalJSON returns the value as it is.
func (v rawValue) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return []byte("null"), nil
	}
	return v, nil
}

// UnmarshalJSON keeps the bytes.
func (v *rawValue) UnmarshalJSON(data []byte) error {
	*v = append((*v)[:0], data...)
	return nil
}

// run calls a function in an interpreter of its own.
func run(f Function) answer {
	vm := goja.New()
	vm.SetParserOptions(parser.WithDisableSourceMaps) // they would be read from files
	vm.SetMaxCallStackSize(maxCalls)
	vm.SetRandSource(rand.New(rand.NewSource(1)).Float64) //nolint:gosec // a verdict must not be a matter of chance
	program, err := goja.Compile("", evaluator.JavaScriptSource(f.Code), false)
	if err != nil {
		return answer{Invalid: err.Error()}
	}
	value, err := call(vm, program, f)
	if err != nil {
		return answer{Thrown: message(err)}
	}
	text, err := stringify(vm, value)
	switch {
	case err != nil:
		return answer{Thrown: message(err)}
	case len(text) > maxResult:
		return answer{Thrown: fmt.Sprintf("a result of more than %d bytes", maxResult)}
	}
	return answer{Value: rawValue(text)}
}

// call calls the function with its arguments.
func call(vm *goja.Runtime, program *goja.Program, f Function) (goja.Value, error) {
	argument := goja.Undefined()
	if len(f.Context) > 0 {
		var err error
		if argument, err = parse(vm, string(f.Context)); err != nil {
			return nil, err
		}
	}
	compiled, err := vm.RunProgram(program)
	if err != nil {
		return nil, err
	}
	function, ok := goja.AssertFunction(compiled)
	if !ok {
		return nil, errors.New("the code is not a function")
	}
	return function(goja.Undefined(), vm.ToValue(f.Output), argument)
}

// parse makes a value of JSON, without evaluating it.
func parse(vm *goja.Runtime, text string) (goja.Value, error) {
	return method(vm, "parse", vm.ToValue(text))
}

// stringify writes a value as JSON. A value that JSON cannot represent becomes null.
func stringify(vm *goja.Runtime, value goja.Value) (string, error) {
	out, err := method(vm, "stringify", value)
	if err != nil {
		return "", err
	}
	if goja.IsUndefined(out) {
		return "null", nil
	}
	return out.String(), nil
}

// method calls a method of the global JSON. Functions of definitions run in an
// interpreter of their own each, so that none can have changed it for another.
func method(vm *goja.Runtime, name string, argument goja.Value) (goja.Value, error) {
	function, ok := goja.AssertFunction(vm.GlobalObject().Get("JSON").ToObject(vm).Get(name))
	if !ok {
		return nil, errors.New("JSON." + name + " is not a function")
	}
	return function(goja.Undefined(), argument)
}

// message is what was thrown, without the place in the interpreter.
func message(err error) string {
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		return thrown.Value().String()
	}
	return err.Error()
}
