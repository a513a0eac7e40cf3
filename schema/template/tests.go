package template

import (
	"math"
	"strings"

	"github.com/gavel-evals/gavel/schema/template/jsvalue"
)

// tests are what may follow is.
var tests = map[string]function{
	"defined":     holds(func(v any) bool { _, none := v.(jsvalue.Undefined); return !none }),
	"undefined":   holds(func(v any) bool { _, none := v.(jsvalue.Undefined); return none }),
	"none":        holds(func(v any) bool { return v == nil }),
	"null":        holds(func(v any) bool { return v == nil }),
	"number":      holds(jsvalue.IsNumber),
	"string":      holds(func(v any) bool { _, ok := v.(string); return ok }),
	"boolean":     holds(jsvalue.IsBool),
	"mapping":     holds(func(v any) bool { _, ok := v.(*jsvalue.Object); return ok }),
	"iterable":    holds(func(v any) bool { return isText(v) && !isMapping(v) }),
	"truthy":      holds(jsvalue.Truthy),
	"falsy":       holds(func(v any) bool { return !jsvalue.Truthy(v) }),
	"odd":         holds(func(v any) bool { return math.Mod(jsvalue.Number(v), 2) == 1 }),
	"even":        holds(func(v any) bool { return math.Mod(jsvalue.Number(v), 2) == 0 }),
	"lower":       holds(func(v any) bool { s, ok := v.(string); return ok && s == strings.ToLower(s) }),
	"upper":       holds(func(v any) bool { s, ok := v.(string); return ok && s == strings.ToUpper(s) }),
	"divisibleby": compares(func(a, b any) bool { return math.Mod(jsvalue.Number(a), jsvalue.Number(b)) == 0 }),
	"equalto":     compares(jsvalue.StrictEqual), "eq": compares(jsvalue.StrictEqual), "sameas": compares(jsvalue.StrictEqual),
	"ne": compares(func(a, b any) bool { return !jsvalue.StrictEqual(a, b) }),
	"lt": compares(jsvalue.Less), "lessthan": compares(jsvalue.Less),
	"gt": compares(func(a, b any) bool { return jsvalue.Less(b, a) }), "greaterthan": compares(func(a, b any) bool { return jsvalue.Less(b, a) }),
	"le": compares(func(a, b any) bool { return jsvalue.Less(a, b) || sameOrder(a, b) }),
	"ge": compares(func(a, b any) bool { return jsvalue.Less(b, a) || sameOrder(a, b) }),
}

func isMapping(v any) bool { _, ok := v.(*jsvalue.Object); return ok }

func holds(f func(any) bool) function {
	return func(c *call) (any, error) { return f(c.value), nil }
}

func compares(f func(a, b any) bool) function {
	return func(c *call) (any, error) { return f(c.value, c.arg(0)), nil }
}
