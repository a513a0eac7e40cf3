package template

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// filters are the Nunjucks filters that need neither randomness nor code.
var filters = map[string]function{
	// For texts.
	"upper": textFilter(strings.ToUpper), "lower": textFilter(strings.ToLower), "trim": textFilter(strings.TrimSpace),
	"capitalize": textFilter(capitalize), "title": textFilter(titleCase), "escape": textFilter(escapeHTML), "e": textFilter(escapeHTML), "forceescape": textFilter(escapeHTML),
	"string": textFilter(same), "safe": textFilter(same), "nl2br": textFilter(htmlBreaks), "urlencode": urlencode,
	"replace": replace, "truncate": truncate, "indent": indent, "center": center, "striptags": striptags, "wordcount": wordcount,
	// For numbers.
	"abs":   func(c *call) (any, error) { return math.Abs(number(c.value)), nil },
	"round": round, "int": toInt, "float": toFloat,
	// For lists and objects.
	"length": func(c *call) (any, error) { return float64(length(c.value)), nil },
	"first":  func(c *call) (any, error) { return item(c, func(int) int { return 0 }) },
	"last":   func(c *call) (any, error) { return item(c, func(n int) int { return n - 1 }) },
	"join":   join, "reverse": reverse, "sort": sorted, "list": toList, "sum": sum, "batch": batch, "slice": sliced,
	"select": filtered(tested, true), "reject": filtered(tested, false),
	"selectattr": filtered(hasField, true), "rejectattr": filtered(hasField, false),
	"groupby": groupBy, "dictsort": dictSort,
	// For anything.
	"default": otherwise, "d": otherwise, "dump": dump,
}

// textFilter returns a filter that maps a text to a text.
func textFilter(f func(string) string) function {
	return func(c *call) (any, error) {
		s, err := c.text()
		if err != nil {
			return nil, err
		}
		return f(s), nil
	}
}

func same(s string) string { return s }

func urlencode(c *call) (any, error) {
	o, isObject := c.value.(*Object)
	if !isObject {
		return textFilter(encodeComponent)(c)
	}
	var parts []string
	for _, key := range o.Keys {
		s, err := c.x.text(c.at, o.Values[key])
		if err != nil {
			return nil, err
		}
		parts = append(parts, encodeComponent(key)+"="+encodeComponent(s))
	}
	return strings.Join(parts, "&"), nil
}

func replace(c *call) (any, error) {
	s, old, err := c.pair()
	if err != nil {
		return nil, err
	}
	by, err := c.argText(1, "")
	if err != nil {
		return nil, err
	}
	most, err := c.count(2, maxMade)
	if err != nil {
		return nil, err
	}
	n := min(most, strings.Count(s, old))
	if err := c.x.make(c.at, n*(len(by)+1)); err != nil || n*(len(by)+1) < n {
		return nil, err
	}
	return strings.Replace(s, old, by, n), nil
}

func truncate(c *call) (any, error) {
	s, err := c.text()
	if err != nil {
		return nil, err
	}
	most, err := c.count(0, 255)
	if err != nil {
		return nil, err
	}
	end, err := c.argText(2, "...")
	if err != nil {
		return nil, err
	}
	if !truthy(c.option(1, "killwords")) {
		return truncateText(s, most, end), nil
	}
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + end
	}
	return s, nil
}

func indent(c *call) (any, error) {
	s, err := c.text()
	if err != nil {
		return nil, err
	}
	width, err := c.count(0, 4)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(s, "\n")
	if err := c.x.make(c.at, width*len(lines)); err != nil {
		return nil, err
	}
	for i := range lines {
		if i > 0 || truthy(c.option(1, "indentfirst")) {
			lines[i] = strings.Repeat(" ", width) + lines[i]
		}
	}
	return strings.Join(lines, "\n"), nil
}

func center(c *call) (any, error) {
	s, err := c.text()
	if err != nil {
		return nil, err
	}
	width, err := c.count(0, 80)
	missing := width - utf8.RuneCountInString(s)
	if err != nil || missing <= 0 {
		return s, err
	}
	return strings.Repeat(" ", max(0, missing/2-missing%2)) + s + strings.Repeat(" ", missing/2), nil
}

var wordToken = lazyregexp.New(`\w+`)

func striptags(c *call) (any, error) {
	s, err := c.text()
	if s = stripTags(s); !truthy(c.arg(0)) {
		s = oneSpace(s)
	}
	return s, err
}

