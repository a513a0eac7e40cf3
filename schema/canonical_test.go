package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"b": 1, "a": [true, null, "x"]}`, `{"a":[true,null,"x"],"b":1}`},
		{`1`, `1`},
		{`1.0`, `1`},
		{`1e0`, `1`},
		{`10E-1`, `1`},
		{`-0.0`, `0`},
		{`0e99999999999999999999`, `0`},
		{`100`, `100`},
		{`1.50`, `1.5`},
		{`-12.5e1`, `-125`},
		{`0.000001`, `0.000001`},
		{`0.00000001`, `1e-8`},
		{`1.25e-9`, `1.25e-9`},
		{`1e400`, `1e400`},
		{`12345678901234567890123456789`, `12345678901234567890123456789`},
		{`9007199254740993`, `9007199254740993`},
		{`0.1234567890123456789`, `0.1234567890123456789`},
		{"\"<\\u00e9\\u2028>\\n\"", "\"<é\\u2028>\\n\""},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"a":1e99999999999999999999,"b":{"b":[],"a":{}},"\u0061":" [{,:\" "}`, `{"a":" [{,:\" ","b":{"a":{},"b":[]}}`},
		{`{"a\"":1,"a!":2,"a#":3}`, `{"a!":2,"a\"":1,"a#":3}`},
		{"[ \"a\xffb\" ,\t\"\\ud800\\u0041\\ud83d\\ude00\\/\\b\\u001f\\u007f\u2029\" ,\r\nfalse ]", "[\"a\ufffdb\",\"\ufffdA😀/\\b\\u001f\u007f\\u2029\",false]"},
	} {
		got, err := schema.Canonical([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, in := range []string{``, `{`, `1 2`, `nul`, `1e99999999999999999999`, `{"a":}`} {
		if got, err := schema.Canonical([]byte(in)); err == nil {
			t.Errorf("Canonical(%s) = %s; want an error", in, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.0,1e0,-0]}`, `12345678901234567890.5e-30`, `"é\ud800"`, `[[[]]]`, `{"a\"":1,"a":"\u2028\n<\/","a!":{"a":null,"a":true}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := schema.Canonical(data)
		if err != nil {
			return // TestCanonicalRefuses
		}
		if !json.Valid(once) {
			t.Fatalf("Canonical(%q) = %q is not JSON", data, once)
		}
		if want := decoded(t, data); string(once) != want {
			t.Fatalf("Canonical(%q) = %q, decoded it is %q", data, once, want)
		}
		twice, err := schema.Canonical(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("Canonical is not stable: %q then %q, %v", once, twice, err)
		}
	})
}

// decoded returns the canonical form of a text by way of Go's values.
func decoded(t *testing.T, data []byte) string {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		t.Fatalf("Canonical(%q) has no error: %v", data, err)
	}
	return encoded(t, value)
}

func encoded(t *testing.T, value any) string {
	var parts []string
	switch v := value.(type) {
	case json.Number:
		number, err := schema.Canonical([]byte(v))
		if err != nil {
			t.Fatal(err)
		}
		return string(number)
	case []any:
		for _, item := range v {
			parts = append(parts, encoded(t, item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, encoded(t, key)+":"+encoded(t, v[key]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// BenchmarkCanonical is the request of a short test.
func BenchmarkCanonical(b *testing.B) {
	data := []byte(`{"system":"Be brief.","messages":[{"role":"user","content":"What is 7?\n\nSay it in a sentence."}],"temperature":0.7}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Canonical(data); err != nil {
			b.Fatal(err)
		}
	}
}
