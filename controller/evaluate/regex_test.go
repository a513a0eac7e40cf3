package evaluate_test

import (
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

func TestRegex(t *testing.T) {
	for _, tt := range []struct {
		name, reply string
		spec        evaluator.Regex
		want        float64
	}{
		{"presence", "The END.", evaluator.Regex{Pattern: "end"}, 1},
		{"absence", "The END.", evaluator.Regex{Pattern: "begin"}, 0},
		{"empty reply", "", evaluator.Regex{Pattern: "end"}, 0},
		{"point matches a line end", "a\nb", evaluator.Regex{Pattern: "a.b"}, 1},
		{"no group is presence whatever is expected", "answer: 7", evaluator.Regex{Pattern: `answer: \d`, Expected: raw(`8`)}, 1},
		{"a group without a value is presence", "answer: 7", evaluator.Regex{Pattern: `answer: (\d)`}, 1},
		{"null is presence", "answer: 7", evaluator.Regex{Pattern: `answer: (\d)`, Expected: raw(`null`)}, 1},
		{"group equal", "Answer: Jakarta ", evaluator.Regex{Pattern: `answer: (\w+)`, Expected: raw(`"JAKARTA"`)}, 1},
		{"group differs", "Answer: Bandung", evaluator.Regex{Pattern: `answer: (\w+)`, Expected: raw(`"Jakarta"`)}, 0},
		{"first group counts", "a b", evaluator.Regex{Pattern: `(a) (b)`, Expected: raw(`"b"`)}, 0},
		{"group that took no part", "b", evaluator.Regex{Pattern: `(a)?b`, Expected: raw(`"a"`)}, 0},
		{"empty expected value", "b", evaluator.Regex{Pattern: `(a)?b`, Expected: raw(`""`)}, 1},
		{"number as text", "n=7", evaluator.Regex{Pattern: `n=(\S+)`, Expected: raw(`7`)}, 1},
		{"number as text is not read", "n=7.0", evaluator.Regex{Pattern: `n=(\S+)`, Expected: raw(`7`)}, 0},
		{"exact number", "n=7.0", evaluator.Regex{Pattern: `n=(\S+)`, Expected: raw(`7`), Comparison: "exact_number"}, 1},
		{"exact number differs", "n=7.01", evaluator.Regex{Pattern: `n=(\S+)`, Expected: raw(`"7"`), Comparison: "exact_number"}, 0},
		{"exact number of a word", "n=x", evaluator.Regex{Pattern: `n=(\S+)`, Expected: raw(`7`), Comparison: "exact_number"}, 0},
		{"boolean", "is TRUE", evaluator.Regex{Pattern: `is (\w+)`, Expected: raw(`true`)}, 1},
		{"object", `{"a":1}`, evaluator.Regex{Pattern: `(\{.*\})`, Expected: raw(`{"a":1}`)}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := measure(t, tt.spec, tt.reply, &script{})
			if m.Error != "" {
				t.Fatal(m.Error)
			}
			if got := score(t, tt.spec, m); got != tt.want {
				t.Errorf("score %v (%s), want %v", got, m.Reason, tt.want)
			}
		})
	}
}

// TestAbuseEndlessPatterns has patterns that take forever elsewhere end with a score.
func TestAbuseEndlessPatterns(t *testing.T) {
	for _, pattern := range []string{`(a+)+$b`, `(a|aa)+$b`, `(.*a){25}b`} {
		spec := evaluator.Regex{Pattern: pattern}
		m := measure(t, spec, strings.Repeat("a", 50_000), &script{})
		if got := score(t, spec, m); m.Error != "" || got != 0 {
			t.Errorf("%s: score %v, %q", pattern, got, m.Error)
		}
	}
}

func TestRegexErrors(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spec       evaluator.Regex
	}{
		{"empty", "empty", evaluator.Regex{}},
		{"malformed", "does not compile: missing closing )", evaluator.Regex{Pattern: "(a"}},
		{"lookahead", "does not compile", evaluator.Regex{Pattern: "(?=a)"}},
		{"too long", "longer than 4096", evaluator.Regex{Pattern: strings.Repeat("a", 5000)}},
		{"too many repetitions", "does not compile", evaluator.Regex{Pattern: "((a{1000}){1000}){1000}"}},
		{"unknown comparison", `"fuzzy" is not known`, evaluator.Regex{Pattern: "(x)", Expected: raw(`"x"`), Comparison: "fuzzy"}},
		{"expected is not a number", "not a number", evaluator.Regex{Pattern: "(x)", Expected: raw(`"x"`), Comparison: "exact_number"}},
	} {
		t.Run(tt.name, func(t *testing.T) { fails(t, measure(t, tt.spec, "xxx", &script{}), tt.want) })
	}
}
