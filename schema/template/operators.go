package template

import (
	"cmp"
	"math"
	"slices"
)

// A term is a value, or an operator before or between values.
type term struct {
	op    string // "" is a value
	at    int
	value expr
}

// ranks are JavaScript's operators between values; a higher one is applied first.
var ranks = map[string]int{
	"||": 1, "&&": 2, "==": 3, "!=": 3, "===": 3, "!==": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}

// A joiner puts terms in order.
type joiner struct{ terms []term }

// join returns the value of terms.
func (r *reader) join(terms []term) (expr, error) {
	j := &joiner{terms}
	value := j.ranked(1)
	if len(j.terms) > 0 {
		return nil, mistakeAt(r.source, j.terms[0].at, "the template has an operator without a value", "correct the expression")
	}
	return value, nil
}

// ranked returns the value of the terms up to an operator of a lower rank.
func (j *joiner) ranked(least int) expr {
	left := j.prefixed()
	for len(j.terms) > 0 {
		op := j.terms[0]
		rank := ranks[op.op]
		if rank < least {
			break
		}
		j.terms = j.terms[1:]
		left = applied(op, left, j.ranked(rank+1))
	}
	return left
}

// prefixed returns a value with the operators before it.
func (j *joiner) prefixed() expr {
	t := j.terms[0]
	j.terms = j.terms[1:]
	if t.op == "" {
		return t.value
	}
	value := j.prefixed()
	return func(x *execution) (any, error) {
		v, err := value(x)
		switch t.op {
		case "!":
			return !truthy(v), err
		case "-x":
			return -number(v), err
		}
		return number(v), err
	}
}

// applied returns the value of an operator between two others.
func applied(op term, left, right expr) expr {
	if op.op == "||" || op.op == "&&" {
		return func(x *execution) (any, error) {
			v, err := left(x)
			if err != nil || truthy(v) == (op.op == "||") {
				return v, err
			}
			return right(x)
		}
	}
	return both(op.at, left, right, func(x *execution, a, b any) (any, error) { return calculated(x, op, a, b) })
}

// both computes two values, then a function of them.
func both(at int, left, right expr, of func(x *execution, a, b any) (any, error)) expr {
	return func(x *execution) (any, error) {
		if err := x.step(at); err != nil {
			return nil, err
		}
		a, err := left(x)
		if err != nil {
			return nil, err
		}
		b, err := right(x)
		if err != nil {
			return nil, err
		}
		return of(x, a, b)
	}
}

func calculated(x *execution, op term, a, b any) (any, error) {
	n, m := number(a), number(b)
	switch op.op {
	case "-":
		return n - m, nil
	case "*":
		return n * m, nil
	case "/":
		return n / m, nil
	case "%":
		return math.Mod(n, m), nil
	case "===":
		return strictEqual(a, b), nil
	case "!==":
		return !strictEqual(a, b), nil
	case "==", "!=":
		equal, err := x.looseEqual(op.at, a, b)
		return equal == (op.op == "=="), err
	case "+":
		return x.sum(op.at, a, b)
	}
	return x.ordered(op.at, op.op, a, b)
}

// sum implements JavaScript's +.
func (x *execution) sum(at int, a, b any) (any, error) {
	if !isThing(a) && !isThing(b) && !isString(a) && !isString(b) {
		return number(a) + number(b), nil
	}
	left, err := x.string(at, a)
	if err != nil {
		return nil, err
	}
	right, err := x.string(at, b)
	if err != nil {
		return nil, err
	}
	return left + right, x.make(at, len(left)+len(right))
}

// ordered implements JavaScript's <, >, <= and >=.
func (x *execution) ordered(at int, op string, a, b any) (bool, error) {
	var err error
	if a, err = x.primitive(at, a); err != nil {
		return false, err
	}
	if b, err = x.primitive(at, b); err != nil {
		return false, err
	}
	s, isText := a.(string)
	t, both := b.(string)
	if isText && both {
		return map[string]bool{"<": s < t, ">": s > t, "<=": s <= t, ">=": s >= t}[op], nil
	}
	n, m := number(a), number(b)
	return map[string]bool{"<": n < m, ">": n > m, "<=": n <= m, ">=": n >= m}[op], nil
}

// less reports whether a value comes before another.
func (x *execution) less(at int, a, b any) (bool, error) { return x.ordered(at, "<", a, b) }

// primitive returns the text of a list or an object, and other values as they are.
func (x *execution) primitive(at int, v any) (any, error) {
	if !isThing(v) {
		return v, nil
	}
	return x.compared(at, v)
}

// looseEqual implements JavaScript's ==.
func (x *execution) looseEqual(at int, a, b any) (bool, error) {
	if absent(a) || absent(b) {
		return absent(a) && absent(b), nil
	}
	if isThing(a) != isThing(b) {
		var err error
		if a, err = x.primitive(at, a); err != nil {
			return false, err
		}
		if b, err = x.primitive(at, b); err != nil {
			return false, err
		}
	}
	if isThing(a) || isString(a) && isString(b) || isBool(a) && isBool(b) {
		return strictEqual(a, b), nil
	}
	return number(a) == number(b), nil
}

func isString(v any) bool { _, ok := v.(string); return ok }

// contains reports whether a list, a text or an object contains a value, a part or a
// key.
func contains(x *execution, at int, whole, part any) (bool, error) {
	switch w := whole.(type) {
	case []any:
		return slices.ContainsFunc(w, func(item any) bool { return strictEqual(item, part) }), x.make(at, len(w)/16)
	case string:
		s, err := x.compared(at, part)
		return containsText(w, s), cmp.Or(err, x.make(at, len(w)/16))
	case *Object:
		s, err := x.compared(at, part)
		_, has := w.Values[s]
		return has || members[""][s], err
	case marked:
		s, err := x.compared(at, part)
		return s == "val" || s == "length", err
	}
	return false, mistakeAt(x.source, at, "in looks into a text, a list or an object", "correct the expression, or give the variable a value")
}

// power is JavaScript's Math.pow.
func power(a, b float64) float64 {
	if math.IsNaN(b) || math.Abs(a) == 1 && math.IsInf(b, 0) {
		return math.NaN()
	}
	return math.Pow(a, b)
}
