package template

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// A call is a filter, a test, a function or a method with its arguments. Arguments by
// name are an object after the others, as in Nunjucks.
type call struct {
	x     *execution
	at    int
	name  string
	value any
	args  []any
}

// keywords is the field that marks arguments by name.
const keywords = "__keywords"

// arg returns an argument; undefined if it is missing.
func (c *call) arg(i int) any {
	if i < len(c.args) {
		return c.args[i]
	}
	return undefined{}
}

// byName moves arguments by name to their positions, for the few filters that read them
// so.
func (c *call) byName(names ...string) {
	if len(c.args) == 0 {
		return
	}
	given, isObject := c.args[len(c.args)-1].(*Object)
	if !isObject || given.Values[keywords] != true {
		return
	}
	c.args = slices.Clone(c.args[:len(c.args)-1])
	for i := len(c.args); i < len(names); i++ {
		v, has := given.Values[names[i]]
		if !has {
			v = undefined{}
		}
		c.args = append(c.args, v)
	}
}

// string returns a value as text, as JavaScript converts it.
func (c *call) string(v any) (string, error) { return c.x.string(c.at, v) }

// text returns the value, which must be a text. isMarked reports whether the result has
// to be marked, too.
func (c *call) text() (s string, isMarked bool, err error) {
	switch v := c.value.(type) {
	case string:
		return v, false, nil
	case marked:
		return string(v), true, nil
	}
	return "", false, c.wrong("a text")
}

// textOr is like text, but null, undefined and false are empty.
func (c *call) textOr() (s string, isMarked bool, err error) {
	if absent(c.value) || c.value == false {
		return "", false, nil
	}
	return c.text()
}

// marking returns a text, marked if the value was.
func marking(s string, isMarked bool) any {
	if isMarked {
		return marked(s)
	}
	return s
}

// count returns an argument as a number, or without if it counts as false. It is at most
// what a template may make.
func (c *call) count(i int, without float64) (float64, error) {
	v := c.arg(i)
	if !truthy(v) {
		return without, nil
	}
	n := number(v)
	if n > maxMade {
		return 0, tooMuch(c.x.source, c.at, "bytes of texts and lists", maxMade)
	}
	return n, nil
}

// times returns how often a loop to n passes.
func times(n float64) int {
	if math.IsNaN(n) || n <= 0 {
		return 0
	}
	return int(math.Ceil(n))
}

func (c *call) wrong(want string) error {
	return mistakeAt(c.x.source, c.at, c.name+" takes "+want, "correct the argument, or give the variable a value that it takes")
}

// list returns the value, which must be a list.
func (c *call) list() ([]any, error) {
	list, isList := c.value.([]any)
	if !isList {
		return nil, c.wrong("a list")
	}
	return list, c.x.make(c.at, len(list))
}

// items returns the items of a list or the characters of a text. Anything else has none.
func (c *call) items() ([]any, error) {
	switch v := c.value.(type) {
	case []any:
		return v, c.x.make(c.at, len(v))
	case string:
		return c.x.letters(c.at, v)
	case marked:
		return c.x.letters(c.at, string(v))
	}
	return newList(0), nil
}

// some is like items for a value that is neither null nor undefined.
func (c *call) some() ([]any, error) {
	if absent(c.value) {
		return nil, c.wrong("a list or a text")
	}
	return c.items()
}

// A function computes the value of a call.
type function func(*call) (any, error)

// filter reads the name of a filter and its arguments.
func (r *reader) filter(value expr) (expr, error) {
	name := r.take()
	if name.kind != 'a' {
		return nil, r.unexpected(name, "the name of a filter")
	}
	f := filters[name.text]
	if own := r.own[name.text]; own != nil {
		f = ofDefinition(name.text, own)
	}
	if f == nil {
		return nil, unknown(r, name, "filter", filters)
	}
	given, err := r.given()
	if t := r.peek(); err == nil && t.kind == '+' && slices.Contains(postfixOperator, t.text) {
		err = r.unexpected(t, "the end of the filter")
	}
	return calling(name, f, value, given), err
}

// given reads the arguments in parentheses, if there are some.
func (r *reader) given() (arguments, error) {
	if _, ok := r.accept("("); ok {
		return r.arguments()
	}
	return arguments{}, nil
}

