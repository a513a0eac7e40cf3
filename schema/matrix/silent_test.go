package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/matrix"
)

// TestLostAssertions: a test whose assertions are under a name that nobody reads is an error
// in every form of a file, and costs no other test.
func TestLostAssertions(t *testing.T) {
	const hint = "; write assert: with a list of assertions, such as {type: contains, value: …}"
	for _, tt := range []struct {
		text   string
		others map[string]string
		want   string
	}{
		{"tests: [{vars: {q: a}, expect: [{type: contains, value: x}]}]", nil, "promptfooconfig.yaml:2:24: error: unknown field `expect`" + hint},
		{"tests: [{vars: {q: a}, asserts: [{type: contains, value: x}]}]", nil, "promptfooconfig.yaml:2:24: error: unknown field `asserts`" + hint},
		{"tests: [{vars: {q: a}, asert: [{type: contains, value: x}]}]", nil, "promptfooconfig.yaml:2:24: error: unknown field `asert`; did you mean `assert`?"},
		{"tests: [{vars: {q: a}, assert: {type: contains, value: x}}]", nil, "promptfooconfig.yaml:2:32: error: `assert` must be a list, not an object; write a list"},
		{"tests: [{vars: {q: a}, assert: [null]}]", nil, "promptfooconfig.yaml:2:33: error: `assert` must be an object, not null; write an object"},
		{"defaultTest: {checks: [x]}\ntests: [{vars: {q: a}}]", nil, "promptfooconfig.yaml:2:15: error: unknown field `checks`" + hint},
		{"tests: t.json", map[string]string{"t.json": `[{"vars": {"q": "a"}, "asserts": []}]`}, "t.json:1:23: error: unknown field `asserts`" + hint},
		{"tests: t.yaml", map[string]string{"t.yaml": "- vars: {q: a}\n  expected: x\n"}, "t.yaml:2:3: error: unknown field `expected`" + hint},
		{"tests: t.jsonl", map[string]string{"t.jsonl": `{"vars": {"q": "a"}, "expected": "x"}` + "\n"}, "t.jsonl:1:22: error: unknown field `expected`" + hint},
		{"tests: t.yaml", map[string]string{"t.yaml": "tests:\n- vars: {q: a}\n"}, "t.yaml:1:1: error: unknown field `tests`; the file has nothing but a list of tests; write it without the key"},
		{"assert: [{type: equals, value: x}]\ntests: [{vars: {q: a}}]", nil, "promptfooconfig.yaml:2:1: error: `assert` is not read here, and its assertions are not asked; move it under defaultTest: as assert:"},
		{"expect: [{type: equals, value: x}]\ntests: [{vars: {q: a}}]", nil, "promptfooconfig.yaml:2:1: error: `expect` is not read here, and its assertions are not asked; move it under defaultTest: as assert:"},
		{"scenarios: [{config: [{vars: {q: a}, rubric: x}]}]", nil, "promptfooconfig.yaml:2:38: error: unknown field `rubric`" + hint},
		{"scenarios: [{configs: [{vars: {q: a}}], tests: [{}]}]", nil, "promptfooconfig.yaml:2:13: error: the scenario has no list `config`, and so no test; write config: with a list of {vars: …}, and tests: with the tests for each"},
		{"scenarios: [{config: [{vars: {q: a}}], tests: []}]", nil, "promptfooconfig.yaml:2:40: error: `tests` of the scenario has no test; write a list of tests, or remove the key for one test with each setting"},
	} {
		got, problems := load(t, "prompts: ['{{q}}']\n"+tt.text+"\n", tt.others)
		said := errorsOf(problems)
		if slices.ContainsFunc(got, func(c *schema.Case) bool { return c.Skip == "" }) || !slices.Contains(said, tt.want) {
			t.Errorf("%s: cases %q, errors %q, want that none is run and %q", tt.text, lines(got), said, tt.want)
		}
	}
}

// TestTestsOfAScenarioInAFile are read, and share what the setting says.
func TestTestsOfAScenarioInAFile(t *testing.T) {
	got := lines(cases(t, "prompts: ['{{lang}}: {{q}}']\nscenarios: [{config: [{vars: {lang: de}}, {vars: {lang: fr}}], tests: file://t.csv}]\n", map[string]string{"t.csv": "q,__description,__expected\none,x,de\n"}))
	if want := []string{"x-0fd4d2ff @bot user=de: one", "x-0b79ae23 @bot user=fr: one"}; len(got) != 2 || got[0][len(got[0])-7:] != want[0][len(want[0])-7:] || got[1][len(got[1])-7:] != want[1][len(want[1])-7:] {
		t.Errorf("cases %q, want %q with hashes of their own", got, want)
	}
}

