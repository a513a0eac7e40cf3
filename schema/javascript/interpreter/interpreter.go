// Package interpreter is the child's side of package javascript: it runs the functions.
// Only programs and tests that serve children include the interpreter.
package interpreter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/gavel-evals/gavel/schema/javascript"
)

// maxCalls bounds how deep functions call each other.
const maxCalls = 2000

// maxResult bounds a function's result, in bytes of JSON.
const maxResult = 1 << 20

// ServeChild runs functions until there are no more if [javascript.Run] started this
// process, and reports whether it did; the program then has to end.
func ServeChild() bool { return javascript.Serve(run) }

// run calls a function in a new interpreter.
func run(c javascript.Call) javascript.Answer {
	vm := goja.New()
	vm.SetParserOptions(parser.WithDisableSourceMaps) // they would be read from files
	vm.SetMaxCallStackSize(maxCalls)
	vm.SetRandSource(rand.New(rand.NewSource(1)).Float64) //nolint:gosec // a verdict must not be a matter of chance
	if c.Pure {
		purify(vm)
	}
	program, err := goja.Compile("", c.Code, false)
	if err != nil {
		return javascript.Answer{Invalid: err.Error()}
	}
	value, err := call(vm, program, c.Args)
	if err != nil {
		return javascript.Answer{Thrown: message(err)}
	}
	text, err := stringify(vm, value)
	switch {
	case err != nil:
		return javascript.Answer{Thrown: message(err)}
	case len(text) > maxResult:
		return javascript.Answer{Thrown: fmt.Sprintf("a result of more than %d bytes", maxResult)}
	}
	return javascript.Answer{Value: json.RawMessage(text)}
}

// purify makes the clock and random numbers throw.
func purify(vm *goja.Runtime) {
	refuse := func(what, instead string) {
		panic(vm.NewTypeError("there is no " + what + " while definitions are compiled; " + instead))
	}
	vm.SetRandSource(func() float64 {
		refuse("random number", "choose one value")
		return 0
	})
	vm.SetTimeSource(func() time.Time {
		refuse("clock", "write the date into a variable")
		return time.Time{}
	})
}

// call calls the function with its arguments.
func call(vm *goja.Runtime, program *goja.Program, args []json.RawMessage) (goja.Value, error) {
	values := make([]goja.Value, len(args))
	for i, arg := range args {
		var err error
		if values[i], err = parse(vm, string(arg)); err != nil {
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
	value, err := function(goja.Undefined(), values...)
	if err != nil {
		return nil, err
	}
	if promise, ok := value.Export().(*goja.Promise); ok {
		return settled(promise)
	}
	return value, nil
}

// settled returns the value of a resolved promise. Everything that it waits for has
// been computed: there is nothing else to wait for.
func settled(p *goja.Promise) (goja.Value, error) {
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return p.Result(), nil
	case goja.PromiseStateRejected:
		return nil, errors.New(p.Result().String())
	}
	return nil, errors.New("a promise that nothing resolves")
}

// parse converts JSON to a value, without evaluating it.
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

// method calls a method of the global JSON. Each function runs in a new interpreter, so
// no other function can have changed it.
func method(vm *goja.Runtime, name string, argument goja.Value) (goja.Value, error) {
	function, ok := goja.AssertFunction(vm.GlobalObject().Get("JSON").ToObject(vm).Get(name))
	if !ok {
		return nil, errors.New("JSON." + name + " is not a function")
	}
	return function(goja.Undefined(), argument)
}

// message returns the thrown message, without the position in the interpreter.
func message(err error) string {
	if thrown, ok := errors.AsType[*goja.Exception](err); ok {
		return thrown.Value().String()
	}
	return err.Error()
}
