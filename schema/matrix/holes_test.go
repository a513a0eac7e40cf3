package matrix_test

import (
	"slices"
	"testing"

	"github.com/gavel-evals/gavel/schema"
)

// TestFunctionsThatReturnJSON: a function of a prompt returns messages, {prompt} with a text or
// with messages, or another value, which is sent as its JSON and never as nothing.
func TestFunctionsThatReturnJSON(t *testing.T) {
	for _, tt := range []struct{ returns, want string }{
		{"[{role: 'system', content: 'S'}, {role: 'user', content: vars.q}]", "a @bot system=S user=two\nlines"},
		{"({prompt: [{role: 'system', content: 'S {{q}}'}, {role: 'user', content: 'U'}]})", "a @bot system=S two\nlines user=U"},
		{"({prompt: 'say ' + vars.q})", "a @bot user=say two\nlines"},
		{"({question: vars.q})", "a @bot user={\n  \"question\": \"two\\nlines\"\n}"},
		{"({question: '{{q}}', config: {temperature: 0}})", "a @bot user={\n  \"question\": \"two\\nlines\",\n  \"config\": {\n    \"temperature\": 0\n  }\n}"},
		{"vars.q", "a @bot user=two\nlines"},
	} {
		got := lines(cases(t, "prompts: file://p.js\ntests: [{description: a, vars: {q: \"two\\nlines\"}}]\n", map[string]string{"p.js": "module.exports = ({vars}) => " + tt.returns}))
		if len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s is sent as %q, want %q", tt.returns, got, tt.want)
		}
	}
}

// TestOneProviderTwice: two providers of one name are its first and second target, and the same
// target, which is run once with a warning, where there is no second.
func TestOneProviderTwice(t *testing.T) {
	got, problems := load(t, "prompts: [x]\nproviders: [bot, 'openai:gpt-5', 'openai:gpt-5']\ntests: [{description: a, assert: [{type: contains, value: x}]}]\n", nil)
	if want := []string{"a @bot user=x", "a @large user=x"}; !slices.Equal(lines(got), want) {
		t.Errorf("cases %q, want %q", lines(got), want)
	}
	const want = "promptfooconfig.yaml:2:34: warning: the provider is the target \"large\", as an earlier one is; its cases are not run again; give each provider a target of its own in gavel.yaml, or remove it"
	if len(problems) != 1 || problems[0].String() != want {
		t.Errorf("problems %v, want %s", problems, want)
	}
}

// TestEachIsSaidOnce: an unread part of a template that many rows have is one warning,
// and a mistake in an assertion that they share is one error.
func TestEachIsSaidOnce(t *testing.T) {
	_, problems := load(t, `prompts: ["{% include 'x' %}"]
defaultTest: {assert: [{type: regex, value: '('}]}
tests: [{vars: {q: a}}, {vars: {q: b}}, {vars: {q: c}}]
`, nil)
	counts := map[string]int{}
	for _, p := range problems {
		counts[p.Rule]++
	}
	if counts["template"] != 1 || counts["wrong-value"] != 1 {
		t.Errorf("problems %v, want one of the template and one of the pattern", problems)
	}
}

// TestConfigThatIsNotRead is noted where gavel.yaml says how the target is called, and not if
// it has nothing but tools.
func TestConfigThatIsNotRead(t *testing.T) {
	const tests = "tests: [{description: a, assert: [{type: contains, value: x}]}]\n"
	_, problems := load(t, "prompts: [x]\nproviders: [{id: bot, config: {temperature: 1}}]\n"+tests, nil)
	const want = "promptfooconfig.yaml:2:23: note: the config of provider \"bot\" is not read but for tools; the target in gavel.yaml says how it is called"
	if len(problems) != 1 || problems[0].String() != want {
		t.Errorf("problems %v, want %s", problems, want)
	}
	if _, problems := load(t, "prompts: [x]\nproviders: [{id: bot, config: {tools: [{name: f}]}}]\n"+tests, nil); len(problems) > 0 {
		t.Errorf("problems %v, want none of tools alone", problems)
	}
}

// TestMistakesInPrompts have the place and the repair.
func TestMistakesInPrompts(t *testing.T) {
	for _, tt := range []struct{ prompt, want string }{
		{"[[5]]", "promptfooconfig.yaml:1:11: error: the prompt is not a list of messages; write messages with role and content"},
		{"[{role: user, content: x}, 5]", "promptfooconfig.yaml:1:11: error: the prompt is not a list of messages; write messages with role and content"},
		{"{label: a}", "promptfooconfig.yaml:1:11: error: the prompt has neither `raw` nor `id`; write {raw: \"…\", label: \"…\"}, or {id: \"file://…\", label: \"…\"}"},
		{"5", "promptfooconfig.yaml:1:11: error: the prompt is not a text; write a text with {{variables}}, or file://prompt.txt"},
		{"'exec:'", "promptfooconfig.yaml:1:11: error: the prompt names no program; write exec: and a command, such as exec:./prompt.sh"},
	} {
		got, problems := load(t, "prompts: ["+tt.prompt+"]\ntests: [{description: a}]\n", nil)
		if said := errorsOf(problems); len(got) > 0 || len(said) != 1 || said[0] != tt.want {
			t.Errorf("%s: %d cases, errors %q, want none and %q", tt.prompt, len(got), said, tt.want)
		}
	}
	if _, problems := load(t, "prompts: {a: 5}\ntests: [{description: a}]\n", nil); !schema.HasErrors(problems) {
		t.Errorf("a number as a named prompt has the problems %v, want an error", problems)
	}
}
