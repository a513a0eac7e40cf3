package evaluate

import "testing"

// TestApart has texts that differ, some of which look the same.
func TestApart(t *testing.T) {
	for _, tt := range []struct{ got, want, said string }{
		{"a\u00a0b", "a b", "; character 2 is U+00A0, not a space"},
		{"long", "lang", `; character 2 is "o", not "a"`},
		{"с\u0430", "сa", `; character 2 is "а" (U+0430), not "a"`},
		{"caf\u00e9", "cafe\u0301", `; character 4 is "é" (U+00E9), not "e"`},
		{"abc", "ab", `; character 3 is "c", not the end`},
		{"ab", "ab\n", "; character 3 is the end, not a line break"},
		{"ab\u200b", "ab\u0301", "; character 3 is U+200B, not U+0301"},
		{"yes", "no", ""}, {"", "no", ""}, {"same", "same", ""},
	} {
		if said := apart(tt.got, tt.want); said != tt.said {
			t.Errorf("%q and %q: %q, want %q", tt.got, tt.want, said, tt.said)
		}
	}
}