func wordcount(c *call) (any, error) {
	s, err := c.text()
	return float64(len(wordToken.FindAllStringIndex(s, -1))), err
}

func round(c *call) (any, error) {
	digits, err := c.count(0, 0)
	if err != nil {
		return nil, err
	}
	factor := math.Pow(10, float64(digits))
	n := number(c.value) * factor
	switch c.arg(1) {
	case "ceil":
		n = math.Ceil(n)
	case "floor":
		n = math.Floor(n)
	default:
		n = math.Floor(n + 0.5)
	}
	return n / factor, nil
}

var (
	integer  = lazyregexp.New(`^\s*[+-]?\d+`)
	fraction = lazyregexp.New(`^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`)
)

func toInt(c *call) (any, error) { return parsedNumber(c, integer) }

func toFloat(c *call) (any, error) { return parsedNumber(c, fraction) }

// parsedNumber returns the number at the start of a text, or the default without one.
func parsedNumber(c *call, form *lazyregexp.Regexp) (any, error) {
	s, err := c.text()
	if err != nil {
		return nil, err
	}
	f, wrong := strconv.ParseFloat(strings.TrimSpace(form.FindString(s)), 64)
	switch {
	case wrong == nil:
		return f, nil
	case len(c.args) > 0:
		return c.arg(0), nil
	case form == integer:
		return 0.0, nil
	}
	return math.NaN(), nil
}

// item returns one of a list's items, or a text's characters.
func item(c *call, which func(n int) int) (any, error) {
	list, err := c.list()
	if err != nil || len(list) == 0 {
		return undefined{}, err
	}
	return list[which(len(list))], nil
}

// attribute returns a field of a value by a name that may have dots.
func attribute(value any, name string) any {
	for part := range strings.SplitSeq(name, ".") {
		o, isObject := value.(*Object)
		if !isObject {
			return undefined{}
		}
		v, has := o.Values[part]
		if !has {
			return undefined{}
		}
		value = v
	}
	return value
}

func join(c *call) (any, error) {
	list, err := c.list()
	if err != nil {
		return nil, err
	}
	by, err := c.argText(0, "")
	if err != nil {
		return nil, err
	}
	name, err := c.argText(1, "")
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for i, v := range list {
		if name != "" {
			v = attribute(v, name)
		}
		s, err := c.x.text(c.at, v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString(by)
		}
		if out.WriteString(s); out.Len() > maxFilled {
			return nil, tooMuch(c.x.source, c.at, "bytes", maxFilled)
		}
	}
	return out.String(), nil
}

func reverse(c *call) (any, error) {
	list, err := c.list()
	list = slices.Clone(list)
	slices.Reverse(list)
	if _, isText := c.value.(string); !isText || err != nil {
		return list, err
	}
	c.value, c.args = list, nil
	return join(c)
}

func sorted(c *call) (any, error) {
	list, err := c.list()
	if err != nil {
		return nil, err
	}
	name := ""
	if by := c.option(2, "attribute"); !absent(by) {
		if name, err = c.x.text(c.at, by); err != nil {
			return nil, err
		}
	}
	keyed := func(v any) any {
		if name != "" {
			v = attribute(v, name)
		}
		if s, isText := v.(string); isText && !truthy(c.option(1, "case_sensitive")) {
			return strings.ToLower(s)
		}
		return v
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		a, b = keyed(a), keyed(b)
		if truthy(c.option(0, "reverse")) {
			a, b = b, a
		}
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	})
	return list, c.x.make(c.at, len(list)*8)
}

func toList(c *call) (any, error) {
	o, isObject := c.value.(*Object)
	if !isObject {
		list, err := c.list()
		return list, err
	}
	list := []any{}
	for _, key := range o.Keys {
		pair := newObject()
		pair.Set("key", key)
		pair.Set("value", o.Values[key])
		list = append(list, pair)
	}
	return list, c.x.make(c.at, len(list))
}

func sum(c *call) (any, error) {
	list, err := c.list()
	if err != nil {
		return nil, err
	}
	name, err := c.argText(0, "")
	total := 0.0
	if len(c.args) > 1 {
		total = number(c.arg(1))
	}
	for _, v := range list {
		if name != "" {
			v = attribute(v, name)
		}
		total += number(v)
	}
	return total, err
}

