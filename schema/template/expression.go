package template

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds how deep parts of an expression and tags are within others.
const maxDepth = 100

// A reader reads the tokens of an expression.
type reader struct {
	source string
	tokens []token
	own    map[string]Filter
	next   int
	depth  int
}

func (r *reader) peek() token { return r.tokens[r.next] }

func (r *reader) take() token {
	t := r.tokens[r.next]
	if r.next < len(r.tokens)-1 {
		r.next++
	}
	return t
}

// accept consumes an operator or a word if it is next.
func (r *reader) accept(texts ...string) (token, bool) {
	t := r.peek()
	if (t.kind == '+' || t.kind == 'a') && slices.Contains(texts, t.text) {
		return r.take(), true
	}
	return t, false
}

func (r *reader) expect(text string) error {
	if t, ok := r.accept(text); !ok {
		return r.unexpected(t, text)
	}
	return nil
}

// unexpected returns the error of a token in place of another.
func (r *reader) unexpected(t token, want string) error {
	got := strconv.Quote(t.text)
	if t.kind == 0 {
		got = "the end"
	}
	return mistakeAt(r.source, t.at, "the template has "+got+" where "+want+" is expected", "correct the expression")
}

func (r *reader) end() error {
	if t := r.peek(); t.kind != 0 {
		return r.unexpected(t, "the end")
	}
	return nil
}

// expression reads: a if b else c.
func (r *reader) expression() (expr, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, errorAt(r.source, r.peek().at, "the expression has too many parts within others", "divide it with {% set %}")
	}
	defer func() { r.depth-- }()
	value, err := r.or()
	if err != nil {
		return nil, err
	}
	if _, ok := r.accept("if"); !ok {
		return value, nil
	}
	condition, err := r.or()
	if err != nil {
		return nil, err
	}
	other := constant(undefined{})
	if _, ok := r.accept("else"); ok {
		if other, err = r.expression(); err != nil {
			return nil, err
		}
	}
	return func(x *execution) (any, error) {
		holds, err := condition(x)
		if err != nil {
			return nil, err
		}
		if truthy(holds) {
			return value(x)
		}
		return other(x)
	}, nil
}

func constant(v any) expr { return func(*execution) (any, error) { return v, nil } }

func (r *reader) or() (expr, error) {
	return r.either(r.and, "or", func(v any) bool { return truthy(v) })
}

func (r *reader) and() (expr, error) {
	return r.either(r.not, "and", func(v any) bool { return !truthy(v) })
}

// either reads parts separated by a word; the value is the first that ends the search,
// else the last.
func (r *reader) either(part func() (expr, error), word string, ends func(any) bool) (expr, error) {
	left, err := part()
	for err == nil {
		if _, ok := r.accept(word); !ok {
			return left, nil
		}
		first := left
		var second expr
		if second, err = part(); err != nil {
			break
		}
		left = func(x *execution) (any, error) {
			v, err := first(x)
			if err != nil || ends(v) {
				return v, err
			}
			return second(x)
		}
	}
	return nil, err
}

func (r *reader) not() (expr, error) {
	if _, ok := r.accept("not"); !ok {
		return r.comparison()
	}
	if r.depth++; r.depth > maxDepth {
		return nil, r.unexpected(r.peek(), "less after so many not")
	}
	defer func() { r.depth-- }()
	inner, err := r.not()
	if err != nil {
		return nil, err
	}
	return func(x *execution) (any, error) {
		v, err := inner(x)
		return !truthy(v), err
	}, nil
}

// comparison reads in, is and the comparisons.
func (r *reader) comparison() (expr, error) {
	left, err := r.sum()
	for err == nil {
		_, opposite := r.accept("not")
		op, ok := r.accept("==", "!=", "===", "!==", "<", ">", "<=", ">=", "in", "is")
		switch {
		case opposite && op.text != "in":
			return nil, r.unexpected(op, "in")
		case !ok:
			return left, nil
		case op.text == "is":
			left, err = r.test(left)
			continue
		}
		var right expr
		if right, err = r.sum(); err != nil {
			break
		}
		left = compared(op, opposite, left, right)
	}
	return nil, err
}

func compared(op token, opposite bool, left, right expr) expr {
	at := op.at
	return both(at, left, right, func(x *execution, a, b any) (any, error) {
		switch op.text {
		case "==":
			return looseEqual(a, b), nil
		case "!=":
			return !looseEqual(a, b), nil
		case "===":
			return strictEqual(a, b), nil
		case "!==":
			return !strictEqual(a, b), nil
		case "<":
			return less(a, b), nil
		case ">":
			return less(b, a), nil
		case "<=":
			return less(a, b) || sameOrder(a, b), nil
		case ">=":
			return less(b, a) || sameOrder(a, b), nil
		}
		in, err := contains(x, at, b, a)
		return in != opposite, err
	})
}

