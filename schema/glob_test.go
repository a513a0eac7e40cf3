package schema

import "testing"

func TestMatchGlob(t *testing.T) {
	for _, test := range []struct {
		glob, name string
		want       bool
	}{
		{"math/level_1/sum", "math/level_1/sum", true},
		{"math/*/sum", "math/level_1/sum", true},
		{"math/*", "math/level_1/sum", false},
		{"math/**", "math/level_1/sum", true},
		{"math/**", "math", true},
		{"**/sum", "math/level_1/sum", true},
		{"**", "anything/at/all", true},
		{"m**h", "math", true},
		{"**/level_?/**", "a/b/level_2/c", true},
		{"**/level_?/**", "a/b/level_22/c", false},
		{"[", "[", true},
		{"[", "x", false},
		{"math/level_1/sum/more", "math/level_1/sum", false},
	} {
		if got := MatchGlob(test.glob, test.name); got != test.want {
			t.Errorf("MatchGlob(%q, %q) = %v", test.glob, test.name, got)
		}
	}
}