// ofDefinition returns a definition's own filter.
func ofDefinition(name string, own Filter) function {
	return func(c *call) (any, error) {
		var args []json.RawMessage
		for _, v := range append([]any{c.value}, c.args...) {
			s, err := c.x.json(c.at, v, "")
			if err != nil {
				return nil, err
			}
			args = append(args, json.RawMessage(s))
		}
		out, err := own(args)
		if need, ok := errors.AsType[*NeedError](err); ok {
			return nil, need
		}
		if err != nil {
			return nil, mistakeAt(c.x.source, c.at, "the filter "+name+" gives nothing: "+err.Error(), "correct its function")
		}
		return decode(out), c.x.make(c.at, len(out))
	}
}

// calling computes the value and the arguments of a call, then its result.
func calling(name token, f function, value expr, given arguments) expr {
	return func(x *execution) (any, error) {
		if err := x.step(name.at); err != nil {
			return nil, err
		}
		c := &call{x: x, at: name.at, name: name.text}
		var err error
		if c.value, err = value(x); err != nil {
			return nil, err
		}
		if all, ok := c.value.(Variables); ok {
			c.value = allOf(all)
		}
		if c.args, err = x.all(given.args); err != nil {
			return nil, err
		}
		if len(given.names) > 0 {
			named, err := x.all(given.named)
			if err != nil {
				return nil, err
			}
			o := newObject()
			for i, key := range given.names {
				o.Set(key, named[i])
			}
			o.Set(keywords, true)
			c.args = append(c.args, o)
		}
		out, err := f(c)
		switch s := out.(type) {
		case string:
			err = cmp.Or(err, x.make(name.at, len(s)))
		case marked:
			err = cmp.Or(err, x.make(name.at, len(s)))
		}
		return out, err
	}
}

// unread are unsupported filters, tests and functions of Nunjucks, with the repair.
var unread = map[string]string{
	"random": "name one item; a case has to be the same on every run",
	"cycler": "write loop.index % 2",
	"joiner": "write the filter join",
}

// meant are what other engines have, with the name in Nunjucks.
var meant = map[string]string{
	"tojson": "write dump",
	"regex":  "write the filter replace with a text",
	"unique": "write a list without repetitions",
	"map":    "write a {% for %} loop",
	"super":  "write the text here",
}

func unknown(r *reader, name token, kind string, known map[string]function) error {
	names := slices.Sorted(maps.Keys(known))
	hint := "write the text without it"
	if kind == "filter" {
		names = slices.AppendSeq(names, maps.Keys(r.own))
		hint = "write the text without it, or name a file with the filter under `nunjucksFilters`"
	}
	if near := suggest.Nearest(name.text, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	if h := meant[name.text]; h != "" {
		hint = h
	}
	message := "the " + kind + " " + name.text + " is not known"
	if h := unread[name.text]; h != "" {
		return errorAt(r.source, name.at, message, h)
	}
	return mistakeAt(r.source, name.at, message, hint)
}

// test reads the part after is and not: a name and arguments.
func (r *reader) test(value expr) (expr, error) {
	name := r.take()
	f := tests[name.text]
	if f == nil {
		return nil, unknown(r, name, "test", tests)
	}
	given, err := r.given()
	return calling(name, f, value, given), err
}

// call reads the arguments of a function.
func (r *reader) call(name token) (expr, error) {
	f := functions[name.text]
	if f == nil {
		return nil, unknown(r, name, "function", functions)
	}
	given, err := r.arguments()
	return calling(name, f, constant(undefined{}), given), err
}

// functions are the functions that are not methods.
var functions = map[string]function{"range": numbers}

// numbers returns the numbers from a start to before an end.
func numbers(c *call) (any, error) {
	from, to, by := c.arg(0), number(c.arg(1)), number(c.arg(2))
	if _, none := c.arg(1).(undefined); none {
		from, to, by = 0.0, number(from), 1
	} else if !truthy(c.arg(2)) {
		by = 1
	}
	start := number(from)
	n := math.Ceil((to - start) / by)
	switch {
	case math.IsNaN(n) || n <= 0:
		return newList(0), nil
	case isString(from):
		return nil, c.wrong("numbers")
	case n > maxSteps:
		return nil, tooMuch(c.x.source, c.at, "numbers of range", maxSteps)
	}
	list := newList(int(n))
	for i := range int(n) {
		list = append(list, start+float64(i)*by)
	}
	return list, c.x.make(c.at, len(list)*16)
}
