package javascript

import (
	"strings"
	"testing"
)

// TestIsPattern holds for patterns that the interpreter has, whether RE2 has them or not.
func TestIsPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		want    bool
	}{
		{`a+`, true}, {`(?=a)`, true}, {`caf\u00e9`, true}, {`[\u4e00-\u9fff]`, true}, {`\cA`, true}, {`[]`, true},
		{`(`, false}, {`[`, false}, {`(a(?=b)`, false}, {`(a{1,1000}){1,1000}`, false}, {strings.Repeat("a", MaxPattern+1), false},
	} {
		if got := IsPattern(tt.pattern, ""); got != tt.want {
			t.Errorf("%.20q is one of the interpreter: %t, want %t", tt.pattern, got, tt.want)
		}
	}
}

// TestIsOwnPattern distinguishes patterns that only JavaScript has from RE2's and from
// mistakes, however deep they are.
func TestIsOwnPattern(t *testing.T) {
	deep := func(n int) string { return "(?=a)" + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }
	for _, tt := range []struct {
		pattern string
		want    bool
	}{
		{`(?=a)`, true}, {`(?!a)b`, true}, {`(?<=a)b`, true}, {`(?<!a)b`, true}, {`(a)\1`, true}, {deep(500), true},
		{`a+`, false}, {`(`, false}, {`[`, false}, {`(a(?=b)`, false}, {`(?=a)[`, false}, {`(?=a){2,1}*`, false}, {deep(510), false},
	} {
		if got := isOwnPattern(tt.pattern, ""); got != tt.want {
			t.Errorf("%.20q is one of JavaScript alone: %t, want %t", tt.pattern, got, tt.want)
		}
	}
}
