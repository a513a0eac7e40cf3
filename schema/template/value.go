package template

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Values are as JavaScript has them: nil is its null, float64 and json.Number its
// numbers, string, bool, []any and *Object the rest.

// undefined is the value of something missing.
type undefined struct{}

// A marked text came out of escape or safe. It is an object that has a text.
type marked string

// An Object keeps its fields in JavaScript's order: whole numbers, then the others as
// they were written.
type Object struct {
	Keys   []string
	Values map[string]any
}

// Set adds a field, or replaces its value.
func (o *Object) Set(key string, value any) {
	if _, known := o.Values[key]; !known {
		at := len(o.Keys)
		if n, isIndex := index(key); isIndex {
			at = slices.IndexFunc(o.Keys, func(k string) bool {
				m, ok := index(k)
				return !ok || m > n
			})
		}
		if at < 0 {
			at = len(o.Keys)
		}
		o.Keys = slices.Insert(o.Keys, at, key)
	}
	o.Values[key] = value
}

// newObject returns an object without fields.
func newObject() *Object { return &Object{Values: map[string]any{}} }

// newList returns an empty list that is equal to no other.
func newList(room int) []any { return make([]any, 0, max(room, 1)) }

// index returns the number that a key is, if it is one as JavaScript writes it.
func index(key string) (int, bool) {
	if key == "" || len(key) > 9 || key[0] == '0' && len(key) > 1 || strings.Trim(key, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(key)
	return n, err == nil
}

// decode parses a JSON value; an unreadable one is undefined.
func decode(raw json.RawMessage) any {
	if len(raw) == 0 {
		return undefined{}
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text // as most are
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	value, err := decodeNext(dec)
	if err != nil {
		return undefined{}
	}
	return value
}

func decodeNext(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Number:
		return exact(t), nil
	case json.Delim:
		if t == '[' {
			return decodeList(dec)
		}
		return decodeObject(dec)
	}
	return tok, nil
}

func decodeList(dec *json.Decoder) (any, error) {
	list := newList(0)
	for dec.More() {
		item, err := decodeNext(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := dec.Token()
	return list, err
}

func decodeObject(dec *json.Decoder) (any, error) {
	o := newObject()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		value, err := decodeNext(dec)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // keys of JSON are strings
		o.Set(name, value)
	}
	_, err := dec.Token()
	return o, err
}

// maxExact is the largest integer up to which every one is a float64.
const maxExact = 1 << 53

// exact returns a number as a float64, or as it is written if that would change it.
func exact(n json.Number) any {
	f, err := n.Float64()
	if err == nil && math.Abs(f) >= 1e21 { // which JavaScript writes with an exponent
		return f
	}
	if err != nil || math.Abs(f) > maxExact && !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	return f
}

// truthy reports whether a value counts as true. An empty list and an empty object do.
func truthy(value any) bool {
	switch v := value.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	}
	return true
}

// number converts a value to a number, or NaN. A list is the number of its one item.
func number(value any) float64 {
	for range maxDepth {
		list, isList := value.([]any)
		switch {
		case !isList:
			return simpleNumber(value)
		case len(list) == 0 || len(list) == 1 && absent(list[0]):
			return 0
		case len(list) > 1 || isBool(list[0]):
			return math.NaN()
		}
		value = list[0]
	}
	return math.NaN()
}

func simpleNumber(value any) float64 {
	switch v := value.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return v
	case json.Number:
		f, _ := v.Float64() // infinite if it is too large
		return f
	case string:
		return textNumber(v)
	case marked:
		return textNumber(string(v))
	}
	return math.NaN()
}

