package template

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// maxDepth bounds how deep parts of an expression and tags are within others.
const maxDepth = 100

// A reader reads the tokens of an expression.
//
// Nunjucks writes an expression as one of JavaScript, mostly without parentheses, so
// JavaScript's order of operators decides in the end: not a == b is (not a) == b. Each
// level of the grammar therefore returns terms, which [reader.join] puts in that order.
type reader struct {
	source string
	tokens []token
	own    map[string]Filter
	next   int
	depth  int
}

// valueOf returns the term of a value.
func valueOf(e expr) []term { return []term{{value: e}} }

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

// deeper counts a part within another.
func (r *reader) deeper() error {
	if r.depth++; r.depth > maxDepth {
		return errorAt(r.source, r.peek().at, "the expression has too many parts within others", "divide it with {% set %}")
	}
	return nil
}

// expression reads: a if b else c.
func (r *reader) expression() (expr, error) {
	if err := r.deeper(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	value, err := r.joined(r.or)
	if err != nil {
		return nil, err
	}
	if _, ok := r.accept("if"); !ok {
		return value, nil
	}
	condition, err := r.joined(r.or)
	if err != nil {
		return nil, err
	}
	other := constant("")
	if _, ok := r.accept("else"); ok {
		if other, err = r.joined(r.or); err != nil {
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

// joined reads a level of the grammar as one value.
func (r *reader) joined(level func() ([]term, error)) (expr, error) {
	terms, err := level()
	if err != nil {
		return nil, err
	}
	return r.join(terms)
}

// between reads parts of a level with operators between, which JavaScript writes as the
// given terms.
func (r *reader) between(part func() ([]term, error), operators map[string][]term) ([]term, error) {
	left, err := part()
	for err == nil {
		t := r.peek()
		written, ok := operators[t.text]
		if !ok || t.kind != '+' && t.kind != 'a' {
			return left, nil
		}
		r.take()
		var right []term
		if right, err = part(); err != nil {
			break
		}
		for _, op := range written {
			op.at = t.at
			left = append(left, op)
		}
		left = append(left, right...)
	}
	return nil, err
}

// as returns operators that JavaScript has, too.
func as(operators ...string) map[string][]term {
	all := map[string][]term{}
	for _, op := range operators {
		all[op] = []term{{op: op}}
	}
	return all
}

// The operators of each level.
var (
	orOperator      = map[string][]term{"or": {{op: "||"}}}
	andOperator     = map[string][]term{"and": {{op: "&&"}}}
	comparisons     = as("==", "!=", "===", "!==", "<", ">", "<=", ">=")
	concatOperator  = map[string][]term{"~": {{op: "+"}, {value: constant("")}, {op: "+"}}}
	addOperator     = as("+")
	subOperator     = as("-")
	mulOperator     = as("*")
	divOperator     = as("/")
	modOperator     = as("%")
	floorOperators  = []string{"//"}
	powerOperators  = []string{"**"}
	postfixOperator = []string{".", "[", "("}
)

func (r *reader) or() ([]term, error) { return r.between(r.and, orOperator) }

func (r *reader) and() ([]term, error) { return r.between(r.not, andOperator) }

func (r *reader) not() ([]term, error) {
	t, ok := r.accept("not")
	if !ok {
		return r.in()
	}
	if err := r.deeper(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	inner, err := r.not()
	return append([]term{{op: "!", at: t.at}}, inner...), err
}

// in reads: a in b, and a not in b.
func (r *reader) in() ([]term, error) {
	left, err := r.is()
	for err == nil {
		not, opposite := r.accept("not")
		op, ok := r.accept("in")
		switch {
		case opposite && !ok:
			return nil, r.unexpected(op, "in")
		case !ok:
			return left, nil
		}
		var part, whole expr
		if part, err = r.join(left); err != nil {
			break
		}
		if whole, err = r.joined(r.is); err != nil {
			break
		}
		left = valueOf(both(op.at, part, whole, func(x *execution, a, b any) (any, error) { return contains(x, op.at, b, a) }))
		if opposite {
			left = append([]term{{op: "!", at: not.at}}, left...)
		}
	}
	return nil, err
}

// is reads: a is b, and a is not b, where b is a test.
func (r *reader) is() ([]term, error) {
	left, err := r.comparison()
	if err != nil {
		return nil, err
	}
	t, ok := r.accept("is")
	if !ok {
		return left, nil
	}
	value, err := r.join(left)
	if err != nil {
		return nil, err
	}
	_, not := r.accept("not")
	holds, err := r.test(value)
	terms := []term{{value: holds}, {op: "===", at: t.at}, {value: constant(true)}}
	if not {
		terms = append([]term{{op: "!", at: t.at}}, terms...)
	}
	return terms, err
}

func (r *reader) comparison() ([]term, error) { return r.between(r.concat, comparisons) }

func (r *reader) concat() ([]term, error) { return r.between(r.add, concatOperator) }

func (r *reader) add() ([]term, error) { return r.between(r.sub, addOperator) }

func (r *reader) sub() ([]term, error) { return r.between(r.mul, subOperator) }

func (r *reader) mul() ([]term, error) { return r.between(r.div, mulOperator) }

func (r *reader) div() ([]term, error) { return r.between(r.floor, divOperator) }

// floor reads a // b, the whole part of a quotient.
func (r *reader) floor() ([]term, error) {
	return r.called(r.mod, floorOperators, func(op token, left, right []term) (expr, error) {
		quotient, err := r.join(slices.Concat(left, []term{{op: "/", at: op.at}}, right))
		return func(x *execution) (any, error) {
			v, err := quotient(x)
			return math.Floor(number(v)), err
		}, err
	})
}

func (r *reader) mod() ([]term, error) { return r.between(r.power, modOperator) }

func (r *reader) power() ([]term, error) {
	return r.called(r.unary, powerOperators, func(op token, left, right []term) (expr, error) {
		base, err := r.join(left)
		if err != nil {
			return nil, err
		}
		exponent, err := r.join(right)
		return both(op.at, base, exponent, func(_ *execution, a, b any) (any, error) { return power(number(a), number(b)), nil }), err
	})
}

// called reads parts with operators between that are calls in JavaScript.
func (r *reader) called(part func() ([]term, error), operators []string, of func(op token, left, right []term) (expr, error)) ([]term, error) {
	left, err := part()
	for err == nil {
		op, ok := r.accept(operators...)
		if !ok {
			return left, nil
		}
		var right []term
		if right, err = part(); err != nil {
			break
		}
		var value expr
		value, err = of(op, left, right)
		left = valueOf(value)
	}
	return nil, err
}

// unary reads a value with its signs, then its filters.
func (r *reader) unary() ([]term, error) {
	terms, err := r.signed()
	for err == nil {
		if _, ok := r.accept("|"); !ok {
			return terms, nil
		}
		var value expr
		if value, err = r.join(terms); err != nil {
			break
		}
		value, err = r.filter(value)
		terms = valueOf(value)
	}
	return nil, err
}

func (r *reader) signed() ([]term, error) {
	sign, ok := r.accept("-", "+")
	if !ok {
		value, err := r.postfix()
		return valueOf(value), err
	}
	if again, ok := r.accept(sign.text); ok {
		return nil, r.unexpected(again, "a value")
	}
	if err := r.deeper(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	terms, err := r.signed()
	return append([]term{{op: sign.text + "x", at: sign.at}}, terms...), err
}

// postfix reads a value with its fields and calls.
func (r *reader) postfix() (expr, error) {
	value, err := r.primary()
	for err == nil {
		t, ok := r.accept(postfixOperator...)
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
	if name.kind != 'a' {
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
	if t, empty := r.accept("]"); empty {
		return nil, r.unexpected(t, "an item")
	}
	at, err := r.expression()
	if err != nil {
		return nil, err
	}
	if t := r.peek(); t.text == ":" {
		return nil, mistakeAt(r.source, t.at, "Nunjucks has no slice of a list or a text", "use the filters first and last, the method slice, or name each item")
	}
	return member(open.at, of, at), r.expect("]")
}

// member returns a field of an object, an item of a list or a character of a text;
// undefined if there is none.
func member(at int, of, key expr) expr {
	return both(at, of, key, func(x *execution, whole, part any) (any, error) {
		name, err := x.compared(at, part)
		if err != nil {
			return nil, err
		}
		if _, all := whole.(Variables); !all {
			return x.field(at, whole, name)
		}
		if _, known := whole.(Variables)[name]; !known {
			return undefined{}, nil
		}
		return x.variable(name)
	})
}

// field returns a field of a value, as JavaScript does; a method is not one.
func (x *execution) field(at int, whole any, name string) (any, error) {
	n, isIndex := index(name)
	switch v := whole.(type) {
	case nil, undefined:
		return undefined{}, nil
	case *Object:
		if value, has := v.Values[name]; has {
			return value, nil
		}
	case []any:
		switch {
		case isIndex && n < len(v):
			return v[n], nil
		case name == "length":
			return float64(len(v)), nil
		}
	case marked:
		if name == "val" {
			return string(v), nil
		}
		return x.field(at, string(v), name)
	case string:
		switch {
		case isIndex && n < len(v):
			if c := units(v); n < len(c) {
				return ofUnits(c[n : n+1]), x.make(at, len(v)/16)
			}
		case name == "length":
			return float64(length(v)), x.make(at, len(v)/16)
		}
	}
	if members[""][name] || members[kind(whole)][name] {
		return nil, errorAt(x.source, at, "a template cannot read the function "+Clip(name), "call it, or write a filter")
	}
	return undefined{}, nil
}

// primary reads a name, a literal, a list, an object or an expression in parentheses.
func (r *reader) primary() (expr, error) {
	t := r.take()
	switch t.kind {
	case '"':
		return constant(t.text), nil
	case '1':
		f, _ := strconv.ParseFloat(t.text, 64) // digits; infinite if it is too large
		return constant(f), nil
	case 'w':
		return constant(constants[t.text]), nil
	case 'a':
		return r.name(t)
	}
	switch t.text {
	case "(":
		items, err := r.items(t)
		if err == nil && len(items) == 0 {
			err = r.unexpected(t, "a value")
		}
		return func(x *execution) (any, error) {
			all, err := x.all(items)
			if err != nil {
				return nil, err
			}
			return all[len(all)-1], nil
		}, err
	case "[":
		items, err := r.items(t)
		return listed(t.at, items), err
	case "{":
		return r.object(t)
	}
	return nil, r.unexpected(t, "a value")
}

func (r *reader) name(t token) (expr, error) {
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

// closers end a list, an object or a group. Nunjucks takes any of them for any.
var closers = []string{")", "]", "}"}

// items reads values with commas between, up to the closing bracket.
func (r *reader) items(open token) ([]expr, error) {
	var items []expr
	for {
		if _, ok := r.accept(closers...); ok {
			return items, nil
		}
		if len(items) > 0 {
			if err := r.expect(","); err != nil {
				return nil, err
			}
		}
		item, err := r.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
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
	list := newList(len(items))
	for _, item := range items {
		v, err := item(x)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// object reads {key: value, …}.
func (r *reader) object(open token) (expr, error) {
	var keys []string
	var values []expr
	for {
		if _, ok := r.accept(closers...); ok {
			break
		}
		if len(keys) > 0 {
			if err := r.expect(","); err != nil {
				return nil, err
			}
		}
		key := r.take()
		if key.kind != '"' && key.kind != 'a' {
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
	names []string
	named []expr
}

// arguments reads the arguments of a call.
func (r *reader) arguments() (arguments, error) {
	var given arguments
	for first := true; ; first = false {
		if _, ok := r.accept(")"); ok {
			return given, nil
		}
		if !first {
			if err := r.expect(","); err != nil {
				return given, err
			}
		}
		name := r.peek()
		isNamed := (name.kind == 'a' || name.kind == '"') && r.next+1 < len(r.tokens) && r.tokens[r.next+1].text == "=" && r.tokens[r.next+1].kind == '+'
		if isNamed {
			r.take()
			r.take()
		}
		value, err := r.expression()
		if err != nil {
			return given, err
		}
		if isNamed {
			given.names, given.named = append(given.names, name.text), append(given.named, value)
		} else {
			given.args = append(given.args, value)
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
