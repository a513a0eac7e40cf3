package golden

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
)

// JSON compares a value, written as JSON, with a file. Empty fields with Go names are
// omitted, so that the file only shows the content; fields with JSON names are shown
// completely.
func JSON(tb testing.TB, file string, value any) {
	tb.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(pruned(tree)); err != nil {
		tb.Fatal(err)
	}
	Compare(tb, file, out.String())
}

func pruned(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	case map[string]any:
		for name, field := range v {
			v[name] = pruned(field)
			empty := field == nil || field == "" || field == false || field == json.Number("0")
			if empty && unicode.IsUpper(rune(name[0])) {
				delete(v, name)
			}
		}
	}
	return value
}
