// Package jsregexp tells which patterns need the RegExp of JavaScript.
package jsregexp

import (
	"errors"
	"regexp"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja/parser"
)

// MaxSize bounds the bytes of a pattern that RE2 does not have.
const MaxSize = 1024

// IsValid reports whether a pattern is one of JavaScript, of at most [MaxSize] bytes, that the
// interpreter has.
func IsValid(pattern string) bool {
	if len(pattern) > MaxSize {
		return false
	}
	transformed, err := parser.TransformRegExp(pattern, false, false)
	if err != nil {
		return IsNeeded(pattern)
	}
	_, err = regexp.Compile(transformed) // as the interpreter does
	return err == nil
}

// IsNeeded reports whether a pattern is one of JavaScript that RE2 does not have, as one
// that looks ahead or refers back is. It is false for one that is not valid here either, or is
// longer than MaxSize.
func IsNeeded(pattern string) bool {
	if len(pattern) > MaxSize {
		return false
	}
	if _, err := parser.TransformRegExp(pattern, false, false); !errors.As(err, new(parser.RegexpErrorIncompatible)) {
		return false
	}
	_, err := regexp2.Compile(pattern, regexp2.ECMAScript) // as the interpreter does
	return err == nil
}
