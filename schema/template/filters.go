package template

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// filters are the filters of Nunjucks but random, and load of promptfoo.
var filters = map[string]function{
	// For texts.
	"upper": changed(upperCase), "lower": changed(lowerCase), "capitalize": kept(capitalize), "title": kept(titleCase), "trim": trim,
	"escape": escape, "e": escape, "forceescape": forceEscape, "safe": safe, "string": asText, "nl2br": htmlBreaks, "urlencode": urlencode, "urlize": urlize,
	"replace": replace, "truncate": truncate, "indent": indent, "center": center, "striptags": striptags, "wordcount": wordcount,
	// For numbers.
	"abs":   func(c *call) (any, error) { return math.Abs(number(c.value)), nil },
	"round": round, "int": toInt, "float": toFloat,
	// For lists and objects.
	"length": size, "first": first, "last": last, "join": join, "reverse": reverse, "sort": sorted, "list": toList, "sum": sum, "batch": batch, "slice": sliced,
	"select": selected(true), "reject": selected(false), "selectattr": withField(true), "rejectattr": withField(false),
	"groupby": groupBy, "dictsort": dictSort,
	// For anything.
	"default": otherwise, "d": otherwise, "dump": dump, "load": load,
}

// changed returns a filter of a text; null, undefined and false are empty.
func changed(f func(string) string) function {
	return func(c *call) (any, error) {
		s, _, err := c.textOr()
		return f(s), err
	}
}

// kept is like changed, and a marked text stays marked.
func kept(f func(string) string) function {
	return func(c *call) (any, error) {
		s, isMarked, err := c.textOr()
		return marking(f(s), isMarked), err
	}
}

func trim(c *call) (any, error) {
	s, isMarked, err := c.text()
	return marking(strings.TrimFunc(s, isSpace), isMarked), err
}

// textual returns the text of a value; null and undefined are empty.
func (c *call) textual() (string, error) {
	if absent(c.value) {
		return "", nil
	}
	return c.string(c.value)
}

func escape(c *call) (any, error) {
	if _, isMarked := c.value.(marked); isMarked {
		return c.value, nil
	}
	return forceEscape(c)
}

func forceEscape(c *call) (any, error) {
	s, err := c.textual()
	return marked(escapes.Replace(s)), err
}

func safe(c *call) (any, error) {
	s, err := c.textual()
	return marked(s), err
}

func asText(c *call) (any, error) {
	if absent(c.value) {
		return nil, c.wrong("a value")
	}
	if _, isMarked := c.value.(marked); isMarked {
		return c.value, nil
	}
	s, err := c.string(c.value)
	return s, err
}

func htmlBreaks(c *call) (any, error) {
	if absent(c.value) {
		return "", nil
	}
	s, isMarked, err := c.text()
	return marking(lineBreak.ReplaceAllString(s, "<br />\n"), isMarked), err
}

func urlencode(c *call) (any, error) {
	var pairs [][2]any
	switch v := c.value.(type) {
	case string:
		return encodeComponent(v), nil
	case []any:
		for _, item := range v {
			if absent(item) {
				return nil, c.wrong("a list of pairs")
			}
			key, _ := c.x.field(c.at, item, "0") // no name of a function
			value, _ := c.x.field(c.at, item, "1")
			pairs = append(pairs, [2]any{key, value})
		}
	case *Object:
		for _, key := range v.Keys {
			pairs = append(pairs, [2]any{key, v.Values[key]})
		}
	case marked:
		pairs = [][2]any{{"val", string(v)}, {"length", float64(length(string(v)))}}
	}
	var parts []string
	for _, pair := range pairs {
		key, err := c.string(pair[0])
		if err != nil {
			return nil, err
		}
		value, err := c.string(pair[1])
		if err != nil {
			return nil, err
		}
		parts = append(parts, encodeComponent(key)+"="+encodeComponent(value))
	}
	return strings.Join(parts, "&"), nil
}

