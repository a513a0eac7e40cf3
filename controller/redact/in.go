package redact

import (
	"encoding/json"
	"reflect"
	"sync"
)

// Apply returns a value with hide applied to every text in it, including embedded JSON.
// It copies before it changes anything, so shared values are not affected. Unexported
// fields and the types of interface values are unchanged.
func Apply[T any](v T, hide func(string) string) T {
	out, changed := walker{hide}.value(reflect.ValueOf(&v).Elem())
	if !changed {
		return v
	}
	return out.Interface().(T)
}

type walker struct{ hide func(string) string }

var rawJSON = reflect.TypeFor[json.RawMessage]()

// value returns v without its secrets, and whether it changed.
func (w walker) value(v reflect.Value) (out reflect.Value, changed bool) {
	if !holdsText(v.Type()) {
		return v, false
	}
	switch v.Kind() {
	case reflect.String:
		return w.text(v)
	case reflect.Struct:
		return w.structure(v)
	case reflect.Slice:
		if v.Type() == rawJSON {
			return w.raw(v)
		}
		return w.list(v, func() reflect.Value { return reflect.MakeSlice(v.Type(), v.Len(), v.Len()) })
	case reflect.Array:
		return w.list(v, func() reflect.Value { return reflect.New(v.Type()).Elem() })
	case reflect.Map:
		return w.table(v)
	case reflect.Pointer, reflect.Interface:
		return w.inner(v)
	}
	return v, false
}

func (w walker) text(v reflect.Value) (reflect.Value, bool) {
	was := v.String()
	is := w.hide(was)
	if is == was {
		return v, false
	}
	return reflect.ValueOf(is).Convert(v.Type()), true
}

// raw hides texts in JSON; the replacement needs no escaping.
func (w walker) raw(v reflect.Value) (reflect.Value, bool) {
	was := string(v.Bytes())
	is := w.hide(was)
	return reflect.ValueOf(json.RawMessage(is)), is != was
}

func (w walker) structure(v reflect.Value) (reflect.Value, bool) {
	out, changed := v, false
	for _, i := range fieldsOf(v.Type()) {
		field, did := w.value(v.Field(i))
		if !did {
			continue
		}
		if !changed {
			out, changed = reflect.New(v.Type()).Elem(), true
			out.Set(v)
		}
		out.Field(i).Set(field)
	}
	return out, changed
}

func (w walker) list(v reflect.Value, empty func() reflect.Value) (reflect.Value, bool) {
	out, changed := v, false
	for i := range v.Len() {
		item, did := w.value(v.Index(i))
		if !did {
			continue
		}
		if !changed {
			out, changed = empty(), true
			reflect.Copy(out, v)
		}
		out.Index(i).Set(item)
	}
	return out, changed
}

func (w walker) table(v reflect.Value) (reflect.Value, bool) {
	out, changed := reflect.MakeMapWithSize(v.Type(), v.Len()), false
	for it := v.MapRange(); it.Next(); {
		key, didKey := w.value(it.Key())
		item, didItem := w.value(it.Value())
		changed = changed || didKey || didItem
		out.SetMapIndex(key, item)
	}
	if !changed {
		return v, false
	}
	return out, true
}

func (w walker) inner(v reflect.Value) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	inner, changed := w.value(v.Elem())
	if !changed {
		return v, false
	}
	if v.Kind() == reflect.Interface {
		out := reflect.New(v.Type()).Elem()
		out.Set(inner)
		return out, true
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(inner)
	return out, true
}

// fields caches the fields of a struct that can hold a text.
var fields sync.Map // reflect.Type to []int

func fieldsOf(t reflect.Type) []int {
	if known, ok := fields.Load(t); ok {
		return known.([]int)
	}
	var found []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && holdsText(f.Type) {
			found = append(found, i)
		}
	}
	fields.Store(t, found)
	return found
}

// texts caches which types can hold a text.
var texts sync.Map // reflect.Type to bool

// holdsText reports whether a value of a type can hold a text, so that a report
// of many numbers is not walked through.
func holdsText(t reflect.Type) bool {
	if known, ok := texts.Load(t); ok {
		return known.(bool)
	}
	found := canHold(t, map[reflect.Type]bool{})
	texts.Store(t, found)
	return found
}

func canHold(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		return true
	case reflect.Pointer, reflect.Array:
		return canHold(t.Elem(), seen)
	case reflect.Slice:
		return t == rawJSON || canHold(t.Elem(), seen)
	case reflect.Map:
		return canHold(t.Key(), seen) || canHold(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && canHold(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
