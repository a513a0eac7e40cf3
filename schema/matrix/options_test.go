package matrix_test

import (
	"fmt"
	"slices"
	"strings"
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

// TestFormsOfOptions: every option that promptfoo has, in a form that it cannot have, is an
// error with its place and the repair, on each level that has options.
func TestFormsOfOptions(t *testing.T) {
	for _, tt := range []struct{ option, want string }{
		{"prefix: 5", "`prefix` of options must be a text, not 5; write a text"},
		{"suffix: [a]", "`suffix` of options must be a text, not [\"a\"]; write a text"},
		{"transform: true", "`transform` of options must be a text, not true; write a text"},
		{"postprocess: {a: b}", "`postprocess` of options must be a text, not {\"a\":\"b\"}; write a text"},
		{"transformVars: 1", "`transformVars` of options must be a text, not 1; write a text"},
		{"storeOutputAs: 1", "`storeOutputAs` of options must be a text, not 1; write a text"},
		{"disableVarExpansion: 'yes'", "`disableVarExpansion` of options must be true or false, not \"yes\"; write true or false"},
		{"disableConversationVar: 1", "`disableConversationVar` of options must be true or false, not 1; write true or false"},
		{"disableDefaultAsserts: 'true'", "`disableDefaultAsserts` of options must be true or false, not \"true\"; write true or false"},
		{"runSerially: 0", "`runSerially` of options must be true or false, not 0; write true or false"},
		{"repeat: '3'", "`repeat` of options must be a whole number from 1 to 1000, not \"3\"; write a number such as 3"},
		{"repeat: 0", "`repeat` of options must be a whole number from 1 to 1000, not 0; write a number such as 3"},
		{"repeat: 1.5", "`repeat` of options must be a whole number from 1 to 1000, not 1.5; write a number such as 3"},
		{"factuality: 1", "`factuality` of options must be an object, not 1; write an object with a number for each of its answers"},
		{"rubricPrompt: 1", "`rubricPrompt` of options must be a text or a list of messages, not 1; write a text, file:// with one, or messages with role and content"},
		{"provider: 1", "`provider` of options must be the name of a target, not 1; write the name of a target, or an object with its id"},
	} {
		const ask = "assert: [{type: contains, value: x}]"
		for _, level := range []string{
			"tests: [{" + ask + ", options: {" + tt.option + "}}]",
			"defaultTest: {options: {" + tt.option + "}}\ntests: [{" + ask + "}]",
			"scenarios: [{config: [{options: {" + tt.option + "}}], tests: [{" + ask + "}]}]",
			"scenarios: [{config: [{}], tests: [{" + ask + ", options: {" + tt.option + "}}]}]",
		} {
			got, problems := load(t, "prompts: [x]\n"+level+"\n", nil)
			said := errorsOf(problems)
			if len(said) != 1 || !strings.HasSuffix(said[0], "error: "+tt.want) || len(got) != 1 || got[0].Skip == "" {
				t.Errorf("%s: errors %q, %d cases, want %q and a case that is not run", level, said, len(got), tt.want)
			}
		}
	}
}

// TestOptionsOfLevels: an option of a test counts over the shared one, as promptfoo merges
// them.
func TestOptionsOfLevels(t *testing.T) {
	const ask = "assert: [{type: contains, value: own}]"
	values := func(c *schema.Case) (said []string) {
		for _, a := range c.Row.Asserts {
			said = append(said, strings.Trim(string(a.Value), `"`))
		}
		return said
	}
	shared := "prompts: ['{{x}}']\ndefaultTest: {assert: [{type: contains, value: shared}], options: {%s}}\n"
	for _, tt := range []struct {
		name, shared, tests string
		want                []string
	}{
		{"of defaultTest, for tests", "disableDefaultAsserts: true", "tests: [{" + ask + "}]", []string{"shared", "own"}},
		{"of defaultTest, for scenarios", "disableDefaultAsserts: true", "scenarios: [{config: [{}], tests: [{" + ask + "}]}]", []string{"own"}},
		{"taken back by a test", "disableDefaultAsserts: true", "scenarios: [{config: [{}], tests: [{" + ask + ", options: {disableDefaultAsserts: false}}]}]", []string{"shared", "own"}},
		{"of a setting", "", "scenarios: [{config: [{options: {disableDefaultAsserts: true}, assert: [{type: contains, value: setting}]}], tests: [{" + ask + "}]}]", []string{"setting", "own"}},
		{"of both", "", "scenarios: [{config: [{options: {disableDefaultAsserts: true}, assert: [{type: contains, value: setting}]}], tests: [{" + ask + ", options: {disableDefaultAsserts: true}}]}]", []string{"setting", "own"}},
		{"of a file of a scenario", "", "scenarios: [{config: [{assert: [{type: contains, value: setting}]}], tests: file://t.yaml}]", []string{"setting", "own"}},
	} {
		got := cases(t, fmt.Sprintf(shared, tt.shared)+tt.tests+"\n", map[string]string{"t.yaml": "- {" + ask + ", options: {disableDefaultAsserts: true}}\n"})
		if len(got) != 1 || !slices.Equal(values(got[0]), tt.want) {
			t.Errorf("%s: the assertions are %q, want %q", tt.name, values(got[0]), tt.want)
		}
	}
	got := cases(t, "prompts: ['{{x}}']\ndefaultTest: {vars: {x: [a, b]}, options: {disableVarExpansion: true}}\ntests: [{"+ask+"}, {"+ask+", options: {disableVarExpansion: false}}]\n", nil)
	if len(got) != 3 {
		t.Errorf("%d cases, want one of the test without expansion and two of the one that takes it back", len(got))
	}
	got = cases(t, "prompts: [x]\ndefaultTest: {options: {transform: output.trim()}}\ntests: [{"+ask+", options: {postprocess: output.toUpperCase()}}]\n", nil)
	if spec, ok := got[0].Evaluators[0].Spec.(evaluator.Transformed); !ok || !slices.Equal(spec.Steps, []string{"output.trim()"}) {
		t.Errorf("the assertion is %+v, want that the shared transform counts over an older name", got[0].Evaluators[0].Spec)
	}
}
