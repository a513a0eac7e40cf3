package jsregexp_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/javascript/jsregexp"
)

// TestIsNeeded tells patterns that only JavaScript has from those of RE2 and from mistakes,
// however deep they are.
func TestIsNeeded(t *testing.T) {
	deep := func(n int) string { return "(?=a)" + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }
	for _, tt := range []struct {
		pattern string
		want    bool
	}{
		{`(?=a)`, true}, {`(?!a)b`, true}, {`(?<=a)b`, true}, {`(?<!a)b`, true}, {`(a)\1`, true}, {deep(500), true},
		{`a+`, false}, {`(`, false}, {`[`, false}, {`(a(?=b)`, false}, {`(?=a)[`, false}, {`(?=a){2,1}*`, false}, {deep(510), false},
	} {
		if got := jsregexp.IsNeeded(tt.pattern); got != tt.want {
			t.Errorf("%.20q is one of JavaScript alone: %t, want %t", tt.pattern, got, tt.want)
		}
	}
}
