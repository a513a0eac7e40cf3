package template

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// kind names the methods that a value has: a text's, a list's, a number's or, empty, any
// object's.
func kind(v any) string {
	switch v.(type) {
	case string, marked:
		return "text"
	case []any:
		return "list"
	case float64, bool:
		return "number"
	}
	if isNumber(v) {
		return "number"
	}
	return ""
}

// members are the functions that JavaScript's values have, by kind. The functions of any
// object are under the empty one.
var members = map[string]map[string]bool{
	"":       set("constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf __proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__"),
	"text":   set("at charAt charCodeAt codePointAt concat endsWith includes indexOf isWellFormed lastIndexOf localeCompare match matchAll normalize padEnd padStart repeat replace replaceAll search slice split startsWith substr substring toLocaleLowerCase toLocaleUpperCase toLowerCase toUpperCase toWellFormed trim trimEnd trimStart trimLeft trimRight anchor big blink bold fixed fontcolor fontsize italics link small strike sub sup"),
	"list":   set("at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes indexOf join keys lastIndexOf map pop push reduce reduceRight reverse shift slice some sort splice toReversed toSorted toSpliced unshift values with"),
	"number": set("toExponential toFixed toPrecision"),
}

func set(names string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

// method reads a call of a method.
func (r *reader) method(name token, of expr, given arguments) (expr, error) {
	known := false
	for _, names := range members {
		known = known || names[name.text]
	}
	if !known {
		return nil, unknown(r, name, "method", methods["text"])
	}
	return calling(name, invoke, of, given), nil
}

// invoke calls the method of a value.
func invoke(c *call) (any, error) {
	of := kind(c.value)
	f := methods[of][c.name]
	if f == nil {
		f = methods[""][c.name]
	}
	switch {
	case absent(c.value):
		return nil, c.wrong("a value that is there")
	case f != nil:
		return f(c)
	case members[""][c.name] || members[of][c.name]:
		can := slices.Sorted(maps.Keys(methods[of]))
		return nil, errorAt(c.x.source, c.at, "the method "+c.name+" is not read", "write the text without it, or one of "+strings.Join(can, ", "))
	}
	return nil, mistakeAt(c.x.source, c.at, "the value has no method "+c.name, "give the variable a value that has it")
}

// methods are JavaScript's methods that templates call, by kind; methods of any value are
// under the empty one. None changes its value.
var methods = map[string]map[string]function{
	"": {"toString": func(c *call) (any, error) {
		if _, isObject := c.value.(*Object); isObject || len(c.args) > 0 {
			return nil, errorAt(c.x.source, c.at, "toString of an object or with an argument is not read", "write the filter dump, or the text")
		}
		s, err := c.string(c.value)
		return s, err
	}, "hasOwnProperty": func(c *call) (any, error) {
		s, err := c.string(c.arg(0))
		o, _ := c.value.(*Object)
		if o == nil {
			return nil, errorAt(c.x.source, c.at, "hasOwnProperty is read for objects only", "write the operator in")
		}
		_, has := o.Values[s]
		return has, err
	}},
	"text": {
		"toUpperCase": plain(upperCase), "toLowerCase": plain(lowerCase),
		"trim":      plain(func(s string) string { return strings.TrimFunc(s, isSpace) }),
		"trimStart": plain(func(s string) string { return strings.TrimLeftFunc(s, isSpace) }),
		"trimEnd":   plain(func(s string) string { return strings.TrimRightFunc(s, isSpace) }),
		"includes":  about(containsText), "startsWith": about(strings.HasPrefix), "endsWith": about(strings.HasSuffix),
		"indexOf": place(strings.Index), "lastIndexOf": place(strings.LastIndex),
		"slice": part(relative), "substring": part(absolute), "charAt": character, "at": itemAt, "concat": concatText, "repeat": repeat, "split": splitText,
		"padStart": pad(true), "padEnd": pad(false), "replace": substitute(1), "replaceAll": substitute(-1),
	},
	"list": {
		"join": joinList, "includes": listHas, "indexOf": listIndex, "slice": sliceList, "concat": concatList, "at": itemAt,
	},
	"number": {"toFixed": toFixed},
}

func containsText(s, part string) bool { return strings.Contains(s, part) }

// own returns the text of the value.
func (c *call) own() string {
	s, _, _ := c.text() // by its kind
	return s
}

func plain(f func(string) string) function {
	return func(c *call) (any, error) { return f(c.own()), nil }
}

// about returns a method that asks about another text.
func about(f func(s, part string) bool) function {
	return func(c *call) (any, error) {
		if len(c.args) > 1 {
			return nil, c.second()
		}
		part, err := c.string(c.arg(0))
		return f(c.own(), part), err
	}
}

// second is the error of a second argument, which few methods read.
func (c *call) second() error {
	return errorAt(c.x.source, c.at, c.name+" with a second argument is not read", "write it without one")
}

// place returns a method that says where another text is.
func place(f func(s, part string) int) function {
	return func(c *call) (any, error) {
		if len(c.args) > 1 {
			return nil, c.second()
		}
		part, err := c.string(c.arg(0))
		at := f(c.own(), part)
		if at >= 0 {
			at = length(c.own()[:at])
		}
		return float64(at), err
	}
}

// whole returns an argument as a whole number; undefined is without.
func (c *call) whole(i int, without float64) float64 {
	if isUndefined(c.arg(i)) {
		return without
	}
	n := number(c.arg(i))
	if math.IsNaN(n) {
		return 0
	}
	return math.Trunc(n)
}

// relative returns the bounds of a part, of which negative ones count from the end.
func relative(from, to float64, n int) (start, end int) {
	clamp := func(at float64) int {
		if at < 0 {
			at += float64(n)
		}
		return int(min(max(at, 0), float64(n)))
	}
	return clamp(from), clamp(to)
}

// absolute returns the bounds of a part in any order.
func absolute(from, to float64, n int) (start, end int) {
	clamp := func(at float64) int { return int(min(max(at, 0), float64(n))) }
	return min(clamp(from), clamp(to)), max(clamp(from), clamp(to))
}

// part returns a method that returns a part of a text.
func part(bounds func(from, to float64, n int) (start, end int)) function {
	return func(c *call) (any, error) {
		u := units(c.own())
		start, end := bounds(c.whole(0, 0), c.whole(1, float64(len(u))), len(u))
		return ofUnits(u[start:max(start, end)]), nil
	}
}

func character(c *call) (any, error) {
	u, at := units(c.own()), c.whole(0, 0)
	if at < 0 || at >= float64(len(u)) {
		return "", nil
	}
	return ofUnits(u[int(at) : int(at)+1]), nil
}

func itemAt(c *call) (any, error) {
	items, err := c.items()
	at := c.whole(0, 0)
	if at < 0 {
		at += float64(len(items))
	}
	if at < 0 || at >= float64(len(items)) {
		return undefined{}, err
	}
	return items[int(at)], err
}

func concatText(c *call) (any, error) {
	s := c.own()
	for _, v := range c.args {
		more, err := c.string(v)
		if err != nil {
			return nil, err
		}
		if err := c.x.make(c.at, len(s)+len(more)); err != nil {
			return nil, err
		}
		s += more
	}
	return s, nil
}

func repeat(c *call) (any, error) {
	n := c.whole(0, 0)
	if n < 0 || math.IsInf(n, 0) {
		return nil, c.wrong("a number of times")
	}
	size := n * float64(len(c.own()))
	if size > maxMade {
		return nil, tooMuch(c.x.source, c.at, "bytes of texts and lists", maxMade)
	}
	if size == 0 {
		return "", nil
	}
	if err := c.x.make(c.at, int(size)); err != nil {
		return nil, err
	}
	return strings.Repeat(c.own(), int(n)), nil
}

func splitText(c *call) (any, error) {
	if len(c.args) > 1 {
		return nil, c.second()
	}
	s := c.own()
	if isUndefined(c.arg(0)) {
		return append(newList(1), s), nil
	}
	by, err := c.string(c.arg(0))
	if err != nil {
		return nil, err
	}
	if by == "" {
		return c.x.letters(c.at, s)
	}
	list := newList(1)
	for piece := range strings.SplitSeq(s, by) {
		list = append(list, piece)
	}
	return list, c.x.make(c.at, len(list)*16)
}

// pad returns a method that fills a text up to a length.
func pad(before bool) function {
	return func(c *call) (any, error) {
		s, by := c.own(), " "
		if !isUndefined(c.arg(1)) {
			var err error
			if by, err = c.string(c.arg(1)); err != nil {
				return nil, err
			}
		}
		missing := c.whole(0, 0) - float64(length(s))
		if missing <= 0 || by == "" {
			return s, nil
		}
		if missing > maxMade {
			return nil, tooMuch(c.x.source, c.at, "bytes of texts and lists", maxMade)
		}
		if err := c.x.make(c.at, int(missing)); err != nil {
			return nil, err
		}
		u := units(by)
		for len(u) < int(missing) {
			u = append(u, u...)
		}
		fill := ofUnits(u[:int(missing)])
		if before {
			return fill + s, nil
		}
		return s + fill, nil
	}
}

// substitute returns a method that replaces a text by another.
func substitute(n int) function {
	return func(c *call) (any, error) {
		old, err := c.string(c.arg(0))
		if err != nil {
			return nil, err
		}
		by, err := c.string(c.arg(1))
		if err != nil {
			return nil, err
		}
		if strings.Contains(by, "$") {
			return nil, errorAt(c.x.source, c.at, "a replacement with $ is not read", "write the filter replace")
		}
		s := c.own()
		if err := c.x.make(c.at, (strings.Count(s, old)+1)*(len(by)+1)); err != nil {
			return nil, err
		}
		return strings.Replace(s, old, by, n), nil
	}
}

// its returns the list of the value.
func (c *call) its() []any {
	list, _ := c.value.([]any) // by its kind
	return list
}

func joinList(c *call) (any, error) {
	by := ","
	if !isUndefined(c.arg(0)) {
		var err error
		if by, err = c.string(c.arg(0)); err != nil {
			return nil, err
		}
	}
	return c.x.insert(c.at, c.its(), by)
}

func listHas(c *call) (any, error) {
	return slices.ContainsFunc(c.its(), func(v any) bool { return strictEqual(v, c.arg(0)) }), nil
}

func listIndex(c *call) (any, error) {
	return float64(slices.IndexFunc(c.its(), func(v any) bool { return strictEqual(v, c.arg(0)) })), nil
}

func sliceList(c *call) (any, error) {
	list := c.its()
	start, end := relative(c.whole(0, 0), c.whole(1, float64(len(list))), len(list))
	out := append(newList(1), list[start:max(start, end)]...)
	return out, c.x.make(c.at, len(out))
}

func concatList(c *call) (any, error) {
	out := append(newList(1), c.its()...)
	for _, v := range c.args {
		if list, isList := v.([]any); isList {
			out = append(out, list...)
		} else {
			out = append(out, v)
		}
	}
	return out, c.x.make(c.at, len(out))
}

// toFixed rounds halves away from zero, by the exact value.
func toFixed(c *call) (any, error) {
	n, digits := number(c.value), c.whole(0, 0)
	if isBool(c.value) {
		return nil, c.wrong("a number")
	}
	if digits < 0 || digits > 100 {
		return nil, c.wrong("0 to 100 digits")
	}
	exact := new(big.Rat)
	if math.Abs(n) >= 1e21 || exact.SetFloat64(n) == nil {
		return written(n), nil
	}
	return exact.FloatString(int(digits)), nil
}
