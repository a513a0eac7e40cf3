package template

import (
	"math"
	"strings"
)

// tests are the names that may follow is.
var tests = map[string]function{
	"defined":     holds(func(v any) bool { _, none := v.(undefined); return !none }),
	"undefined":   holds(func(v any) bool { _, none := v.(undefined); return none }),
	"none":        holds(func(v any) bool { return v == nil }),
	"null":        holds(func(v any) bool { return v == nil }),
	"number":      holds(isNumber),
	"string":      holds(func(v any) bool { _, ok := v.(string); return ok }),
	"boolean":     holds(isBool),
	"mapping":     holds(func(v any) bool { _, ok := v.(*Object); return ok }),
	"iterable":    holds(func(v any) bool { return isText(v) && !isMapping(v) }),
	"truthy":      holds(truthy),
	"falsy":       holds(func(v any) bool { return !truthy(v) }),
	"odd":         holds(func(v any) bool { return math.Mod(number(v), 2) == 1 }),
	"even":        holds(func(v any) bool { return math.Mod(number(v), 2) == 0 }),
	"lower":       holds(func(v any) bool { s, ok := v.(string); return ok && s == strings.ToLower(s) }),
	"upper":       holds(func(v any) bool { s, ok := v.(string); return ok && s == strings.ToUpper(s) }),
	"divisibleby": compares(func(a, b any) bool { return math.Mod(number(a), number(b)) == 0 }),
	"equalto":     compares(strictEqual), "eq": compares(strictEqual), "sameas": compares(strictEqual),
	"ne": compares(func(a, b any) bool { return !strictEqual(a, b) }),
	"lt": compares(less), "lessthan": compares(less),
	"gt": compares(func(a, b any) bool { return less(b, a) }), "greaterthan": compares(func(a, b any) bool { return less(b, a) }),
	"le": compares(func(a, b any) bool { return less(a, b) || sameOrder(a, b) }),
	"ge": compares(func(a, b any) bool { return less(b, a) || sameOrder(a, b) }),
}

func isMapping(v any) bool { _, ok := v.(*Object); return ok }

func holds(f func(any) bool) function {
	return func(c *call) (any, error) { return f(c.value), nil }
}

func compares(f func(a, b any) bool) function {
	return func(c *call) (any, error) { return f(c.value, c.arg(0)), nil }
}