// TestAsksNothing: a file of tests that pass whatever is answered is named, and so is a test
// whose list of assertions is empty.
func TestAsksNothing(t *testing.T) {
	const none = " asks nothing of the answer, so that it passes whatever that is; add assert: to the tests, or to defaultTest"
	for _, tt := range []struct {
		text   string
		others map[string]string
		want   []string
	}{
		{"tests: [{vars: {q: a}}]", nil, []string{"promptfooconfig.yaml:2:9: warning: the test" + none}},
		{"tests: [{vars: {q: a}}, {vars: {q: b}, assert: []}]", nil, []string{"promptfooconfig.yaml:2:9: warning: none of the 2 tests of the file asks anything of the answer, so that it passes whatever that is; add assert: to the tests, or to defaultTest"}},
		{"tests: [{vars: {q: a}}, {vars: {q: b}, assert: []}, {vars: {q: c}, assert: [{type: equals, value: x}]}]", nil, []string{"promptfooconfig.yaml:2:40: warning: `assert` is empty, so that the test passes whatever is answered; write what the answer has to have"}},
		{"tests: [t.csv, {vars: {q: b}, assert: [{type: equals, value: x}]}]", map[string]string{"t.csv": "q,expected\na,x\nb,y\n"}, []string{"t.csv:2:1: warning: none of the 2 tests of the file asks anything of the answer, so that it passes whatever that is; name the column of the assertions __expected"}},
		{"tests: t.csv", map[string]string{"t.csv": "q,_expected\na,x\n"}, []string{"t.csv:1:3: warning: the column \"_expected\" is a variable, since it begins with one underscore; did you mean `__expected`?", "t.csv:2:1: warning: the test asks nothing of the answer, so that it passes whatever that is; name the column of the assertions __expected"}},
		{"defaultTest: {assert: [{type: equals, value: x}]}\ntests: [{vars: {q: a}, assert: []}]", nil, nil},
	} {
		_, problems := load(t, "prompts: ['{{q}}']\n"+tt.text+"\n", tt.others)
		var said []string
		for _, p := range problems {
			if p.Severity == schema.Warning {
				said = append(said, p.String())
			}
		}
		slices.Sort(said)
		if !slices.Equal(said, tt.want) {
			t.Errorf("%s: warnings %q, want %q", tt.text, said, tt.want)
		}
	}
	if _, problems := load(t, "prompts: [x]\n", nil); !slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Rule == matrix.RuleAsksNothing }) {
		t.Errorf("a file without tests has the problems %v, want that it asks nothing", problems)
	}
}

// TestUnknownVariables: a variable of a prompt that no test has is named, with the one that is
// meant. One that some test has, or that may be missing, is not.
func TestUnknownVariables(t *testing.T) {
	const asks = "\ndefaultTest: {assert: [{type: contains, value: x}]}\n"
	for _, tt := range []struct {
		text   string
		others map[string]string
		want   []string
	}{
		{"prompts: ['Say {{quesion}}']" + asks + "tests: [{vars: {question: a}}]", nil, []string{"promptfooconfig.yaml:1:16: warning: the prompt has the variable quesion, which no test has; it is sent empty; did you mean `question`?"}},
		{"prompts: file://p.txt" + asks + "tests: [{vars: {question: a}}, {vars: {question: b}}]", map[string]string{"p.txt": "Say\n{{ other.part }}"}, []string{"p.txt:2:1: warning: the prompt has the variable other, which no test has; it is sent empty; add it to the vars of the tests, or remove it from the prompt"}},
		{"prompts: [[{role: user, content: '{{quesion}}'}]]" + asks + "tests: [{vars: {question: a}}]", nil, []string{"promptfooconfig.yaml:1:35: warning: the prompt has the variable quesion, which no test has; it is sent empty; did you mean `question`?"}},
		{"prompts: ['{{a}}{{b}}']" + asks + "tests: [{vars: {a: 1}}, {vars: {b: 1}}]", nil, nil},
		{"prompts: [\"{{a | default('x')}}{% if b %}{{b}}{% endif %}{% for c in d %}{{c}}{% endfor %}{{e or 'x'}}\"]" + asks + "tests: [{vars: {q: 1}}]", nil, nil},
	} {
		_, problems := load(t, tt.text+"\n", tt.others)
		var said []string
		for _, p := range problems {
			if p.Severity == schema.Warning {
				said = append(said, p.String())
			}
		}
		if !slices.Equal(said, tt.want) {
			t.Errorf("%s: warnings %q, want %q", tt.text, said, tt.want)
		}
	}
}

