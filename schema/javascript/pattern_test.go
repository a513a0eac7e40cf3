package javascript_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/javascript"
)

// TestCheckPattern has patterns that JavaScript has, whether RE2 has them or not, and
// others.
func TestCheckPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, flags string
		want           string // in the message; empty for a pattern that is right
	}{
		{`a+`, "", ""}, {`(?=a)`, "", ""}, {`(?<!a)b`, "", ""}, {`(a)\1`, "", ""}, {`caf\u00e9`, "", ""}, {`[\u4e00-\u9fff]`, "", ""}, {`\cA`, "", ""}, {`[]`, "", ""},
		{`(a{1,1000}){1,1000}`, "", ""}, {`a{1,100000}`, "", ""}, {`\p{L}`, "u", ""}, {`[\p{L}--[a-z]]`, "v", ""}, {`\A[[:alpha:]]\z`, "", ""}, {`(?i:a)`, "", ""},
		{`(`, "", "expecting ')'"}, {`[`, "", "unexpected end"}, {`(a(?=b)`, "", "expecting ')'"}, {`(?=a){2,1}*`, "", "invalid repetition count"}, {`(?i)a`, "", "expecting ':'"}, {`(?P<n>a)`, "", "invalid group"},
		{`\p{Nope}`, "u", "unknown unicode property"}, {`^*`, "", "nothing to repeat"}, {`\b+`, "", "nothing to repeat"}, {`a**`, "", "nothing to repeat"},
		{strings.Repeat("a", javascript.MaxPattern+1), "", "more than 8192 bytes"},
	} {
		err := javascript.CheckPattern(tt.pattern, tt.flags)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%.30q with %q: %v, want %q", tt.pattern, tt.flags, err, tt.want)
		}
	}
	wrong, isWrong := errors.AsType[*javascript.PatternError](javascript.CheckPattern(strings.Repeat("()", 4000), ""))
	if !isWrong || !wrong.Limit {
		t.Errorf("4000 groups give %v, want a limit of the engine", wrong)
	}
}

// TestMatch has patterns that RE2 reads in another way, with what Node.js says of them,
// and one that backtracks forever.
func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, flags, text string
		want                 bool
	}{
		{`[[:alpha:]]+`, "", "hello", false}, {`[[:alpha:]]+`, "", "a]", true}, {`\Ah`, "", "hello", false}, {`\pL`, "", "hello", false}, {`^\p{L}+$`, "", "hello", false}, {`^\p{L}+$`, "u", "привет", true},
		{`\a`, "", "cat", true}, {`\Qa.b\E`, "", "a.b", false}, {`\x{68}`, "", "hello", false}, {`^.{2}$`, "", "👍", true}, {`^.$`, "u", "👍", true}, {`a.b`, "", "a\u2028b", false}, {`a.b`, "s", "a\u2028b", true},
		{`^\s$`, "", "\u00a0", true}, {`HELLO`, "i", "hello", true}, {`^b`, "m", "a\nb", true}, {`^b`, "y", "ab", false}, {`(?<=a)b`, "", "ab", true}, {`\bé`, "", "é", false}, {`ſ`, "iu", "S", true}, {`ſ`, "i", "S", false},
	} {
		if got, err := javascript.Match(t.Context(), tt.pattern, tt.flags, tt.text); err != nil || got != tt.want {
			t.Errorf("%q with %q on %q: %t, %v, want %t", tt.pattern, tt.flags, tt.text, got, err, tt.want)
		}
	}
	if _, err := javascript.Match(t.Context(), `^(?!b)(a+)+$`, "", strings.Repeat("a", 60)+"!"); err == nil || err.Error() != "the pattern takes longer than 2s" {
		t.Errorf("a pattern that backtracks forever gives %v, want that it takes too long", err)
	}
}

// BenchmarkMatch100KB matches a pattern that both engines have at the end of a long text.
func BenchmarkMatch100KB(b *testing.B) {
	text := strings.Repeat("some words and ", 7_000) + "end42"
	const pattern = `end\d+`
	b.Run("JavaScript", func(b *testing.B) {
		for b.Loop() {
			if found, err := javascript.Match(b.Context(), pattern, "", text); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
	b.Run("RE2", func(b *testing.B) {
		re := regexp.MustCompile(pattern)
		for b.Loop() {
			if !re.MatchString(text) {
				b.Fatal("the pattern does not match")
			}
		}
	})
}
