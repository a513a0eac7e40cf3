package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/schema"
)

const (
	// mostChanges bounds the named changes of an evaluator.
	mostChanges = 3
	// mostShown bounds the shown characters of a value.
	mostShown = 40
)

// specChange describes the difference between two evaluators: by their fields, as
// definitions call them, with short values. It is empty if no field differs.
func specChange(was, is schema.Spec) string {
	if was == nil || is == nil {
		return ""
	}
	if was.Kind() != is.Kind() {
		return was.Kind() + " → " + is.Kind()
	}
	var changes []string
	fieldChanges("", decoded(was), decoded(is), func(text string) { changes = append(changes, text) })
	if more := len(changes) - mostChanges; more > 0 {
		changes = append(changes[:mostChanges], fmt.Sprintf("%d more", more))
	}
	return strings.Join(changes, ", ")
}

// decoded decodes a spec into plain JSON values, with numbers as written.
func decoded(s schema.Spec) any {
	var v any
	raw, err := json.Marshal(s)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		err = d.Decode(&v)
	}
	if err != nil {
		return nil // the digest has no other form of it either
	}
	return v
}

// fieldChanges calls add for every field below path that differs. It matches the
// items of lists by name if they have one.
func fieldChanges(path string, was, is any, add func(string)) {
	if reflect.DeepEqual(was, is) {
		return
	}
	a, b := fields(was), fields(is)
	if a == nil || b == nil {
		a, b = items(was), items(is)
	}
	if a == nil || b == nil {
		add(fieldChange(path, was, is))
		return
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	if reflect.DeepEqual(a, b) {
		add(path + " reordered")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fieldChanges(strings.TrimPrefix(path+"."+name, "."), a[name], b[name], add)
	}
}

func fields(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// items maps the objects of a list by their names; nil if one has none.
func items(v any) map[string]any {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for _, item := range list {
		m := fields(item)
		name := ""
		for _, key := range []string{"id", "name", "path"} {
			if s, ok := m[key].(string); ok && name == "" {
				name = s
			}
		}
		if _, twice := out[name]; name == "" || twice {
			return nil
		}
		out[name] = item
	}
	return out
}

func fieldChange(path string, was, is any) string {
	switch before, after := shown(was), shown(is); {
	case was == nil:
		return path + " added"
	case is == nil:
		return path + " removed"
	case before != "" && after != "":
		return fmt.Sprintf("%s %s → %s", path, before, after)
	}
	return path + " changed"
}

// shown returns a short value, or nothing.
func shown(v any) string {
	switch v.(type) {
	case string, json.Number, bool:
		if text := fmt.Sprint(v); len(text) <= mostShown && !strings.Contains(text, "\n") {
			return text
		}
	}
	return ""
}
