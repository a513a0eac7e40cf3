// Package jsregexp tells which patterns need the RegExp of JavaScript.
package jsregexp

import (
	"errors"
	"regexp"
	"strings"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja/parser"
)

// MaxSize bounds the bytes of a pattern that RE2 does not have.
const MaxSize = 1024

// IsValid reports whether a pattern with flags is one of JavaScript, of at most [MaxSize] bytes,
// that the interpreter has.
func IsValid(pattern, flags string) bool {
	if len(pattern) > MaxSize {
		return false
	}
	transformed, err := parser.TransformRegExp(pattern, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		return isNeeded(pattern, flags)
	}
	_, err = regexp.Compile(transformed) // as the interpreter does
	return err == nil
}

// IsNeeded reports whether a pattern is one of JavaScript that RE2 does not have, as one
// that looks ahead or refers back is. It is false for one that is not valid here either, or is
// longer than MaxSize.
func IsNeeded(pattern string) bool { return isNeeded(pattern, "") }

func isNeeded(pattern, flags string) bool {
	if len(pattern) > MaxSize {
		return false
	}
	if _, err := parser.TransformRegExp(pattern, strings.Contains(flags, "s"), strings.Contains(flags, "u")); !errors.As(err, new(parser.RegexpErrorIncompatible)) {
		return false
	}
	_, err := regexp2.Compile(pattern, regexp2.ECMAScript) // as the interpreter does
	return err == nil
}
