// Package openapitest compares answers with the OpenAPI document of the pages, for tests.
package openapitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Document is an OpenAPI document.
type Document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]form }
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct{ Schema form }
	}
}

// A form is the part of JSON Schema that the document uses.
type form struct {
	Ref        string `json:"$ref"`
	Type       any
	Required   []string
	Properties map[string]form
	Items      *form
	Others     json.RawMessage `json:"additionalProperties"`
}

// Parse reads a document.
func Parse(tb testing.TB, data []byte) Document {
	tb.Helper()
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		tb.Fatal(err)
	}
	return d
}

// Check reports an answer that is not as the document says: its status, its fields and
// their types. A field that the document does not have is an error, unless the document
// leaves the fields of an object open. Paths that the document lacks are passed over.
func (d Document) Check(tb testing.TB, method, path string, status int, body []byte) {
	tb.Helper()
	path, _, _ = strings.Cut(path, "?")
	for known, methods := range d.Paths {
		if !matches(known, path) {
			continue
		}
		of, ok := methods[strings.ToLower(method)]
		if !ok {
			continue
		}
		answer, ok := of.Responses[strconv.Itoa(status)]
		if !ok {
			tb.Errorf("%s %s: the document does not have status %d", method, known, status)
			return
		}
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			tb.Errorf("%s %s: %v", method, path, err)
			return
		}
		for _, problem := range d.compare(answer.Content["application/json"].Schema, value, "the answer") {
			tb.Errorf("%s %s: %s", method, path, problem)
		}
		return
	}
}

// matches reports whether a path has the form of a documented one.
func matches(known, path string) bool {
	a, b := strings.Split(known, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}

func (d Document) compare(f form, value any, at string) (problems []string) {
	if name, ok := strings.CutPrefix(f.Ref, "#/components/schemas/"); ok {
		f = d.Components.Schemas[name]
	}
	if f.Type != nil && !isOf(f.Type, value) {
		return []string{fmt.Sprintf("%s is %T, and the document says %v", at, value, f.Type)}
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if f.Items != nil {
				problems = append(problems, d.compare(*f.Items, item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	case map[string]any:
		for _, name := range f.Required {
			if _, ok := v[name]; !ok {
				problems = append(problems, at+" lacks "+name)
			}
		}
		for name, field := range v {
			if property, ok := f.Properties[name]; ok {
				problems = append(problems, d.compare(property, field, at+"."+name)...)
			} else if f.Type != nil && len(f.Others) == 0 {
				problems = append(problems, at+" has "+name+", which the document lacks")
			}
		}
	}
	return problems
}

// isOf reports whether a value has a type of JSON Schema, or one of several.
func isOf(types, value any) bool {
	if list, ok := types.([]any); ok {
		return slices.ContainsFunc(list, func(t any) bool { return isOf(t, value) })
	}
	switch v := value.(type) {
	case nil:
		return types == "null"
	case bool:
		return types == "boolean"
	case string:
		return types == "string"
	case []any:
		return types == "array"
	case map[string]any:
		return types == "object"
	case float64:
		return types == "number" || types == "integer" && v == float64(int64(v))
	}
	return false
}
