package matrix_test

import (
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestOptions: a test leaves the shared assertions out, an older name of transform is read, and
// a key that is not read is named.
func TestOptions(t *testing.T) {
	got := cases(t, `prompts: [x]
defaultTest: {assert: [{type: contains, value: shared}]}
scenarios: [{config: [{assert: [{type: contains, value: setting}]}], tests: [{description: c, options: {disableDefaultAsserts: true}}]}]
tests:
- {description: a, options: {disableDefaultAsserts: true, runSerially: true}, assert: [{type: contains, value: own}]}
- {description: b, options: {postprocess: output.trim()}, assert: [{type: contains, value: own}]}
`, nil)
	var said []string
	for _, c := range got {
		line := c.Key
		for _, a := range c.Row.Asserts {
			line += " " + string(a.Value)
		}
		said = append(said, line)
	}
	if want := []string{`promptfooconfig#a "own"`, `promptfooconfig#b "shared" "own"`, `promptfooconfig#c "setting"`}; !slices.Equal(said, want) {
		t.Errorf("the assertions are %q, want %q", said, want)
	}
	if spec, ok := got[1].Evaluators[1].Spec.(evaluator.Transformed); !ok || !slices.Equal(spec.Steps, []string{"output.trim()"}) {
		t.Errorf("the assertion with postprocess is %+v, want that it looks at output.trim()", got[1].Evaluators[1].Spec)
	}
	_, problems := load(t, "prompts: [x]\ntests: [{options: {prefx: a, temperature: 0}, assert: [{type: contains, value: x}]}]\n", nil)
	var warned []string
	for _, p := range problems {
		if p.Severity == schema.Warning {
			warned = append(warned, p.String())
		}
	}
	want := []string{
		"promptfooconfig.yaml:2:20: warning: `prefx` of options is not read; the test is run without it; did you mean `prefix`?",
		"promptfooconfig.yaml:2:30: warning: `temperature` of options is not read; the test is run without it; remove it, or set it for the target in gavel.yaml",
	}
	if !slices.Equal(warned, want) {
		t.Errorf("warnings %q, want %q", warned, want)
	}
}