// TestVariablesOfAssertions: a variable that no test has is filled in empty, which a warning
// says with its place. One that some test has, or that a template asks about, is not.
func TestVariablesOfAssertions(t *testing.T) {
	for _, tt := range []struct{ assertion, want string }{
		{"{type: contains, value: '[{{prompt}}]'}", "promptfooconfig.yaml:3:44: warning: the assertion contains has the variable prompt, which no test has; it is filled in empty; promptfoo does not have it here either; write type: javascript with context.prompt"},
		{"{type: contains, value: '[{{qq}}]'}", "promptfooconfig.yaml:3:44: warning: the assertion contains has the variable qq, which no test has; it is filled in empty; did you mean `q`?"},
		{"{type: llm-rubric, value: ok, rubricPrompt: '{{output}} {{rubric}} {{input}}'}", "promptfooconfig.yaml:3:46: warning: the assertion llm-rubric has the variable input, which no test has; it is filled in empty; add it to the vars of the tests, or remove it from the assertion"},
		{"{type: model-graded-closedqa, value: ok, rubricPrompt: '{{input}} {{criteria}} {{completion}}'}", ""},
		{"{type: contains, value: '[{{q}}{% if other %}{{other}}{% endif %}{{ also | default(1) }}{{r}}]'}", ""},
	} {
		_, problems := load(t, "prompts: ['{{q}}']\ntests:\n- {vars: {q: a}, assert: ["+tt.assertion+"]}\n- {vars: {q: b, r: c}, assert: [{type: contains, value: '{{r}}'}]}\n", nil)
		var said string
		for _, p := range problems {
			if p.Rule == "unknown-variable" {
				said += p.String()
			}
		}
		if said != tt.want {
			t.Errorf("%s: %q, want %q", tt.assertion, said, tt.want)
		}
	}
}

// TestOwnQuestions: a judge's own prompt has the names that promptfoo gives to the value,
// the answer and the prompt of each kind.
func TestOwnQuestions(t *testing.T) {
	for _, tt := range []struct{ assertion, want string }{
		{"{type: llm-rubric, value: 'is {{q}}', rubricPrompt: '{{output}}|{{rubric}}|{{q}}'}", "{{output}}|{{rubric}}|a"},
		{"{type: model-graded-closedqa, value: 'is {{q}}', rubricPrompt: '{{input}}|{{criteria}}|{{completion}}'}", "{{input}}|is a|{{output}}"},
		{"{type: factuality, value: 'is {{q}}', rubricPrompt: '{{input}}|{{ideal}}|{{completion}}'}", "{{input}}|is a|{{output}}"},
		{"{type: not-model-graded-factuality, value: 'is {{q}}', rubricPrompt: '{{ideal}}'}", "is a"},
		{"{type: g-eval, value: 'is {{q}}', rubricPrompt: '{{output}}'}", ""},
		{"{type: answer-relevance, rubricPrompt: '{{output}}'}", ""},
	} {
		got := cases(t, "prompts: ['{{q}}']\ntests: [{vars: {q: a}, assert: ["+tt.assertion+"]}]\n", nil)
		if spec, ok := got[0].Evaluators[0].Spec.(evaluator.Graded); !ok || spec.Template != tt.want {
			t.Errorf("%s: %+v, want the question %q", tt.assertion, got[0].Evaluators[0].Spec, tt.want)
		}
	}
	got, _ := load(t, "prompts: [x]\ntests: [{assert: [{type: g-eval, value: a, rubricPrompt: {steps: b, evaluate: c}}]}]\n", nil)
	if want := "it needs Gavel's own question of g-eval in place of rubricPrompt"; got[0].Skip != want {
		t.Errorf("skip %q, want %q", got[0].Skip, want)
	}
}

// TestMisspeltVariableOfATest: one test of several misspells a variable that the prompt
// needs.
func TestMisspeltVariableOfATest(t *testing.T) {
	const file = "prompts: ['The capital of {{country}}?']\ndefaultTest: {assert: [{type: contains, value: x}]}\ntests:\n- {description: France, vars: {country: France}}\n"
	for _, tt := range []struct{ test, want string }{
		{"- {description: Italy, vars: {contry: Italy}}\n", "promptfooconfig.yaml:5:3: warning: the test Italy has the variable contry, and the prompt needs country, which is sent empty; did you mean `country`?"},
		{"- {description: Italy, vars: {country: Italy, contry: x}}\n", ""},
		{"- {description: Italy, vars: {language: Italian}}\n", ""},
	} {
		_, problems := load(t, file+tt.test, nil)
		var got []string
		for _, p := range problems {
			if p.Rule == "unknown-variable" {
				got = append(got, p.String())
			}
		}
		if said := strings.Join(got, " / "); said != tt.want {
			t.Errorf("%s: got %q, want %q", tt.test, said, tt.want)
		}
	}
}
