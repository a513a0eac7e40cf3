package javascript

import (
	"errors"
	"regexp"
	"strings"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja/parser"
)

// MaxPattern bounds the bytes of a pattern that RE2 does not support.
const MaxPattern = 1024

// IsPattern reports whether the interpreter accepts a pattern with its flags. It accepts at most
// [MaxPattern] bytes.
func IsPattern(pattern, flags string) bool {
	if len(pattern) > MaxPattern {
		return false
	}
	transformed, err := parser.TransformRegExp(pattern, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		return isOwnPattern(pattern, flags)
	}
	_, err = regexp.Compile(transformed) // as the interpreter does
	return err == nil
}

// isOwnPattern reports whether JavaScript supports a pattern and RE2 does not, such as
// one with lookahead or backreferences. It is false for patterns that are invalid in
// both.
func isOwnPattern(pattern, flags string) bool {
	if len(pattern) > MaxPattern {
		return false
	}
	if _, err := parser.TransformRegExp(pattern, strings.Contains(flags, "s"), strings.Contains(flags, "u")); !errors.As(err, new(parser.RegexpErrorIncompatible)) {
		return false
	}
	_, err := regexp2.Compile(pattern, regexp2.ECMAScript) // as the interpreter does
	return err == nil
}