func urlize(c *call) (any, error) {
	s, _, err := c.text()
	if err != nil {
		return nil, err
	}
	most := -1
	if _, none := c.arg(0).(undefined); !none {
		n, err := c.count(0, 0)
		if err != nil {
			return nil, err
		}
		most = int(max(n, 0))
	}
	relation := ""
	if c.arg(1) == true {
		relation = ` rel="nofollow"`
	}
	return linked(s, most, relation), nil
}

// replace replaces a text by another, at most a number of times.
func replace(c *call) (any, error) {
	old, isText := c.arg(0).(string)
	if isNumber(c.arg(0)) {
		old, isText = written(number(c.arg(0))), true
	}
	subject := c.value
	if isNumber(subject) {
		subject, _ = Text(subject)
	}
	s, isPlain := subject.(string)
	m, isMarked := subject.(marked)
	if !isText || !isPlain && !isMarked {
		return c.value, nil
	}
	s += string(m)
	by, err := c.string(c.arg(1))
	if err != nil {
		return nil, err
	}
	if old == "" {
		parts := letters(s)
		if err := c.x.make(c.at, (len(parts)+2)*(len(by)+4)); err != nil {
			return nil, err
		}
		return marking(by+strings.ReplaceAll(s, "", by)[len(by)*min(1, len(parts)):], isMarked), nil
	}
	n := strings.Count(s, old)
	if most := c.arg(2); !isUndefined(most) && most != -1.0 {
		n = min(n, times(number(most)))
	}
	if n == 0 {
		return subject, nil
	}
	if err := c.x.make(c.at, n*(len(by)+1)); err != nil || n*(len(by)+1) < n {
		return nil, err
	}
	_, wasMarked := c.value.(marked)
	return marking(strings.Replace(s, old, by, n), wasMarked), nil
}

func isUndefined(v any) bool { _, none := v.(undefined); return none }

// truncate cuts a text beyond a number of characters, at a space if there is one.
func truncate(c *call) (any, error) {
	most, err := c.count(0, 255)
	if err != nil {
		return nil, err
	}
	if list, isList := c.value.([]any); isList && float64(len(list)) <= most {
		return list, nil
	}
	s, isMarked, err := c.textOr()
	if err != nil {
		return nil, err
	}
	u := units(s)
	if float64(len(u)) <= most {
		return marking(s, isMarked), nil
	}
	at := min(times(math.Floor(most)), len(u))
	if !truthy(c.arg(1)) {
		from := at
		if math.IsNaN(most) {
			from = len(u) - 1
		}
		if space := lastSpace(u, from); space >= 0 {
			at = space
		}
	}
	end := "..."
	if !absent(c.arg(2)) {
		if end, err = c.string(c.arg(2)); err != nil {
			return nil, err
		}
	}
	return marking(ofUnits(u[:at])+end, isMarked), nil
}

// lastSpace returns the position of the last space up to a position, or -1.
func lastSpace(u []uint16, from int) int {
	for at := min(from, len(u)-1); at >= 0; at-- {
		if u[at] == ' ' {
			return at
		}
	}
	return -1
}

func indent(c *call) (any, error) {
	s, isMarked, err := c.textOr()
	if err != nil || s == "" && !isMarked {
		return "", err
	}
	width, err := c.count(0, 4)
	if err != nil {
		return nil, err
	}
	lines, n := strings.Split(s, "\n"), times(width)
	if err := c.x.make(c.at, n*len(lines)); err != nil {
		return nil, err
	}
	for i := range lines {
		if i > 0 || truthy(c.arg(1)) {
			lines[i] = strings.Repeat(" ", n) + lines[i]
		}
	}
	return marking(strings.Join(lines, "\n"), isMarked), nil
}

// center puts spaces around a text; a value without a length stays as its text.
func center(c *call) (any, error) {
	if absent(c.value) || c.value == false {
		c.value = ""
	}
	width, err := c.count(0, 80)
	if err != nil {
		return nil, err
	}
	has, err := c.x.field(c.at, c.value, "length")
	if err != nil {
		return nil, err
	}
	if number(has) >= width {
		return c.value, nil
	}
	missing := width - number(has)
	before, after := times(missing/2-math.Mod(missing, 2)), times(missing/2)
	if err := c.x.make(c.at, before+after); err != nil {
		return nil, err
	}
	s, err := c.string(c.value)
	_, isMarked := c.value.(marked)
	return marking(strings.Repeat(" ", before)+s+strings.Repeat(" ", after), isMarked), err
}

