package evaluate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestAssertion has the rules of each assertion, with an answer that holds and one
// that does not.
func TestAssertion(t *testing.T) {
	for _, tt := range []struct {
		spec         evaluator.Assertion
		holds, fails string
		note         string // of the answer that fails
	}{
		{evaluator.Assertion{Type: "contains", Value: rawJSON(`"Paris"`)}, "It is Paris.", "it is paris", `the answer does not contain "Paris"`},
		{evaluator.Assertion{Type: "icontains", Value: rawJSON(`"PARIS"`)}, "it is paris", "Rome", `the answer does not contain "PARIS" in any case`},
		{evaluator.Assertion{Type: "contains", Value: rawJSON(`"x"`), Not: true}, "y", "x", "contains holds, and must not"},
		{evaluator.Assertion{Type: "starts-with", Value: rawJSON(`"The"`)}, "The end", " The end", `the answer does not start with "The"`},
		{evaluator.Assertion{Type: "ends-with", Value: rawJSON(`"end"`)}, "The end", "The end ", `the answer does not end with "end"`},
		{evaluator.Assertion{Type: "regex", Value: rawJSON(`"\\d{3}"`)}, "a 123", "12", `the answer does not match "\\d{3}"`},
		{evaluator.Assertion{Type: "regex", Value: rawJSON(`"paris"`), Flags: "i"}, "PARIS", "Rome", `the answer does not match "paris"`},
		{evaluator.Assertion{Type: "regex", Value: rawJSON(`"^\\s(?=a)"`)}, "\u00a0a", "a", `the answer does not match "^\\s(?=a)"`},
		{evaluator.Assertion{Type: "regex", Value: rawJSON(`"[[:alpha:]]"`), Not: true}, "hello", "a]", "regex holds, and must not"},
		{evaluator.Assertion{Type: "contains-any", Value: rawJSON(`["a", "b"]`)}, "xb", "xA", `the answer contains none of "a", "b"`},
		{evaluator.Assertion{Type: "icontains-any", Value: rawJSON(`["a", "b"]`)}, "xA", "x", `the answer contains none of "a", "b"`},
		{evaluator.Assertion{Type: "contains-all", Value: rawJSON(`["a", "b"]`)}, "ab", "a", `the answer does not contain "b"`},
		{evaluator.Assertion{Type: "icontains-all", Value: rawJSON(`["a", "B"]`)}, "Ab", "b", `the answer does not contain "a"`},
		{evaluator.Assertion{Type: "equals", Value: rawJSON(`"yes"`)}, "yes", "yes\n", `the answer has other white space around it than "yes"`},
		{evaluator.Assertion{Type: "equals", Value: rawJSON(`"yes"`)}, "yes", "no", `the answer is "no", not "yes"`},
		{evaluator.Assertion{Type: "equals", Value: rawJSON(`{"a": 1, "b": [2]}`)}, `{"b":[2.0],"a":1}`, `{"a":1}`, `the answer is {"a":1}, not {"a":1,"b":[2]}`},
		{evaluator.Assertion{Type: "equals", Value: rawJSON(`{"a": 1}`)}, `{"a":1}`, "a", `the answer is not JSON: "a"`},
		{evaluator.Assertion{Type: "equals", Value: rawJSON(`{"a": 1}`), Not: true}, "not JSON", `{"a":1}`, "equals holds, and must not"},
		{evaluator.Assertion{Type: "is-json"}, `[1]`, "```json\n[1]\n```", "the answer is not JSON: \"```json [1] ```\""},
		{evaluator.Assertion{Type: "is-json", Value: rawJSON(`{"required": ["a"]}`)}, `{"a":1}`, `{}`, "the JSON of the answer does not fit"},
		{evaluator.Assertion{Type: "contains-json"}, "here: {\"a\": [1]} ok", "here: {a", "the answer contains no JSON"},
		{evaluator.Assertion{Type: "contains-json", Value: rawJSON(`{"required": ["b"]}`)}, `{"a":1} {"b":1}`, `{"a":1}`, "the JSON of the answer does not fit"},
		{evaluator.Assertion{Type: "word-count", Value: rawJSON(`{"min": 2, "max": 3}`)}, "one  two\nthree", "one", "the answer has 1 word, and at least 2 are wanted"},
		{evaluator.Assertion{Type: "levenshtein", Value: rawJSON(`"kitten"`), Most: 3}, "sitting", "sitting!", `the answer is 4 edits from "kitten", and 3 are allowed`},
		{evaluator.Assertion{Type: "levenshtein", Value: rawJSON(`"äö"`), Most: 0}, "äö", "ä", `the answer is 1 edit from "äö", and 0 are allowed`},
	} {
		for _, answer := range []struct {
			text string
			want float64
		}{{tt.holds, 1}, {tt.fails, 0}} {
			c, err := assertion(t.Context(), tt.spec, answer.text)
			if err != nil || c.Score != answer.want || c.ID != assertionCriterion {
				t.Errorf("%s %s of %q: %+v, %v, want the score %v", tt.spec.Type, tt.spec.Value, answer.text, c, err, answer.want)
			}
			if answer.want == 0 && !strings.HasPrefix(c.Note, tt.note) || answer.want == 1 && c.Note != "" {
				t.Errorf("%s %s of %q: note %q, want %q", tt.spec.Type, tt.spec.Value, answer.text, c.Note, tt.note)
			}
		}
	}
}

// TestUnusable are assertions that measure nothing: an error, never a score of 0.
func TestUnusable(t *testing.T) {
	for _, spec := range []evaluator.Assertion{
		{Type: "sounds-like", Value: rawJSON(`"x"`)},
		{Type: "contains", Value: rawJSON(`""`)},
		{Type: "contains", Value: rawJSON(`5`)},
		{Type: "contains-any", Value: rawJSON(`[]`)},
		{Type: "regex", Value: rawJSON(`"("`)},
		{Type: "equals"},
	} {
		if c, err := assertion(t.Context(), spec, "x"); err == nil {
			t.Errorf("%s %s: %+v, want an error", spec.Type, spec.Value, c)
		}
	}
}

// TestLongTexts holds that a long answer takes no long time: the distance of texts
// grows with the product of their lengths.
func TestLongTexts(t *testing.T) {
	c, err := assertion(t.Context(), evaluator.Assertion{Type: "levenshtein", Value: rawJSON(`"x"`), Most: 5}, strings.Repeat("y", 1<<20))
	if err != nil || c.Score != 0 || !strings.Contains(c.Note, "is not compared") {
		t.Errorf("the distance of a long answer: %+v, %v, want that it is not compared", c, err)
	}
	c, err = assertion(t.Context(), evaluator.Assertion{Type: "contains-json", Value: rawJSON(`{"required": ["a"]}`)}, strings.Repeat("[", 1<<16))
	if err != nil || c.Score != 0 {
		t.Errorf("JSON in a long answer: %+v, %v, want the score 0", c, err)
	}
}

func rawJSON(s string) json.RawMessage { return json.RawMessage(s) }

// TestJSONFarInAnAnswer: an answer in which JSON is not looked for everywhere is an error, and
// neither without JSON nor, where none is wanted, right.
func TestJSONFarInAnAnswer(t *testing.T) {
	for _, not := range []bool{false, true} {
		c, err := assertion(t.Context(), evaluator.Assertion{Type: "contains-json", Not: not}, strings.Repeat("{ ", 100)+`{"a": 1}`)
		if err == nil || !strings.Contains(err.Error(), "more than 100 places at which JSON may begin") {
			t.Errorf("not %v: %v, %v; want an error", not, c, err)
		}
	}
}
