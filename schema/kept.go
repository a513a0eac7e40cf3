package schema

import (
	"encoding/json"
	"reflect"
	"strings"
)

// A Kept is the answer of another case, which a case has in its prompt or in its evaluators.
// [KeptMark] is in its place there until a sample begins.
type Kept struct {
	Name string
	// Case gives the answer. It is asked before the case that has it.
	Case *Case
	// Steps and Context are functions that the answer passes through, and their argument.
	Steps   []string
	Context json.RawMessage
}

// The characters around the name of an answer, which no keyboard has.
const (
	keptOpen  = "\U000F8E01"
	keptClose = "\U000F8E02"
)

// KeptMark returns the text in the place of a [Kept] answer.
func KeptMark(name string) string { return keptOpen + name + keptClose }

// HasKept reports whether a text, which may be JSON, has the place of an answer.
func HasKept(text string) bool { return strings.Contains(text, keptOpen) }

// ShowKept returns a text for people: the places of answers are written {{name}}.
func ShowKept(text string) string {
	return strings.NewReplacer(keptOpen, "{{", keptClose, "}}").Replace(text)
}

// Answering are the other cases that answer before a case is judged: the ones that it is
// compared with, and those whose answers it has, with theirs.
func (c *Case) Answering() []*Case {
	return append(c.before(), c.Peers...)
}

// before returns the cases whose answers a case has, with theirs.
func (c *Case) before() []*Case {
	var all []*Case
	for _, k := range c.Kept {
		all = append(append(all, k.Case), k.Case.before()...)
	}
	return all
}

// FillKept returns the case with answers in their places, by their names.
func FillKept(c *Case, answers map[string]string) *Case {
	if len(answers) == 0 {
		return c
	}
	f := newFiller(answers)
	out := *c
	out.System = f.plain.Replace(c.System)
	out.Layers = f.value(reflect.ValueOf(c.Layers)).Interface().([]Layer)
	out.Drive = f.value(reflect.ValueOf(c.Drive)).Interface().(Drive)
	out.Evaluators = f.value(reflect.ValueOf(c.Evaluators)).Interface().([]Evaluator)
	return &out
}

// FillKeptJSON returns JSON with answers in their places.
func FillKeptJSON(raw json.RawMessage, answers map[string]string) json.RawMessage {
	return json.RawMessage(newFiller(answers).quoted.Replace(string(raw)))
}

// A filler puts answers into texts, and into texts within JSON.
type filler struct{ plain, quoted *strings.Replacer }

func newFiller(answers map[string]string) filler {
	var plain, quoted []string
	for name, answer := range answers {
		raw, _ := json.Marshal(answer) // a text
		plain = append(plain, KeptMark(name), answer)
		quoted = append(quoted, KeptMark(name), string(raw[1:len(raw)-1]))
	}
	return filler{strings.NewReplacer(plain...), strings.NewReplacer(quoted...)}
}

var (
	jsonType  = reflect.TypeFor[json.RawMessage]()
	filesType = reflect.TypeFor[*ProgramFiles]()
)

// value returns a value in which all texts are filled in. The given one does not change.
func (f filler) value(v reflect.Value) reflect.Value {
	switch {
	case v.Type() == jsonType && v.Len() == 0:
		return v
	case v.Type() == jsonType:
		return reflect.ValueOf(json.RawMessage(f.quoted.Replace(string(v.Bytes())))).Convert(v.Type())
	case v.Type() == filesType:
		return v
	}
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(f.plain.Replace(v.String())).Convert(v.Type())
	case reflect.Pointer, reflect.Interface:
		return f.inner(v)
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(f.value(v.Field(i)))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(f.value(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, f.value(v.MapIndex(key)))
		}
		return out
	}
	return v
}

// inner fills in the value behind a pointer or in an interface.
func (f filler) inner(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	filled := f.value(v.Elem())
	if v.Kind() == reflect.Interface {
		return filled
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(filled)
	return out
}
