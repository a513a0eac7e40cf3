package schema_test

import (
	"encoding/json"
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
	for _, seed := range []string{`{"b":1,"a":[1.0,1e0,-0]}`, `12345678901234567890.5e-30`, `"é\ud800"`, `[[[]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := schema.Canonical(data)
		if err != nil {
			return
		}
		if !json.Valid(once) {
			t.Fatalf("Canonical(%q) = %q is not JSON", data, once)
		}
		twice, err := schema.Canonical(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("Canonical is not stable: %q then %q, %v", once, twice, err)
		}
	})
}
