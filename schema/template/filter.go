package template

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema/suggest"
)

// A call is a filter, a test, a function or a method with its arguments.
type call struct {
	x     *execution
	at    int
	value any
	args  []any
	named map[string]any
}

// text returns the value as text.
func (c *call) text() (string, error) { return c.x.text(c.at, c.value) }

// arg returns an argument; undefined if it is missing.
func (c *call) arg(i int) any {
	if i < len(c.args) {
		return c.args[i]
	}
	return undefined{}
}

// option returns an argument by name or position.
func (c *call) option(i int, name string) any {
	if v, given := c.named[name]; given {
		return v
	}
	return c.arg(i)
}

// argText returns an argument as text, or without if it is missing.
func (c *call) argText(i int, without string) (string, error) {
	if absent(c.arg(i)) {
		return without, nil
	}
	return c.x.text(c.at, c.arg(i))
}

// count returns an argument as a number that is not negative, or without if it is
// missing.
func (c *call) count(i, without int) (int, error) {
	if absent(c.arg(i)) {
		return without, nil
	}
	n := number(c.arg(i))
	if math.IsNaN(n) || n < 0 || n > maxMade {
		return 0, c.wrong("a number from 0 to " + strconv.Itoa(maxMade) + " as an argument")
	}
	return int(n), nil
}

func (c *call) wrong(want string) error {
	return errorAt(c.x.source, c.at, "this filter or function takes "+want, "correct the argument, or give the variable a value that it takes")
}

// list returns the items of a list, or the characters of a text.
func (c *call) list() ([]any, error) {
	switch v := c.value.(type) {
	case []any:
		return v, c.x.make(c.at, len(v))
	case string:
		items := []any{}
		for _, r := range v {
			items = append(items, string(r))
		}
		return items, c.x.make(c.at, len(v))
	case nil, undefined:
		return []any{}, nil
	}
	return nil, c.wrong("a list")
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
	var given arguments
	if _, ok := r.accept("("); ok {
		var err error
		if given, err = r.arguments(); err != nil {
			return nil, err
		}
	}
	return called(name.at, f, value, given), nil
}

// ofDefinition returns a definition's own filter. Arguments by name are an object after
// the others.
func ofDefinition(name string, own Filter) function {
	return func(c *call) (any, error) {
		given := append([]any{c.value}, c.args...)
		if len(c.named) > 0 {
			o := newObject()
			for _, key := range slices.Sorted(maps.Keys(c.named)) {
				o.Set(key, c.named[key])
			}
			given = append(given, o)
		}
		var args []json.RawMessage
		for _, v := range given {
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

// called computes the value and the arguments of a call, then its result.
func called(at int, f function, value expr, given arguments) expr {
	return func(x *execution) (any, error) {
		if err := x.step(at); err != nil {
			return nil, err
		}
		c := &call{x: x, at: at, named: map[string]any{}}
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
		for name, arg := range given.named {
			if c.named[name], err = arg(x); err != nil {
				return nil, err
			}
		}
		out, err := f(c)
		if s, ok := out.(string); ok && err == nil {
			err = x.make(at, len(s))
		}
		return out, err
	}
}

// unread are unsupported filters and functions of Nunjucks, with the repair.
var unread = map[string]string{
	"random":   "name one item; a case has to be the same on every run",
	"urlize":   "write the link",
	"tojson":   "write dump",
	"cycler":   "write loop.index % 2",
	"joiner":   "write the filter join",
	"super":    "write the text here",
	"regex":    "write the filter replace with a text",
	"unique":   "write a list without repetitions",
	"map":      "write a {% for %} loop",
	"groupBy":  "write groupby",
	"callable": "remove it; variables are never functions",
	"escaped":  "remove it",
	"load":     "name the file as a variable: file://…",
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
	if h := unread[name.text]; h != "" {
		hint = h
	} else if kind == "filter" || kind == "test" {
		return mistakeAt(r.source, name.at, "the "+kind+" "+name.text+" is not known", hint)
	}
	return errorAt(r.source, name.at, "the "+kind+" "+name.text+" is not known", hint)
}

// test reads the part after is: not, a name and arguments.
func (r *reader) test(value expr) (expr, error) {
	_, not := r.accept("not")
	name := r.take()
	f := tests[name.text]
	if f == nil {
		return nil, unknown(r, name, "test", tests)
	}
	var given arguments
	if _, ok := r.accept("("); ok {
		var err error
		if given, err = r.arguments(); err != nil {
			return nil, err
		}
	}
	holds := called(name.at, f, value, given)
	return func(x *execution) (any, error) {
		v, err := holds(x)
		return truthy(v) != not, err
	}, nil
}

// call reads the arguments of a function.
func (r *reader) call(name token) (expr, error) {
	f := functions[name.text]
	if f == nil {
		return nil, unknown(r, name, "function", functions)
	}
	given, err := r.arguments()
	return called(name.at, f, constant(undefined{}), given), err
}

// functions are the functions that are not methods.
var functions = map[string]function{"range": numbers}

// numbers returns the numbers from a start to before an end.
func numbers(c *call) (any, error) {
	from, to, by := 0.0, number(c.arg(0)), 1.0
	if len(c.args) > 1 {
		from, to = to, number(c.arg(1))
	}
	if len(c.args) > 2 {
		by = number(c.arg(2))
	}
	n := math.Ceil((to - from) / by)
	if math.IsNaN(n) || math.IsInf(n, 0) || by == 0 {
		return nil, c.wrong("numbers")
	}
	if n > maxSteps {
		return nil, tooMuch(c.x.source, c.at, "numbers of range", maxSteps)
	}
	list := []any{}
	for i := range int(max(n, 0)) {
		list = append(list, from+float64(i)*by)
	}
	return list, c.x.make(c.at, len(list)*16)
}

// method reads a call of a method of a text or a list.
func (r *reader) method(name token, of expr, given arguments) (expr, error) {
	f := methods[name.text]
	if f == nil {
		return nil, unknown(r, name, "method", methods)
	}
	return called(name.at, f, of, given), nil
}

// methods are JavaScript methods that templates call.
var methods = map[string]function{
	"toUpperCase": filters["upper"], "toLowerCase": filters["lower"], "trim": filters["trim"], "toString": filters["string"],
	"join": func(c *call) (any, error) {
		if len(c.args) == 0 {
			c.args = []any{","}
		}
		return join(c)
	},
	"split": func(c *call) (any, error) {
		s, err := c.text()
		if err != nil {
			return nil, err
		}
		by, err := c.argText(0, "")
		list := []any{}
		for part := range strings.SplitSeq(s, by) {
			list = append(list, part)
		}
		if err != nil {
			return nil, err
		}
		return list, c.x.make(c.at, len(list)*16)
	},
	"includes": func(c *call) (any, error) { return contains(c.x, c.at, c.value, c.arg(0)) },
	"startsWith": func(c *call) (any, error) {
		s, part, err := c.pair()
		return strings.HasPrefix(s, part), err
	},
	"endsWith": func(c *call) (any, error) {
		s, part, err := c.pair()
		return strings.HasSuffix(s, part), err
	},
}

// pair returns the value and the first argument as texts.
func (c *call) pair() (string, string, error) {
	s, err := c.text()
	if err != nil {
		return "", "", err
	}
	part, err := c.argText(0, "")
	return s, part, err
}
