package javascript

import (
	"errors"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// MaxPattern bounds the bytes of a pattern that RE2 does not have.
const MaxPattern = 1024

// OnlyHere reports whether a pattern is one of JavaScript that RE2 does not have, as one
// that looks ahead or refers back is. It is false for one that is not valid here either, or is
// longer than MaxPattern.
func OnlyHere(pattern string) bool {
	if len(pattern) > MaxPattern {
		return false
	}
	if _, err := parser.TransformRegExp(pattern, false, false); !errors.As(err, new(parser.RegexpErrorIncompatible)) {
		return false
	}
	vm := goja.New()
	_, err := vm.New(vm.Get("RegExp"), vm.ToValue(pattern))
	return err == nil
}
