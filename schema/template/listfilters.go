package template

import (
	"math"
	"slices"
	"strings"
)

// size counts the characters, items or fields of a value.
func size(c *call) (any, error) {
	switch v := c.value.(type) {
	case *Object:
		return float64(len(v.Keys)), nil
	case nil, undefined:
		return 0.0, nil
	}
	if c.value == false {
		return 0.0, nil
	}
	return c.x.field(c.at, c.value, "length")
}

func first(c *call) (any, error) {
	if absent(c.value) {
		return nil, c.wrong("a list or a text")
	}
	return c.x.field(c.at, c.value, "0")
}

func last(c *call) (any, error) {
	items, err := c.some()
	if err != nil || len(items) == 0 {
		return undefined{}, err
	}
	return items[len(items)-1], nil
}

// fields returns a field of each item; none of them may be null.
func (c *call) fields(items []any, of any) ([]any, error) {
	name, err := c.string(of)
	if err != nil {
		return nil, err
	}
	values := newList(len(items))
	for _, item := range items {
		if absent(item) {
			return nil, c.wrong("a list without null")
		}
		v, err := c.x.field(c.at, item, name)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// listOf returns the list of the value or, with the name of a field, the field of each of
// its items.
func (c *call) listOf(name any) ([]any, error) {
	if !truthy(name) {
		return c.list()
	}
	items, err := c.items()
	if err != nil {
		return nil, err
	}
	return c.fields(items, name)
}

func join(c *call) (any, error) {
	list, err := c.listOf(c.arg(1))
	if err != nil {
		return nil, err
	}
	by := ""
	if truthy(c.arg(0)) {
		if by, err = c.string(c.arg(0)); err != nil {
			return nil, err
		}
	}
	return c.x.insert(c.at, list, by)
}

func reverse(c *call) (any, error) {
	items, err := c.items()
	if err != nil {
		return nil, err
	}
	items = append(newList(len(items)), items...)
	slices.Reverse(items)
	if !isString(c.value) {
		return items, nil
	}
	return c.x.insert(c.at, items, "")
}

// by returns the value of an item by which a list is sorted or grouped: its field, whose
// name may have dots, or the item itself.
func (c *call) by(item, name any) (any, error) {
	if !truthy(name) {
		return item, nil
	}
	s, err := c.string(name)
	if err != nil {
		return nil, err
	}
	parts := []string{s}
	if isString(name) {
		parts = strings.Split(s, ".")
	}
	for _, part := range parts {
		if absent(item) {
			return nil, c.wrong("a list without null")
		}
		o, isObject := item.(*Object)
		v, has := any(undefined{}), false
		if isObject {
			v, has = o.Values[part]
		} else if !members[""][part] && !members[kind(item)][part] {
			v, err = c.x.field(c.at, item, part)
			has = true
		}
		if !has || err != nil {
			return undefined{}, err
		}
		item = v
	}
	return item, nil
}

func sorted(c *call) (any, error) {
	c.byName("reverse", "case_sensitive", "attribute")
	items, err := c.items()
	if err != nil {
		return nil, err
	}
	backwards, exact := truthy(c.arg(0)), truthy(c.arg(1))
	var known, missing []any
	keys := map[int]any{}
	for _, item := range items {
		if isUndefined(item) {
			missing = append(missing, item)
			continue
		}
		key, err := c.by(item, c.arg(2))
		if err != nil && len(items) > 1 {
			return nil, err
		}
		keys[len(known)] = key
		known = append(known, item)
	}
	order, err := c.arrange(len(known), func(a, b int) (int, error) {
		x, y := keys[a], keys[b]
		if isString(x) && isString(y) && !exact {
			s, _ := x.(string) // by isString
			t, _ := y.(string)
			x, y = lowerCase(s), lowerCase(t)
		}
		way, err := c.compare(x, y)
		if backwards {
			way = -way
		}
		return way, err
	})
	out := newList(len(items))
	for _, i := range order {
		out = append(out, known[i])
	}
	return append(out, missing...), err
}

// compare returns -1 if a value comes before another, 1 if after it, else 0.
func (c *call) compare(a, b any) (int, error) {
	before, err := c.x.less(c.at, a, b)
	if err != nil || before {
		return -1, err
	}
	after, err := c.x.less(c.at, b, a)
	if after {
		return 1, err
	}
	return 0, err
}

// arrange returns the numbers of n items in order. It sorts by insertion, as JavaScript's
// engines do with few items, since values that cannot be compared show the difference.
// Many items are sorted by merging.
func (c *call) arrange(n int, compare func(a, b int) (int, error)) (order []int, wrong error) {
	for i := range n {
		order = append(order, i)
	}
	way := func(a, b int) int {
		if wrong == nil {
			wrong = c.x.step(c.at)
		}
		if wrong != nil {
			return 0
		}
		n, err := compare(a, b)
		wrong = err
		return n
	}
	if len(order) > 32 {
		slices.SortStableFunc(order, way)
		return order, wrong
	}
	for i := firstRun(order, way); i < len(order); i++ {
		item, low, high := order[i], 0, i
		for low < high {
			middle := (low + high) / 2
			if way(item, order[middle]) < 0 {
				high = middle
			} else {
				low = middle + 1
			}
		}
		copy(order[low+1:i+1], order[low:i])
		order[low] = item
	}
	return order, wrong
}

// firstRun returns how many items at the start are in order; those that fall are turned
// around.
func firstRun(order []int, way func(a, b int) int) int {
	if len(order) < 2 {
		return len(order)
	}
	falling, n := way(order[1], order[0]) < 0, 2
	for n < len(order) && (way(order[n], order[n-1]) < 0) == falling {
		n++
	}
	if falling {
		slices.Reverse(order[:n])
	}
	return n
}

func toList(c *call) (any, error) {
	var o *Object
	switch v := c.value.(type) {
	case string, []any:
		return c.items()
	case *Object:
		o = v
	case marked:
		o = newObject()
		o.Set("val", string(v))
		o.Set("length", float64(length(string(v))))
	default:
		return nil, c.wrong("a list, a text or an object")
	}
	list := newList(len(o.Keys))
	for _, key := range o.Keys {
		pair := newObject()
		pair.Set("key", key)
		pair.Set("value", o.Values[key])
		list = append(list, pair)
	}
	return list, c.x.make(c.at, len(list))
}

func sum(c *call) (any, error) {
	list, err := c.listOf(c.arg(0))
	if err != nil {
		return nil, err
	}
	total := any(0.0)
	for _, v := range list {
		if total, err = c.x.sum(c.at, total, v); err != nil {
			return nil, err
		}
	}
	if isUndefined(c.arg(1)) {
		return c.x.sum(c.at, 0.0, total)
	}
	return c.x.sum(c.at, c.arg(1), total)
}

// batch divides a list into lists of a length; the last is filled up with the second
// argument.
func batch(c *call) (any, error) {
	items, err := c.some()
	if err != nil {
		return nil, err
	}
	n := number(c.arg(0))
	out, part := newList(1), newList(1)
	for i, item := range items {
		if math.Mod(float64(i), n) == 0 && len(part) > 0 {
			out, part = append(out, part), newList(1)
		}
		part = append(part, item)
	}
	if len(part) == 0 {
		return out, nil
	}
	if fill := c.arg(1); truthy(fill) {
		missing := times(n - float64(len(part)))
		if err := c.x.make(c.at, missing); err != nil {
			return nil, err
		}
		part = append(part, slices.Repeat([]any{fill}, missing)...)
	}
	return append(out, part), nil
}

// sliced divides a list or a text into a number of parts.
func sliced(c *call) (any, error) {
	items, err := c.some()
	if err != nil {
		return nil, err
	}
	n := times(number(c.arg(0)))
	if err := c.x.make(c.at, min(n, maxMade)*16); err != nil {
		return nil, err
	}
	_, isList := c.value.([]any)
	isText := isString(c.value)
	if n > 0 && !isList && !isText {
		return nil, c.wrong("a list or a text")
	}
	out, at := newList(n), 0
	for i := range n {
		end := at + len(items)/n
		if i < len(items)%n {
			end++
		}
		part := append(newList(1), items[at:end]...)
		at = end
		fills := truthy(c.arg(1)) && i >= len(items)%n
		switch {
		case isText && fills:
			return nil, c.wrong("a list")
		case isText:
			s, err := c.x.insert(c.at, part, "")
			if err != nil {
				return nil, err
			}
			out = append(out, s)
			continue
		case fills:
			part = append(part, c.arg(1))
		}
		out = append(out, part)
	}
	return out, nil
}

// selected returns a filter that keeps list items by the result of a test.
func selected(wanted bool) function {
	return func(c *call) (any, error) {
		name := "truthy"
		if !isUndefined(c.arg(0)) {
			var err error
			if name, err = c.string(c.arg(0)); err != nil {
				return nil, err
			}
		}
		test := tests[name]
		if test == nil {
			return nil, c.wrong("the name of a test")
		}
		items, err := c.some()
		if err != nil {
			return nil, err
		}
		out := newList(len(items))
		for _, item := range items {
			v, err := test(&call{x: c.x, at: c.at, name: name, value: item, args: []any{c.arg(1)}})
			if err != nil {
				return nil, err
			}
			if v == wanted {
				out = append(out, item)
			}
		}
		return out, nil
	}
}

// withField returns a filter that keeps list items by a field that is true.
func withField(wanted bool) function {
	return func(c *call) (any, error) {
		list, err := c.list()
		if err != nil {
			return nil, err
		}
		values, err := c.fields(list, c.arg(0))
		if err != nil {
			return nil, err
		}
		out := newList(len(list))
		for i, v := range values {
			if truthy(v) == wanted {
				out = append(out, list[i])
			}
		}
		return out, nil
	}
}

func groupBy(c *call) (any, error) {
	items, err := c.some()
	if err != nil {
		return nil, err
	}
	out := newObject()
	for _, item := range items {
		v, err := c.by(item, c.arg(0))
		if err != nil {
			return nil, err
		}
		key, err := c.x.compared(c.at, v)
		if err != nil {
			return nil, err
		}
		group, _ := out.Values[key].([]any)
		out.Set(key, append(group, item))
	}
	return out, nil
}

// dictSort returns the fields of an object as pairs, sorted by name or value.
func dictSort(c *call) (any, error) {
	o, isObject := c.value.(*Object)
	if !isObject {
		return nil, c.wrong("an object")
	}
	which := 0
	switch by := c.arg(1); {
	case by == "value":
		which = 1
	case by != "key" && !isUndefined(by):
		return nil, c.wrong("key or value as its second argument")
	}
	exact := truthy(c.arg(0))
	keyed := func(i int) any {
		v := any(o.Keys[i])
		if which == 1 {
			v = o.Values[o.Keys[i]]
		}
		if s, isText := v.(string); isText && !exact {
			return upperCase(s)
		}
		return v
	}
	order, err := c.arrange(len(o.Keys), func(a, b int) (int, error) {
		x, y := keyed(a), keyed(b)
		after, err := c.x.less(c.at, y, x)
		switch {
		case after:
			return 1, err
		case strictEqual(x, y):
			return 0, err
		}
		return -1, err
	})
	pairs := newList(len(order))
	for _, i := range order {
		pairs = append(pairs, append(newList(2), o.Keys[i], o.Values[o.Keys[i]]))
	}
	if err != nil {
		return nil, err
	}
	return pairs, c.x.make(c.at, len(pairs)*8)
}
