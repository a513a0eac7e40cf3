package matrix_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// scoredBy returns the compiled evaluator of a test whose function decides.
func scoredBy(t *testing.T, test string, others map[string]string) evaluator.Composite {
	t.Helper()
	c := cases(t, "prompts: [hi]\nproviders: [bot]\ntests:\n- "+test, others)[0]
	if c.Skip != "" || len(c.Evaluators) != 1 || c.Policy.Bands != nil {
		t.Fatalf("%+v, want one evaluator", c)
	}
	spec, isComposite := c.Evaluators[0].Spec.(evaluator.Composite)
	if !isComposite || spec.Function == nil {
		t.Fatalf("%+v, want a composite with a function", c.Evaluators[0].Spec)
	}
	return spec
}

// TestScoringFunction: the members are the assertions with their metrics, a file that only
// computes needs no program, and one of Python is a program with the function func.
func TestScoringFunction(t *testing.T) {
	const asserts = ", threshold: 0.75, vars: {m: a}, assert: [{type: contains, value: x, metric: '{{m}}'}, {type: assert-set, assert: [{type: equals, value: y, weight: 2}]}]}"
	spec := scoredBy(t, "{assertScoringFunction: 'file://score.js'"+asserts, map[string]string{"score.js": "module.exports = (scores) => ({pass: true, score: 1, reason: 'r'})"})
	if got, isScript := spec.Function.Spec.(evaluator.JavaScript); !isScript || string(got.Context) != `{"threshold":0.75}` {
		t.Errorf("%+v, want JavaScript that is told the threshold", spec.Function.Spec)
	}
	var told schema.RowAssertion
	if err := json.Unmarshal(spec.Members[0].Assertion, &told); err != nil || told.Metric != "a" || told.Type != "contains" {
		t.Errorf("the function is told of %s (%v), want contains with the metric a", spec.Members[0].Assertion, err)
	}
	inner := spec.Members[1].Spec.(evaluator.Composite).Members[0].Assertion
	if err := json.Unmarshal(inner, &told); err != nil || told.Weight == nil || *told.Weight != 2 {
		t.Errorf("the function is told of %s (%v), want the weight 2", inner, err)
	}
	for source, name := range map[string]string{"file://score.py": "func", "file://score.py:mean": "mean", "file://far.js:mean": "mean", "file://far.js": "func"} {
		spec := scoredBy(t, "{assertScoringFunction: '"+source+"'"+asserts, map[string]string{"score.py": "def func(a, b): pass", "far.js": "const fs = require('fs')"})
		program, isProgram := spec.Function.Spec.(evaluator.Function)
		if !isProgram || program.Argv[len(program.Argv)-1] != name || len(program.Built.Paths()) == 0 {
			t.Errorf("%s: %+v, want a program with its files and the function %s", source, spec.Function.Spec, name)
		}
	}
}

// TestScoringFunctionOfAllTests takes the function of defaultTest, unless a test has its own; a test
// without assertions has nothing to decide on.
func TestScoringFunctionOfAllTests(t *testing.T) {
	files := map[string]string{"a.js": "module.exports = () => 'a'", "b.js": "module.exports = () => 'b'"}
	const text = "prompts: [hi]\nproviders: [bot]\ndefaultTest: {assertScoringFunction: 'file://a.js'}\ntests:\n- {description: a, assert: [{type: contains, value: x}]}\n- {description: b, assertScoringFunction: 'file://b.js', assert: [{type: contains, value: x}]}\n- {description: none}\n"
	for _, c := range cases(t, text, files) {
		spec, scored := c.Evaluators[0].Spec.(evaluator.Composite)
		if scored != (c.Labels.Name != "none") {
			t.Errorf("%s: %+v", c.Key, c.Evaluators[0])
		}
		if scored && !strings.Contains(spec.Function.Spec.(evaluator.JavaScript).Code, "'"+c.Labels.Name+"'") {
			t.Errorf("%s has another function: %+v", c.Key, spec.Function.Spec)
		}
	}
}

// TestScoringFunctionThatIsWrong is an error with the repair; the cases are not run.
func TestScoringFunctionThatIsWrong(t *testing.T) {
	for source, want := range map[string]string{
		"'scores.a > 0.5'":   "names no file of JavaScript or Python",
		"'file://score.txt'": "names no file of JavaScript or Python",
		"'file://nope.js'":   "does not exist",
		"3":                  "must be a string",
	} {
		got, problems := load(t, "prompts: [hi]\nproviders: [bot]\ntests:\n- {assertScoringFunction: "+source+", assert: [{type: contains, value: x}]}\n", nil)
		found := false
		for _, p := range problems {
			found = found || p.Severity == schema.Error && p.Line == 4 && p.Hint != "" && strings.Contains(p.Message, want)
		}
		if !found || len(got) != 1 || got[0].Skip == "" {
			t.Errorf("%s: %+v with %v, want a case that is not run and %q", source, got, problems, want)
		}
	}
}