// textNumber converts a text as JavaScript's Number does.
func textNumber(s string) float64 {
	s = strings.TrimFunc(s, isSpace)
	if s == "" {
		return 0
	}
	lower := strings.ToLower(s)
	if len(lower) > 2 && lower[0] == '0' && strings.IndexByte("xob", lower[1]) >= 0 && !strings.Contains(lower, "_") {
		if n, err := strconv.ParseUint(lower, 0, 64); err == nil {
			return float64(n)
		}
		return math.NaN()
	}
	switch s {
	case "Infinity", "+Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	if strings.ContainsAny(lower, "_xpin") {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// written formats a number as JavaScript does.
func written(f float64) string {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0"
	case abs >= 1e21 || abs < 1e-6:
		return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Text converts a value to text, unless it is a list or an object.
func Text(value any) (string, bool) {
	switch v := value.(type) {
	case nil, undefined:
		return "", true
	case string:
		return v, true
	case marked:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return written(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// Dump writes a value as JSON, over several lines if indent is not empty. ok is false
// if that exceeds a number of bytes, or if the nesting is too deep.
func Dump(value any, indent string, most int) (s string, ok bool) {
	d := dumper{indent: indent, most: most}
	ok = d.dump(value, 0)
	return d.out.String(), ok
}

// A dumper writes values as JSON, up to a number of bytes.
type dumper struct {
	out    bytes.Buffer
	indent string
	most   int
}

// dump writes a value. It reports whether the bound was large enough.
func (d *dumper) dump(value any, depth int) bool {
	if d.out.Len() > d.most || depth > maxDepth {
		return false
	}
	switch v := value.(type) {
	case []any:
		return d.list(v, depth)
	case *Object:
		return d.object(v, depth)
	case marked:
		o := newObject()
		o.Set("val", string(v))
		o.Set("length", float64(length(string(v))))
		return d.object(o, depth)
	case string:
		d.quote(v)
	case nil, undefined:
		d.out.WriteString("null")
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.out.WriteString("null")
			return true
		}
		d.out.WriteString(written(v))
	default:
		s, _ := Text(v) // a bool or a json.Number
		d.out.WriteString(s)
	}
	return d.out.Len() <= d.most
}

func (d *dumper) line(depth int) {
	if d.indent != "" {
		d.out.WriteString("\n" + strings.Repeat(d.indent, depth))
	}
}

func (d *dumper) list(v []any, depth int) bool {
	d.out.WriteByte('[')
	for i, item := range v {
		if i > 0 {
			d.out.WriteByte(',')
		}
		d.line(depth + 1)
		if !d.dump(item, depth+1) {
			return false
		}
	}
	if len(v) > 0 {
		d.line(depth)
	}
	d.out.WriteByte(']')
	return true
}

func (d *dumper) object(v *Object, depth int) bool {
	d.out.WriteByte('{')
	first := true
	for _, key := range v.Keys {
		if _, none := v.Values[key].(undefined); none {
			continue
		}
		if !first {
			d.out.WriteByte(',')
		}
		first = false
		d.line(depth + 1)
		d.quote(key)
		d.out.WriteByte(':')
		if d.indent != "" {
			d.out.WriteByte(' ')
		}
		if !d.dump(v.Values[key], depth+1) {
			return false
		}
	}
	if !first {
		d.line(depth)
	}
	d.out.WriteByte('}')
	return true
}

// short are the characters that JSON writes with a letter.
var short = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// quote writes a text as JSON, and escapes no more than JavaScript does.
func (d *dumper) quote(s string) {
	d.out.WriteByte('"')
	for _, r := range s {
		switch escape := short[r]; {
		case escape != "":
			d.out.WriteString(escape)
		case r < ' ':
			d.out.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		default:
			d.out.WriteRune(r)
		}
	}
	d.out.WriteByte('"')
}

// strictEqual implements JavaScript's ===.
func strictEqual(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && cap(x) > 0 && cap(y) > 0 && &x[:1][0] == &y[:1][0]
	case *Object:
		return a == b
	case float64, json.Number:
		return isNumber(b) && number(a) == number(b)
	case marked:
		return false
	}
	if _, isList := b.([]any); isList {
		return false
	}
	return a == b
}

// absent reports whether a value is null or undefined.
func absent(v any) bool {
	_, none := v.(undefined)
	return none || v == nil
}

// isNumber reports whether a value is a number.
func isNumber(v any) bool {
	switch v.(type) {
	case float64, json.Number:
		return true
	}
	return false
}

// isBool reports whether a value is true or false.
func isBool(v any) bool { _, ok := v.(bool); return ok }

// isThing reports whether a value is an object of JavaScript.
func isThing(v any) bool {
	switch v.(type) {
	case []any, *Object, marked:
		return true
	}
	return false
}

// units returns a text in units of UTF-16, as JavaScript counts it.
func units(s string) []uint16 { return utf16.Encode([]rune(s)) }

// ofUnits returns the text of units.
func ofUnits(u []uint16) string { return string(utf16.Decode(u)) }

// length counts the units of a text in UTF-16.
func length(s string) int {
	n := utf8.RuneCountInString(s)
	for i := range len(s) {
		if s[i] >= 0xf0 { // begins a character of two units
			n++
		}
	}
	return n
}

// letters returns a text as a list of its units.
func (x *execution) letters(at int, s string) ([]any, error) {
	if err := x.make(at, len(s)*16); err != nil {
		return nil, err
	}
	u := units(s)
	list := newList(len(u))
	for i := range u {
		list = append(list, ofUnits(u[i:i+1]))
	}
	return list, nil
}

// isSpace reports whether JavaScript's \s is a character.
func isSpace(r rune) bool {
	return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r)
}
