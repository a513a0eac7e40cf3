package cuefile

import (
	"strings"
	"testing"
)

// TestDecodeBelievesNothing refuses answers that no evaluation gives.
func TestDecodeBelievesNothing(t *testing.T) {
	deep := strings.Repeat(`{"kind":"list","at":{},"items":[`, MaxDepth+2) + strings.Repeat("]}", MaxDepth+2)
	for _, tt := range []struct{ name, line string }{
		{"no JSON", `{`},
		{"nothing", `{}`},
		{"both", `{"value":{"kind":"null"},"problems":[{"message":"x"}]}`},
		{"an unknown kind", `{"value":{"kind":"func"}}`},
		{"a bad number", `{"value":{"kind":"number","text":"1 or 2"}}`},
		{"no number", `{"value":{"kind":"number"}}`},
		{"a bad bool", `{"value":{"kind":"bool","text":"maybe"}}`},
		{"items of a string", `{"value":{"kind":"string","items":[{"kind":"null"}]}}`},
		{"fields of a list", `{"value":{"kind":"list","fields":[{"name":"a","value":{"kind":"null"}}]}}`},
		{"a field twice", `{"value":{"kind":"struct","fields":[{"name":"a","value":{"kind":"null"}},{"name":"a","value":{"kind":"null"}}]}}`},
		{"a field of nothing", `{"value":{"kind":"struct","fields":[{"name":"a"}]}}`},
		{"a place outside", `{"value":{"kind":"null","at":{"offset":5}}}`},
		{"a negative place", `{"value":{"kind":"null","at":{"offset":-1}}}`},
		{"nesting", `{"value":` + deep + `}`},
		{"text", `{"value":{"kind":"string","text":"` + strings.Repeat("x", MaxText+1) + `"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if out, err := decode([]byte(tt.line), []byte("a: 1")); err == nil {
				t.Errorf("it was believed: %+v", out)
			}
		})
	}
	if _, err := decode([]byte(`{"value":{"kind":"null","at":{"offset":4}}}`), []byte("a: 1")); err != nil {
		t.Errorf("the end of the file is a place: %v", err)
	}
}