func striptags(c *call) (any, error) {
	s, isMarked, err := c.textOr()
	return marking(stripTags(s, truthy(c.arg(0))), isMarked), err
}

var wordToken = lazyregexp.New(`\w+`)

// wordcount returns null for a text without words.
func wordcount(c *call) (any, error) {
	if !truthy(c.value) {
		return nil, nil
	}
	s, _, err := c.text()
	if n := len(wordToken.FindAllStringIndex(s, -1)); n > 0 {
		return float64(n), err
	}
	return nil, err
}

func round(c *call) (any, error) {
	digits := c.arg(0)
	if !truthy(digits) {
		digits = 0.0
	}
	factor := math.Pow(10, number(digits))
	n := number(c.value) * factor
	switch c.arg(1) {
	case "ceil":
		n = math.Ceil(n)
	case "floor":
		n = math.Floor(n)
	default:
		if whole := math.Floor(n); n-whole >= 0.5 {
			n = whole + 1
		} else {
			n = whole
		}
	}
	return n / factor, nil
}

var fraction = lazyregexp.New(`^[+-]?(Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)`)

func toFloat(c *call) (any, error) {
	s, err := c.x.compared(c.at, c.value)
	if err != nil {
		return nil, err
	}
	f, wrong := strconv.ParseFloat(fraction.FindString(strings.TrimLeftFunc(s, isSpace)), 64)
	if wrong != nil && !math.IsInf(f, 0) {
		return c.arg(0), nil
	}
	return f, nil
}

func toInt(c *call) (any, error) {
	c.byName("default", "base")
	s, err := c.x.compared(c.at, c.value)
	if err != nil {
		return nil, err
	}
	base := c.arg(1)
	if isUndefined(base) {
		base = 10.0
	}
	if f := wholeNumber(strings.TrimLeftFunc(s, isSpace), number(base)); !math.IsNaN(f) {
		return f, nil
	}
	return c.arg(0), nil
}

// wholeNumber reads the number at the start of a text as JavaScript's parseInt does.
func wholeNumber(s string, base float64) float64 {
	sign := 1.0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	if math.IsNaN(base) || base == 0 {
		base = 10
		if len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
			base = 16
		}
	}
	if base == 16 && len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		s = s[2:]
	}
	if base < 2 || base > 36 {
		return math.NaN()
	}
	digits := 0
	for digits < len(s) {
		d := strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyz", s[digits]|0x20&^(s[digits]>>6-1))
		if d < 0 || d >= int(base) {
			break
		}
		digits++
	}
	if digits == 0 {
		return math.NaN()
	}
	if int(base) == 10 {
		f, _ := strconv.ParseFloat(s[:digits], 64) // digits; infinite if it is too large
		return sign * f
	}
	total := 0.0
	for _, c := range []byte(strings.ToLower(s[:digits])) {
		total = total*math.Floor(base) + float64(strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyz", c))
	}
	return sign * total
}

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

// otherwise returns the value, or the argument if it is undefined; with true as the
// second argument also if it is falsy.
func otherwise(c *call) (any, error) {
	if isUndefined(c.value) || truthy(c.arg(1)) && !truthy(c.value) {
		return c.arg(0), nil
	}
	return c.value, nil
}

func dump(c *call) (any, error) {
	if isUndefined(c.value) {
		return undefined{}, nil
	}
	by := ""
	switch v := c.arg(0).(type) {
	case string:
		u := units(v)
		by = ofUnits(u[:min(len(u), 10)])
	case float64:
		by = strings.Repeat(" ", min(times(math.Floor(v)), 10))
	}
	return c.x.json(c.at, c.value, by)
}

// load returns the value that a text is in JSON.
func load(c *call) (any, error) {
	s, err := c.x.compared(c.at, c.value)
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(s)) {
		return nil, c.wrong("a text that is JSON")
	}
	return decode(json.RawMessage(s)), c.x.make(c.at, len(s))
}
