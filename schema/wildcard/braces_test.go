package wildcard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/wildcard"
)

func TestAlternatives(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		isGlob  bool
		want    []string
	}{
		{"a.yaml", false, []string{"a.yaml"}},
		{"{a,b}/*.yaml", true, []string{"a/*.yaml", "b/*.yaml"}},
		{"x/{a,b}{1,2}.md", true, []string{"x/a1.md", "x/a2.md", "x/b1.md", "x/b2.md"}},
		{"{a,b{c,d}}", true, []string{"a", "bc", "bd"}},
		{"{,x}.md", true, []string{".md", "x.md"}},
		{"{a}.md", false, []string{"{a}.md"}},
		{"{a}{b,c}", true, []string{"{a}b", "{a}c"}},
		{"{a,b", false, []string{"{a,b"}},
		{"a},b}", false, []string{"a},b}"}},
		{"{{a,b}}.md", false, []string{"{{a,b}}.md"}},
		{"**/a?.md", true, []string{"**/a?.md"}},
	} {
		got, ok := wildcard.Alternatives(tt.pattern)
		if !ok || !slices.Equal(got, tt.want) || wildcard.IsGlob(tt.pattern) != tt.isGlob {
			t.Errorf("%s: %q (glob: %v), want %q (%v)", tt.pattern, got, wildcard.IsGlob(tt.pattern), tt.want, tt.isGlob)
		}
	}
	if all, ok := wildcard.Alternatives(strings.Repeat("{a,b}", 8)); !ok || len(all) != 256 {
		t.Errorf("eight sets mean %d names (%v), want 256", len(all), ok)
	}
	if _, ok := wildcard.Alternatives(strings.Repeat("{a,b}", 60)); ok {
		t.Error("2^60 names are not refused")
	}
}
