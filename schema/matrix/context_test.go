package matrix_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema/evaluator"
)

// counted returns the spec of the only assertion of the last case of a file.
func counted(t *testing.T, test string, others map[string]string) evaluator.Counted {
	t.Helper()
	got := cases(t, "prompts: ['ask {{query}}']\nproviders: [{id: bot, transform: output.sent}]\ntests: ["+test+"]\n", others)
	if len(got) != 1 || got[0].Skip != "" || len(got[0].Evaluators) != 1 {
		t.Fatalf("%s: cases %+v", test, got)
	}
	spec := got[0].Evaluators[0].Spec
	if s, isTransformed := spec.(evaluator.Transformed); isTransformed {
		spec = s.Spec
	}
	out, isCounted := spec.(evaluator.Counted)
	if !isCounted {
		t.Fatalf("%s: the assertion is %T", test, spec)
	}
	return out
}

// TestQuestionsOfCounting: rubricPrompt replaces the questions of assertions that count, with the
// variables that promptfoo 0.123.1 fills into it.
func TestQuestionsOfCounting(t *testing.T) {
	const vars = "vars: {query: q, context: c, x: '{{query}}!', _conversation: [{input: i1, output: o1}, {input: i2, output: o2}]}, "
	const alone = "vars: {query: q, context: c}, "
	others := map[string]string{"first.txt": "F {{question}}\n", "second.txt": "S {{statements | join('\\n')}}"}
	for _, tt := range []struct {
		test string
		want []string
	}{
		{vars + "assert: [{type: context-recall, value: truth, rubricPrompt: '{{x}} {{context}} {{groundTruth}}{{answer}}'}]", []string{"q! {{context}} truth"}},
		{vars + "assert: [{type: not-context-relevance, rubricPrompt: '{{query}} {{context}}{{x}}'}]", []string{"q {{context}}"}},
		{vars + "options: {rubricPrompt: [{role: system, content: a}, {role: user, content: '{{query}}'}]}, assert: [{type: context-relevance}]", []string{"a\n\nq"}},
		{vars + "options: {rubricPrompt: shared}, assert: [{type: context-relevance, rubricPrompt: own}]", []string{"own"}},
		{vars + "assert: [{type: context-faithfulness, rubricPrompt: ['{{question}} {{answer}} {{x}} {{context}}', '{% for s in statements %}- {{s}}{% endfor %} in {{context}}{{question}}']}]", []string{"q {{answer}} q! c", "- {{statements}} in {{context}}"}},
		{vars + "assert: [{type: context-faithfulness, rubricPrompt: [{role: user, content: a}, b]}]", []string{"a", "b"}},
		{vars + "assert: [{type: context-faithfulness, rubricPrompt: [a]}]", []string{"a"}},
		{vars + "assert: [{type: context-faithfulness, rubricPrompt: ['', b]}]", []string{"", "b"}},
		{vars + "assert: [{type: context-faithfulness, rubricPrompt: ['file://first.txt', 'file://second.txt']}]", []string{"F q", "S {{statements}}"}},
		{vars + "assert: [{type: conversation-relevance, config: {windowSize: 1}, rubricPrompt: '{{x}}{% for m in messages %} {{m.input}}-{{m.output}}{% endfor %}'}]", []string{"q! i1-o1", "q! i2-o2"}},
		{vars + "assert: [{type: conversation-relevance, rubricPrompt: '{% for m in messages %}{{m.input}};{% endfor %}'}]", []string{"i1;", "i1;i2;"}},
		{alone + "assert: [{type: conversation-relevance, rubricPrompt: '{{messages[0].input}} {{messages[0].output}}'}]", []string{"{{input}} {{answer}}"}},
		{vars + "assert: [{type: context-relevance}]", nil},
	} {
		if got := counted(t, "{"+tt.test+"}", others); !slices.Equal(got.Prompts, tt.want) {
			t.Errorf("%s: the questions are %q, want %q", tt.test, got.Prompts, tt.want)
		}
	}
	for _, wrong := range []string{"one text", "[a, b, c]", "[a, 5]", "[{role: user}]", "file://first.txt"} {
		got, problems := load(t, "prompts: [x]\ntests: [{vars: {query: q, context: c}, assert: [{type: context-faithfulness, rubricPrompt: "+wrong+"}]}]\n", others)
		said := errorsOf(problems)
		if want := "the rubricPrompt of context-faithfulness is not a list of one or two prompts; write rubricPrompt: ["; len(said) != 1 || !strings.Contains(said[0], want) || len(got) != 1 || got[0].Skip == "" {
			t.Errorf("rubricPrompt: %s: errors %q, want one with %q", wrong, said, want)
		}
	}
}

// TestContextTransform: the function that finds the context gets the answer as the provider's
// transform returns it, also where the test has transforms; it may be in a file that only
// computes.
func TestContextTransform(t *testing.T) {
	others := map[string]string{
		"c.js": "module.exports = (output, context) => output.docs;\n", "n.js": "module.exports = {named: (output) => output.docs};\n",
		"p.py": "def get_transform(output, context):\n    return output\n", "r.js": "const fs = require('fs');\nmodule.exports = (o) => o;\n",
	}
	ask := func(transform string) string {
		return "{vars: {query: q}, options: {transform: output.text}, assert: [{type: context-relevance, transform: output.own, contextTransform: '" + transform + "'}]}"
	}
	for transform, want := range map[string]string{"output.docs": "output.docs", "file://c.js": "module.exports = (output, context) => output.docs;", "file://./n.js:named": "named"} {
		got := counted(t, ask(transform), others)
		if len(got.Steps) != 2 || got.Steps[0] != "output.sent" || !strings.Contains(got.Steps[1], want) {
			t.Errorf("%s: the steps are %q, want the provider's and the one with %q", transform, got.Steps, want)
		}
	}
	for transform, want := range map[string]string{
		"file://p.py": "a program (contextTransform in a file)", "file://p.py:get_transform": "a program (contextTransform in a file)",
		"file://r.js": "a program (contextTransform in a file)", "process.env.HOME": "a program (contextTransform with process.env.HOME)",
	} {
		got, problems := load(t, "prompts: [x]\ntests: ["+ask(transform)+"]\n", others)
		if len(got) != 1 || got[0].Skip != "it needs "+want || errorsOf(problems) != nil {
			t.Errorf("%s: cases %+v, problems %v, want one that needs %s", transform, got, problems, want)
		}
	}
	if _, problems := load(t, "prompts: [x]\ntests: ["+ask("file://gone.js")+"]\n", others); len(errorsOf(problems)) != 1 || !strings.Contains(errorsOf(problems)[0], "gone.js") {
		t.Errorf("a file that is not there: problems %v", problems)
	}
}
