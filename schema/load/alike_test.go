package load

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestCasesThatLookAlike: two files whose names people cannot tell apart are a warning that
// writes out the characters of one, and both cases stay.
func TestCasesThatLookAlike(t *testing.T) {
	const folder = "test_definitions/conversation/level_1/"
	for _, tt := range []struct {
		one, other string
		want       string // empty without a warning
	}{
		{"caf\u00e9.json", "cafe\u0301.json", `the case "conversation/level_1/cafe\u0301" looks like another one, whose name is made of other characters; rename one of them; the other is in ` + folder + "caf\u00e9.json:1:1"},
		{"a\tb.json", "a\nb.json", `the case "conversation/level_1/a\nb" looks like another one, whose name is made of other characters; rename one of them; the other is in ` + folder + "a\tb.json:1:1"},
		{"a b.json", "a\u00a0b.json", `the case "conversation/level_1/a\u00a0b" looks like another one, whose name is made of other characters; rename one of them; the other is in ` + folder + "a b.json:1:1"},
		{"caf\u00e9.json", "cafe.json", ""},
		{"a b.json", "ab.json", ""},
	} {
		texts := seed()
		for i, name := range []string{tt.one, tt.other} {
			texts[folder+name] = fmt.Sprintf(`{"id": "looks-%d", "name": "N", "prompt": "p", "expected": {"keywords": ["x"]}}`, i)
		}
		res, err := Load(t.Context(), fsOf(texts), Options{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range res.Problems {
			if p.Rule == "alike-key" && p.Severity == schema.Warning {
				got = append(got, p.Message+"; "+p.Hint)
			}
		}
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q and %q:\n%q\nwant\n%q", tt.one, tt.other, got, want)
		}
		cases := 0
		for _, c := range res.Cases {
			if c.Labels.Name == "N" {
				cases++
			}
		}
		if cases != 2 {
			t.Errorf("%q and %q are %d cases", tt.one, tt.other, cases)
		}
	}
}
