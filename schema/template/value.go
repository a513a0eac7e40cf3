package template

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// undefined is the value of something missing.
type undefined struct{}

// An Object keeps its fields in the order of writing.
type Object struct {
	Keys   []string
	Values map[string]any
}

// Set adds a field, or replaces its value.
func (o *Object) Set(key string, value any) {
	if _, known := o.Values[key]; !known {
		o.Keys = append(o.Keys, key)
	}
	o.Values[key] = value
}

// newObject returns an object without fields.
func newObject() *Object { return &Object{Values: map[string]any{}} }

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
	list := []any{}
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

// number converts a value to a number, or NaN.
func number(value any) float64 {
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
		s := strings.TrimSpace(v)
		if s == "" {
			return 0
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && !strings.ContainsAny(s, "_pPnN") {
			return f
		}
	}
	return math.NaN()
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
	if d.out.Len() > d.most || depth > 100 {
		return false
	}
	switch v := value.(type) {
	case []any:
		return d.list(v, depth)
	case *Object:
		return d.object(v, depth)
	case string:
		d.out.WriteString(quote(v))
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
		d.out.WriteString(quote(key) + ":")
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

// quote returns a text as JSON, with <, > and & unescaped.
func quote(s string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string
	return strings.TrimSuffix(out.String(), "\n")
}

// looseEqual implements JavaScript's ==. Lists and objects equal only themselves.
func looseEqual(a, b any) bool {
	if absent(a) || absent(b) {
		return absent(a) && absent(b)
	}
	if isNumber(a) != isNumber(b) || isBool(a) != isBool(b) {
		return isSimple(a) && isSimple(b) && number(a) == number(b)
	}
	return strictEqual(a, b)
}

// strictEqual implements JavaScript's ===.
func strictEqual(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && len(x) > 0 && len(x) == len(y) && &x[0] == &y[0]
	case *Object:
		return a == b
	case float64, json.Number:
		return isNumber(b) && number(a) == number(b)
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

func isSimple(v any) bool { _, ok := Text(v); return ok }

// less implements JavaScript's <.
func less(a, b any) bool {
	x, isText := a.(string)
	if y, both := b.(string); isText && both {
		return x < y
	}
	return number(a) < number(b)
}

// length counts the characters, items or fields of a value.
func length(value any) int {
	switch v := value.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case []any:
		return len(v)
	case *Object:
		return len(v.Keys)
	}
	return 0
}