// batch divides a list into lists of a length; the last is filled up with the second
// argument.
func batch(c *call) (any, error) {
	list, err := c.list()
	if err != nil {
		return nil, err
	}
	n, err := c.count(0, 1)
	if err != nil || n == 0 {
		return nil, c.wrong("a number above 0")
	}
	out := []any{}
	for part := range slices.Chunk(list, n) {
		part = slices.Clone(part)
		if missing := n - len(part); missing > 0 && truthy(c.arg(1)) {
			if err := c.x.make(c.at, missing); err != nil {
				return nil, err
			}
			part = append(part, slices.Repeat([]any{c.arg(1)}, missing)...)
		}
		out = append(out, part)
	}
	return out, nil
}

// sliced divides a list into a number of lists.
func sliced(c *call) (any, error) {
	list, err := c.list()
	if err != nil {
		return nil, err
	}
	n, err := c.count(0, 1)
	if err != nil || n == 0 {
		return nil, c.wrong("a number above 0")
	}
	if err := c.x.make(c.at, n*16); err != nil {
		return nil, err
	}
	size, more := len(list)/n, len(list)%n
	out, at := []any{}, 0
	for i := range n {
		end := at + size
		if i < more {
			end++
		}
		part := slices.Clone(list[at:end])
		if i >= more && truthy(c.arg(1)) {
			part = append(part, c.arg(1))
		}
		out, at = append(out, part), end
	}
	return out, nil
}

// filtered returns a filter that keeps list items by the result of a test.
func filtered(test func(c *call, item any) (bool, error), kept bool) function {
	return func(c *call) (any, error) {
		list, err := c.list()
		out := []any{}
		for _, v := range list {
			holds, wrong := test(c, v)
			if wrong != nil {
				return nil, wrong
			}
			if holds == kept {
				out = append(out, v)
			}
		}
		return out, err
	}
}

// tested holds the test that the first argument names against an item.
func tested(c *call, item any) (bool, error) {
	name, err := c.argText(0, "truthy")
	f := tests[name]
	if err != nil || f == nil {
		return false, c.wrong("the name of a test")
	}
	inner := &call{x: c.x, at: c.at, value: item}
	if len(c.args) > 1 {
		inner.args = c.args[1:]
	}
	v, err := f(inner)
	return truthy(v), err
}

func hasField(c *call, item any) (bool, error) {
	name, err := c.argText(0, "")
	return truthy(attribute(item, name)), err
}

func groupBy(c *call) (any, error) {
	list, err := c.list()
	if err != nil {
		return nil, err
	}
	name, err := c.argText(0, "")
	if err != nil {
		return nil, err
	}
	out := newObject()
	for _, v := range list {
		key, err := c.x.text(c.at, attribute(v, name))
		if err != nil {
			return nil, err
		}
		group, _ := out.Values[key].([]any)
		out.Set(key, append(group, v))
	}
	return out, nil
}

// dictSort returns the fields of an object as pairs, sorted by name or value.
func dictSort(c *call) (any, error) {
	o, isObject := c.value.(*Object)
	if !isObject {
		return nil, c.wrong("an object")
	}
	pairs := []any{}
	for _, key := range o.Keys {
		pairs = append(pairs, []any{key, o.Values[key]})
	}
	which := 0
	if c.option(1, "by") == "value" {
		which = 1
	}
	keyed := func(v any) any {
		pair, _ := v.([]any) // made above
		if s, isText := pair[which].(string); isText && !truthy(c.option(0, "case_sensitive")) {
			return strings.ToUpper(s)
		}
		return pair[which]
	}
	slices.SortStableFunc(pairs, func(a, b any) int {
		switch x, y := keyed(a), keyed(b); {
		case less(x, y):
			return -1
		case less(y, x):
			return 1
		}
		return 0
	})
	return pairs, c.x.make(c.at, len(pairs)*8)
}

// otherwise returns the value, or the argument if it is undefined; with true as the
// second argument also if it is falsy.
func otherwise(c *call) (any, error) {
	_, none := c.value.(undefined)
	if none || truthy(c.option(1, "boolean")) && !truthy(c.value) {
		return c.arg(0), nil
	}
	return c.value, nil
}

func dump(c *call) (any, error) {
	if _, none := c.value.(undefined); none {
		return undefined{}, nil
	}
	indent := ""
	if s, isText := c.arg(0).(string); isText {
		indent = s[:min(len(s), 10)]
	} else if n, err := c.count(0, 0); err == nil {
		indent = strings.Repeat(" ", min(n, 10))
	}
	return c.x.json(c.at, c.value, indent)
}
