package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/lazyregexp"
)

// Fields are the fields of a JSON object. Their values stay as they are written.
type Fields = map[string]json.RawMessage

// EncodeObject returns a file with an object: the named fields in their order, and then
// the others.
func EncodeObject(names []string, fields Fields) ([]byte, error) {
	names = slices.Clone(names)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var b bytes.Buffer
	b.WriteString("{")
	first := true
	for _, name := range names {
		value, ok := fields[name]
		if !ok {
			continue
		}
		if !first {
			b.WriteString(",")
		}
		first = false
		fmt.Fprintf(&b, "%s:%s", strconv.Quote(name), value)
	}
	b.WriteString("}")
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("the definition is not JSON: %w", err)
	}
	out.WriteString("\n")
	return out.Bytes(), nil
}

// DecodeObject reads a JSON object. Its numbers stay as they are written.
func DecodeObject(data []byte) (Fields, error) {
	var out Fields
	if err := json.Unmarshal(data, &out); err != nil || out == nil {
		return nil, fmt.Errorf("the body is not a JSON object, such as {\"name\": \"Sum\"}: %v", err)
	}
	return out, nil
}

// QuoteText returns a text as JSON.
func QuoteText(text string) json.RawMessage {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always encoded
	}
	return out
}

// TextOf returns the text of a JSON string; empty for any other value.
func TextOf(value json.RawMessage) string {
	var out string
	if json.Unmarshal(value, &out) != nil {
		return ""
	}
	return out
}

// IsBlankText reports whether a JSON value is a string of white space alone.
func IsBlankText(value json.RawMessage) bool {
	var out *string
	return json.Unmarshal(value, &out) == nil && out != nil && strings.TrimSpace(*out) == ""
}

// PageNumber reads a parameter from 1 to most. It returns usual if the parameter is not a
// number from 1.
func PageNumber(value string, usual, most int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return usual
	}
	return min(n, most)
}

// LevelText returns a level for a form; empty for 0.
func LevelText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// SameJSON reports whether two objects are the same JSON.
func SameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && EqualJSON(x, y)
}

// mergeFields replaces fields by changed ones; a changed one without a value is removed.
func mergeFields(fields, changed Fields) Fields {
	out := maps.Clone(fields)
	maps.Copy(out, changed)
	maps.DeleteFunc(out, func(_ string, value json.RawMessage) bool { return value == nil })
	return out
}

// EqualJSON reports whether two texts are the same JSON, however they are written.
func EqualJSON(a, b []byte) bool {
	x, err := schema.Canonical(a)
	if err != nil {
		return false
	}
	y, err := schema.Canonical(b)
	return err == nil && bytes.Equal(x, y)
}

// fieldDefaults has the default values of fields, which an export writes.
var fieldDefaults = map[string]string{
	"system_prompt_mode": `"overwrite"`, "timeout_ms": "30000", "weight": "1", "enabled": "true", "tool_ids": "[]",
}

// WithoutDefaults returns the fields without null and default values.
func WithoutDefaults(fields Fields) Fields {
	out := Fields{}
	for name, value := range fields {
		plain := strings.TrimSpace(string(value))
		usually, known := fieldDefaults[name]
		if plain == "null" || known && (plain == usually || plain == usually+".0" || EqualJSON([]byte(plain), []byte(usually))) {
			continue
		}
		out[name] = value
	}
	return out
}

var nonSlug = lazyregexp.New(`[^A-Za-z0-9]+`)

// RenameReference replaces an id in a field that refers to it, as a text or in a list of
// texts. refers reports whether the field does.
func RenameReference(fields Fields, field, from, to string) (renamed Fields, refers bool) {
	var value any = to
	var ids []string
	switch raw := fields[field]; {
	case json.Unmarshal(raw, &ids) == nil && slices.Contains(ids, from):
		for i := range ids {
			if ids[i] == from {
				ids[i] = to
			}
		}
		value = ids
	case raw == nil || ids != nil || TextOf(raw) != from:
		return nil, false
	}
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts are always encoded
	}
	renamed = maps.Clone(fields)
	renamed[field] = raw
	return renamed, true
}

// NewID returns a free id for a new definition, from its name.
func NewID(prefix, name string, isTaken func(string) bool) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1 // the mark of an accent
		}
		return r
	}, norm.NFD.String(name))
	slug := strings.Trim(strings.ToLower(nonSlug.ReplaceAllString(plain, "_")), "_")
	if slug == "" {
		slug = "new"
	}
	id := strings.Trim(prefix+"_"+slug[:min(len(slug), 60)], "_")
	for n := 2; isTaken(id); n++ {
		id = fmt.Sprintf("%s_%s_%d", prefix, slug[:min(len(slug), 60)], n)
		id = strings.Trim(id, "_")
	}
	return id
}

// PathWithQuery returns a path with parameters, which are pairs of a name and a value.
// Parameters without a value are left out.
func PathWithQuery(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// WithoutFields returns the fields without the named ones.
func WithoutFields(fields Fields, names []string) Fields {
	out := maps.Clone(fields)
	maps.DeleteFunc(out, func(name string, _ json.RawMessage) bool { return slices.Contains(names, name) })
	return out
}
