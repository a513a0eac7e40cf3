package matrix_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// The traps are rules in which versions of promptfoo differ, or which surprise. The
// rule of the later version holds; the page of the format says where Gavel's is
// another one.

// TestTrapP1: a threshold of 0 always passes, since 0.121.
func TestTrapP1(t *testing.T) {
	c := cases(t, "prompts: [x]\ntests: [{description: a, threshold: 0, assert: [{type: llm-rubric, value: good}]}]\n", nil)[0]
	if b := c.Policy.Bands; b == nil || b.Pass != 0 || c.Evaluators[0].Rule.Required != nil {
		t.Errorf("bands %+v and rule %+v, want that every score passes", b, c.Evaluators[0].Rule)
	}
}

// TestTrapP2: not- inverts a judge and a function, too, since 0.123. An assertion
// about cost or duration has no opposite, and is named.
func TestTrapP2(t *testing.T) {
	got, _ := load(t, "prompts: [x]\ntests:\n- assert: [{type: not-llm-rubric, value: rude}, {type: not-javascript, value: 'false'}]\n- {description: b, assert: [{type: not-latency, threshold: 5}]}\n", nil)
	graded, isGraded := got[0].Evaluators[0].Spec.(evaluator.Graded)
	function, isFunction := got[0].Evaluators[1].Spec.(evaluator.JavaScript)
	if !isGraded || !graded.Not || !isFunction || !function.Not {
		t.Errorf("evaluators %+v, want both inverted", got[0].Evaluators)
	}
	if want := "it needs the assertion not-latency"; got[1].Skip != want {
		t.Errorf("skip %q, want %q", got[1].Skip, want)
	}
}

// TestTrapP3: a latency or cost in a table without a number is asked for one. With
// promptfoo it would be 0.75 milliseconds or dollars.
func TestTrapP3(t *testing.T) {
	got, problems := load(t, "prompts: [x]\ntests: t.csv\n", map[string]string{"t.csv": "q,__expected\na,latency\nb,latency(500)\nc,\"levenshtein(2): x\"\n"})
	i := slices.IndexFunc(problems, func(p schema.Problem) bool { return p.Severity == schema.Error })
	if want := "t.csv:2:3: error: the assertion latency has no threshold; add threshold: with milliseconds"; i < 0 || problems[i].String() != want || got[0].Skip != "it needs a test without errors" {
		t.Errorf("skip %q, problems %v, want %q", got[0].Skip, problems, want)
	}
	if most := got[1].Evaluators[0].Rule.Most["latency"]; most != 500 {
		t.Errorf("the bound is %v, want 500", most)
	}
	if s, ok := got[2].Evaluators[0].Spec.(evaluator.Assertion); !ok || s.Most != 2 || string(s.Value) != `"x"` {
		t.Errorf("levenshtein is %+v, want at most 2 edits from x", got[2].Evaluators[0].Spec)
	}
}

// TestTableNamesTypes: a cell that names a type of promptfoo is not a text to be equal to,
// also where the type is not read.
func TestTableNamesTypes(t *testing.T) {
	got, _ := load(t, "prompts: [x]\ntests: t.csv\n", map[string]string{"t.csv": "q,__expected\na,is-sql\nb,perplexity(5)\nc,is-it\n"})
	skips := []string{got[0].Skip, got[1].Skip, got[2].Skip}
	if want := []string{"it needs a parser of SQL (is-sql)", "it needs probabilities of tokens (perplexity)", ""}; !slices.Equal(skips, want) {
		t.Errorf("skips %q, want %q", skips, want)
	}
}

// TestTrapP5: a variable that is JSON is filled in compactly, and text stays text.
func TestTrapP5(t *testing.T) {
	got := lines(cases(t, "prompts: ['{{o}} {{s}}']\ntests: [{description: a, vars: {o: {b: 2}, s: '{\"b\": 2}'}}]\n", nil))
	if want := `a @bot user={"b":2} {"b": 2}`; got[0] != want {
		t.Errorf("sent %s, want %s", got[0], want)
	}
}

// TestTrapP6: descriptions may repeat, and tests have no id.
func TestTrapP6(t *testing.T) {
	got := cases(t, "prompts: ['{{q}}']\ntests:\n- {description: same, vars: {q: a}}\n- {description: same, vars: {q: b}}\n- {description: other, vars: {q: b}}\n", nil)
	keys := []string{got[0].Key, got[1].Key, got[2].Key}
	if keys[0] == keys[1] || !strings.HasPrefix(keys[0], "promptfooconfig#same-") || keys[2] != "promptfooconfig#other" {
		t.Errorf("keys %v, want two that begin with same and one that is other", keys)
	}
}

// rows is a file with so many tests, each of them with a question of its own.
func rows(n, changed int) string {
	var b strings.Builder
	b.WriteString("prompts: ['Answer: {{q}}']\ndefaultTest: {assert: [{type: not-contains, value: error}]}\ntests:\n")
	for i := range n {
		question := fmt.Sprintf("What is %d plus %d?", i, i)
		if i == changed {
			question += " Be brief."
		}
		fmt.Fprintf(&b, "- {description: sum %d, vars: {q: %q}, assert: [{type: contains, value: '%d'}]}\n", i, question, 2*i)
	}
	return b.String()
}

// TestOneChangedVariable of 1,000 rows changes one case.
func TestOneChangedVariable(t *testing.T) {
	before, after := cases(t, rows(1000, -1), nil), cases(t, rows(1000, 500), nil)
	var changed []string
	for i := range before {
		a, b := lines(before[i : i+1])[0], lines(after[i : i+1])[0]
		if a != b {
			changed = append(changed, before[i].Key, after[i].Key)
		}
	}
	if want := []string{"promptfooconfig#sum-500", "promptfooconfig#sum-500"}; !slices.Equal(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
}

// BenchmarkLoad compiles 1,000 rows, of the 256 KiB that a definition may have.
func BenchmarkLoad(b *testing.B) {
	fsys, text := emptyFS(), rows(1000, -1)
	src := document.Source{FS: fsys, Root: file, KeyRoot: file}
	for b.Loop() {
		doc, _ := document.Parse(file, []byte(text))
		if got, problems := loadDocument(src, doc); len(got) != 1000 {
			b.Fatalf("%d cases, problems %v", len(got), problems)
		}
	}
}
