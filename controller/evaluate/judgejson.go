package evaluate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

var errEmpty = errors.New("it is empty")

// StrictJSON decodes a reply that is one JSON value, alone or as the only block of
// code. Its errors are fit for the model that is asked again.
func StrictJSON(reply string, into any) error {
	text := unfenced(reply)
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(into); err != nil {
		return &formError{jsonProblem(text, err), formOf(into)}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON")
	}
	return nil
}

// readJSON is [StrictJSON] for the replies of judges and extractors. It also takes a
// reply that has one meaning: with a comma before a closing bracket, with a line break
// in a text, or with a number, true or false in quotes.
func readJSON(reply string, into any) error {
	problem := StrictJSON(reply, into)
	if problem == nil {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(repaired(unfenced(reply))))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return problem
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return problem
	}
	raw, err := json.Marshal(unquoted(value, reflect.TypeOf(into)))
	if err != nil {
		return problem
	}
	reflect.ValueOf(into).Elem().SetZero() // the first attempt may have filled in a part
	if json.Unmarshal(raw, into) != nil {
		return problem
	}
	return nil
}

// A form describes the JSON that was asked for by its fields: {"score": a number}.
type form string

// formOf returns the form of a value's type.
func formOf(v any) form { return form(fieldsOf(reflect.TypeOf(v))) }

// lacks returns the error of a reply that is JSON without what a field must have.
func (f form) lacks(problem string) error { return &formError{errors.New(problem), f} }

// A formError is a reply without the form that was asked for. The model that is asked again
// has seen the form; people are told it.
type formError struct {
	error
	form form
}

// Unwrap returns the error without the form.
func (e *formError) Unwrap() error { return e.error }

// jsonProblem describes why a reply does not have the form that was asked for.
func jsonProblem(text string, err error) error {
	const problem = "it is not the JSON that was asked for"
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset > 0 && syntax.Offset <= int64(len(text)) {
		at := int(syntax.Offset) - 1
		r, _ := utf8.DecodeRuneInString(text[at:])
		return fmt.Errorf("%s: %q is not JSON there (after %d characters)", problem, r, utf8.RuneCountInString(text[:at]))
	}
	wrong, isType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.EOF):
		return errEmpty
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New(problem + ": it ends in the middle")
	case !isType:
		return errors.New(problem)
	}
	kind, _, _ := strings.Cut(wrong.Value, " ") // of a number, its text follows
	is := map[string]string{"bool": "true or false", "array": "a list", "object": "an object", "string": "a text", "number": "a number"}[kind]
	what := "it"
	if wrong.Field != "" {
		what = fmt.Sprintf("%q", wrong.Field)
	}
	return fmt.Errorf("%s: %s is %s, and must be %s", problem, what, is, wantedKind(wrong.Type))
}

func fieldsOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		if each, ok := strings.CutPrefix(fieldsOf(t.Elem()), "a "); ok {
			return "a list of " + each + "s"
		}
		return "a list of " + fieldsOf(t.Elem())
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				fields = append(fields, fmt.Sprintf("%q: %s", jsonName(f), fieldsOf(f.Type)))
			}
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return wantedKind(t)
}

// jsonName is the name of a field in JSON.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, strings.ToLower(f.Name))
}

func wantedKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wantedKind(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float64, reflect.Float32:
		return "a number"
	}
	return "a whole number"
}

// repaired removes a comma before a closing bracket, and escapes control characters within
// texts.
func repaired(text string) string {
	var out strings.Builder
	inText, last := false, byte('[')
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inText && c == '\\' && i+1 < len(text):
			out.WriteString(text[i : i+2])
			i++
			continue
		case inText && c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		case c == '"':
			inText = !inText
		case !inText && c == ',' && !strings.ContainsRune("[{,:", rune(last)) && closes(text[i+1:]):
			continue
		}
		out.WriteByte(c)
		if !strings.ContainsRune(" \t\r\n", rune(c)) {
			last = c
		}
	}
	return out.String()
}

// closes reports whether a text continues with a closing bracket.
func closes(text string) bool {
	rest := strings.TrimLeft(text, " \t\r\n")
	return rest != "" && strings.ContainsRune("]}", rune(rest[0]))
}

// unquoted returns a value with the numbers, true and false that a type has and the
// value has in quotes.
func unquoted(value any, t reflect.Type) any {
	if t.Implements(reflect.TypeFor[json.Unmarshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return value
	}
	switch t.Kind() {
	case reflect.Pointer:
		return unquoted(value, t.Elem())
	case reflect.Slice:
		list, _ := value.([]any)
		for i := range list {
			list[i] = unquoted(list[i], t.Elem())
		}
	case reflect.Map:
		fields, _ := value.(map[string]any)
		for name := range fields {
			fields[name] = unquoted(fields[name], t.Elem())
		}
	case reflect.Struct:
		unquoteFields(value, t)
	case reflect.Bool:
		if text, _ := value.(string); text == "true" || text == "false" {
			return text == "true"
		}
	case reflect.Float64, reflect.Int, reflect.Int64:
		var number json.Number
		if text, ok := value.(string); ok && json.Unmarshal([]byte(text), &number) == nil {
			return number
		}
	}
	return value
}

func unquoteFields(value any, t reflect.Type) {
	fields, _ := value.(map[string]any)
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		for key := range fields {
			if strings.EqualFold(key, name) {
				fields[key] = unquoted(fields[key], field.Type)
			}
		}
	}
}