// sameOrder reports whether two values are equal for <= and >=.
func sameOrder(a, b any) bool {
	x, isText := a.(string)
	if y, both := b.(string); isText && both {
		return x == y
	}
	return number(a) == number(b)
}

// contains reports whether a list, a text or an object contains a value, a part or a
// key.
func contains(x *execution, at int, whole, part any) (bool, error) {
	switch w := whole.(type) {
	case []any:
		return slices.ContainsFunc(w, func(item any) bool { return strictEqual(item, part) }), x.make(at, len(w)/16)
	case string:
		s, err := x.text(at, part)
		return strings.Contains(w, s), err
	case *Object:
		s, err := x.text(at, part)
		_, has := w.Values[s]
		return has, err
	}
	return false, errorAt(x.source, at, "in looks into a text, a list or an object", "correct the expression, or give the variable a value")
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

// operation reads parts with operators between.
func (r *reader) operation(part func() (expr, error), ops ...string) (expr, error) {
	left, err := part()
	for err == nil {
		op, ok := r.accept(ops...)
		if !ok {
			return left, nil
		}
		var right expr
		if right, err = part(); err == nil {
			left = both(op.at, left, right, func(x *execution, a, b any) (any, error) { return calculated(x, op, a, b) })
		}
	}
	return nil, err
}

func (r *reader) sum() (expr, error) { return r.operation(r.product, "+", "-", "~") }

func (r *reader) product() (expr, error) { return r.operation(r.power, "*", "/", "//", "%") }

func (r *reader) power() (expr, error) { return r.operation(r.unary, "**") }

func calculated(x *execution, op token, a, b any) (any, error) {
	if op.text == "~" || op.text == "+" && (isText(a) || isText(b)) {
		left, err := x.text(op.at, a)
		if err != nil {
			return nil, err
		}
		right, err := x.text(op.at, b)
		if err != nil {
			return nil, err
		}
		return left + right, x.make(op.at, len(left)+len(right))
	}
	n, m := number(a), number(b)
	switch op.text {
	case "+":
		return n + m, nil
	case "-":
		return n - m, nil
	case "*":
		return n * m, nil
	case "/":
		return n / m, nil
	case "//":
		return math.Floor(n / m), nil
	case "%":
		return math.Mod(n, m), nil
	}
	return math.Pow(n, m), nil
}

func isText(v any) bool { return !isNumber(v) && !isBool(v) && !absent(v) }

// unary reads a sign, then a value with its filters.
func (r *reader) unary() (expr, error) {
	value, err := r.signed()
	for err == nil {
		if _, ok := r.accept("|"); !ok {
			return value, nil
		}
		value, err = r.filter(value)
	}
	return nil, err
}

// signed reads a value with its signs, which a filter after it sees.
func (r *reader) signed() (expr, error) {
	sign, signed := r.accept("-", "+")
	if !signed {
		return r.postfix()
	}
	if r.depth++; r.depth > maxDepth {
		return nil, r.unexpected(r.peek(), "less after so many signs")
	}
	defer func() { r.depth-- }()
	value, err := r.signed()
	if err != nil {
		return nil, err
	}
	return func(x *execution) (any, error) {
		v, err := value(x)
		if sign.text == "-" {
			return -number(v), err
		}
		return number(v), err
	}, nil
}

// postfix reads a value with its fields and calls.
func (r *reader) postfix() (expr, error) {
	value, err := r.primary()
	for err == nil {
		t, ok := r.accept(".", "[", "(")
		if !ok {
			return value, nil
		}
		switch t.text {
		case ".":
			value, err = r.field(value)
		case "[":
			value, err = r.index(t, value)
		default:
			return nil, errorAt(r.source, t.at, "a template cannot call this", "of functions, only range and methods of texts such as trim() are there; write the rest as a filter")
		}
	}
	return nil, err
}

// field reads .name, which may be a call of a method.
func (r *reader) field(of expr) (expr, error) {
	name := r.take()
	if name.kind != 'a' && name.kind != '1' {
		return nil, r.unexpected(name, "a name")
	}
	if _, ok := r.accept("("); !ok {
		return member(name.at, of, constant(name.text)), nil
	}
	given, err := r.arguments()
	if err != nil {
		return nil, err
	}
	return r.method(name, of, given)
}

func (r *reader) index(open token, of expr) (expr, error) {
	at, err := r.expression()
	if err != nil {
		return nil, err
	}
	if t := r.peek(); t.text == ":" {
		return nil, errorAt(r.source, t.at, "a slice of a list or a text is not read", "use the filters first and last, or name each item")
	}
	return member(open.at, of, at), r.expect("]")
}

// member returns a field of an object, an item of a list or a character of a text;
// undefined if there is none.
func member(at int, of, key expr) expr {
	return both(at, of, key, func(x *execution, whole, part any) (any, error) {
		name, err := x.text(at, part)
		if err != nil {
			return nil, err
		}
		n, wrong := strconv.Atoi(name)
		switch v := whole.(type) {
		case Variables:
			if _, known := v[name]; !known {
				return undefined{}, nil
			}
			return x.variable(name)
		case *Object:
			if value, has := v.Values[name]; has {
				return value, nil
			}
		case []any:
			if wrong == nil && n >= 0 && n < len(v) {
				return v[n], nil
			}
		case string:
			if runes := []rune(v); wrong == nil && n >= 0 && n < len(runes) {
				return string(runes[n]), x.make(at, len(v)/16)
			}
		}
		if _, isObject := whole.(*Object); name == "length" && !isObject && !absent(whole) && !isNumber(whole) {
			return float64(length(whole)), nil
		}
		return undefined{}, nil
	})
}

// primary reads a name, a literal, a list, an object or an expression in parentheses.
func (r *reader) primary() (expr, error) {
	t := r.take()
	switch t.kind {
	case '"':
		return constant(t.text), nil
	case '1':
		return constant(exact(json.Number(t.text))), nil
	case 'a':
		return r.name(t)
	}
	switch t.text {
	case "(":
		value, err := r.expression()
		if err != nil {
			return nil, err
		}
		return value, r.expect(")")
	case "[":
		items, err := r.items("]")
		return listed(t.at, items), err
	case "{":
		return r.object(t)
	}
	return nil, r.unexpected(t, "a value")
}

// words are the names that are values.
var words = map[string]any{"true": true, "false": false, "none": nil, "null": nil}

func (r *reader) name(t token) (expr, error) {
	if value, ok := words[t.text]; ok {
		return constant(value), nil
	}
	if next := r.peek(); next.text == "(" && next.kind == '+' {
		r.take()
		return r.call(t)
	}
	if t.text == "env" {
		name := EnvironmentError("env")
		if r.peek().text == "." && r.next+1 < len(r.tokens) {
			name = EnvironmentError(r.tokens[r.next+1].text)
		}
		return func(x *execution) (any, error) { return x.environment(name) }, nil
	}
	return func(x *execution) (any, error) {
		if err := x.step(t.at); err != nil {
			return nil, err
		}
		return x.lookup(t.text)
	}, nil
}

// items reads values with commas between, up to the closing bracket.
func (r *reader) items(closing string) ([]expr, error) {
	var items []expr
	for {
		if _, ok := r.accept(closing); ok {
			return items, nil
		}
		item, err := r.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if _, more := r.accept(","); !more {
			return items, r.expect(closing)
		}
	}
}

func listed(at int, items []expr) expr {
	return func(x *execution) (any, error) {
		if err := x.make(at, len(items)); err != nil {
			return nil, err
		}
		return x.all(items)
	}
}

// all computes values.
func (x *execution) all(items []expr) ([]any, error) {
	list := make([]any, len(items))
	var err error
	for i, item := range items {
		if list[i], err = item(x); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// object reads {key: value, …}.
func (r *reader) object(open token) (expr, error) {
	var keys []string
	var values []expr
	for {
		if _, ok := r.accept("}"); ok {
			break
		}
		key := r.take()
		if key.kind != '"' && key.kind != 'a' && key.kind != '1' {
			return nil, r.unexpected(key, "a key")
		}
		if err := r.expect(":"); err != nil {
			return nil, err
		}
		value, err := r.expression()
		if err != nil {
			return nil, err
		}
		keys, values = append(keys, key.text), append(values, value)
		if _, more := r.accept(","); !more {
			if err := r.expect("}"); err != nil {
				return nil, err
			}
			break
		}
	}
	return func(x *execution) (any, error) {
		o := newObject()
		list, err := x.all(values)
		for i := range list {
			o.Set(keys[i], list[i])
		}
		if err != nil {
			return nil, err
		}
		return o, x.make(open.at, len(keys))
	}, nil
}

// The arguments of a call are values, and values by name.
type arguments struct {
	args  []expr
	named map[string]expr
}

// arguments reads the arguments of a call.
func (r *reader) arguments() (arguments, error) {
	given := arguments{named: map[string]expr{}}
	for {
		if _, ok := r.accept(")"); ok {
			return given, nil
		}
		name := r.peek()
		isNamed := name.kind == 'a' && r.next+1 < len(r.tokens) && r.tokens[r.next+1].text == "=" && r.tokens[r.next+1].kind == '+'
		if isNamed {
			r.take()
			r.take()
		}
		value, err := r.expression()
		if err != nil {
			return given, err
		}
		if isNamed {
			given.named[name.text] = value
		} else {
			given.args = append(given.args, value)
		}
		if _, more := r.accept(","); !more {
			return given, r.expect(")")
		}
	}
}

// allOf returns all variables as an object, sorted by name.
func allOf(vars Variables) *Object {
	o := newObject()
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		o.Set(name, decode(vars[name]))
	}
	return o
}
