package javascript

import (
	"errors"

	"github.com/dop251/goja/parser"
)

// OnlyHere reports whether a pattern is one of JavaScript that RE2 does not have, as one
// that looks ahead or refers back is.
func OnlyHere(pattern string) bool {
	_, err := parser.TransformRegExp(pattern, false, false)
	return errors.As(err, new(parser.RegexpErrorIncompatible))
}
