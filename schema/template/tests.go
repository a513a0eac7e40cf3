package template

import "math"

// tests are the names that may follow is.
var tests = map[string]function{
	"callable":  holds(func(any) bool { return false }),
	"defined":   holds(func(v any) bool { return !isUndefined(v) }),
	"undefined": holds(isUndefined),
	"none":      holds(func(v any) bool { return v == nil }),
	"null":      holds(func(v any) bool { return v == nil }),
	"number":    holds(isNumber),
	"string":    holds(isString),
	"escaped":   holds(func(v any) bool { _, ok := v.(marked); return ok }),
	"mapping":   holds(func(v any) bool { _, isList := v.([]any); return isThing(v) && !isList }),
	"iterable": func(c *call) (any, error) {
		if absent(c.value) {
			return nil, c.wrong("a value")
		}
		of := kind(c.value)
		return of == "text" || of == "list", nil
	},
	"truthy":      holds(truthy),
	"falsy":       holds(func(v any) bool { return !truthy(v) }),
	"odd":         holds(func(v any) bool { return math.Mod(number(v), 2) == 1 }),
	"even":        holds(func(v any) bool { return math.Mod(number(v), 2) == 0 }),
	"lower":       unchanged(lowerCase),
	"upper":       unchanged(upperCase),
	"divisibleby": compares(func(a, b any) bool { return math.Mod(number(a), number(b)) == 0 }),
	"equalto":     compares(strictEqual), "eq": compares(strictEqual), "sameas": compares(strictEqual),
	"ne": compares(func(a, b any) bool { return !strictEqual(a, b) }),
	"lt": ordered("<"), "lessthan": ordered("<"),
	"gt": ordered(">"), "greaterthan": ordered(">"),
	"le": ordered("<="), "ge": ordered(">="),
}

func holds(f func(any) bool) function {
	return func(c *call) (any, error) { return f(c.value), nil }
}

func compares(f func(a, b any) bool) function {
	return func(c *call) (any, error) { return f(c.value, c.arg(0)), nil }
}

func ordered(op string) function {
	return func(c *call) (any, error) { return c.x.ordered(c.at, op, c.value, c.arg(0)) }
}

// unchanged returns a test of whether a change of a text leaves it as it is.
func unchanged(f func(string) string) function {
	return func(c *call) (any, error) {
		s, isMarked, err := c.text()
		return !isMarked && f(s) == s, err
	}
}
