package matrix_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormsOfPromptfoo has a file for each further form in which promptfoo takes prompts,
// tests, variables and providers.
func TestFormsOfPromptfoo(t *testing.T) {
	const two = "\ntests: [{description: x, vars: {q: '1'}}]\n"
	for _, tt := range []struct {
		name, text string
		others     map[string]string
		want       []string
	}{
		{"a prompt in Markdown", "prompts: file://p.md" + two, map[string]string{"p.md": "# {{q}}\n"}, []string{"x @bot user=# 1\n"}},
		{"a prompt in Jinja", "prompts: [file://p.j2]" + two, map[string]string{"p.j2": "{{q}}!"}, []string{"x @bot user=1!"}},
		{"a chat in YAML", "prompts: [file://p.yaml]" + two, map[string]string{"p.yaml": "- {role: system, content: S}\n- {role: user, content: '{{q}}'}\n"}, []string{"x @bot system=S user=1"}},
		{"prompts in lines of JSON", "prompts: [file://p.jsonl]" + two, map[string]string{"p.jsonl": "[{\"role\": \"user\", \"content\": \"A {{q}}\"}]\n[{\"role\": \"user\", \"content\": \"B {{q}}\"}]\n"}, []string{"x/p-jsonl-1 @bot user=A 1", "x/p-jsonl-2 @bot user=B 1"}},
		{"prompts in a table", "prompts: [file://p.csv]" + two, map[string]string{"p.csv": "prompt\nA {{q}}\n\"B, {{q}}\"\n"}, []string{"x/p-csv-1 @bot user=A 1", "x/p-csv-2 @bot user=B, 1"}},
		{"prompts with labels in a table", "prompts: [file://p.csv]" + two, map[string]string{"p.csv": "label,prompt\nshort,A {{q}}\n,B {{q}}\n"}, []string{"x/short @bot user=A 1", "x/p-csv-2 @bot user=B 1"}},
		{"a prompt a line of a table without a comma", "prompts: [file://p.csv]" + two, map[string]string{"p.csv": "A {{q}}\nB {{q}}\n"}, []string{"x/p-csv-1 @bot user=A 1", "x/p-csv-2 @bot user=B 1"}},
		{"the same below its name", "prompts: [file://p.csv]" + two, map[string]string{"p.csv": "Prompt\nA {{q}}\nB {{q}}"}, []string{"x/p-csv-1 @bot user=A 1", "x/p-csv-2 @bot user=B 1"}},
		{"a byte order mark is no part of a prompt", "prompts: [file://p.txt]" + two, map[string]string{"p.txt": "\ufeffA {{q}}"}, []string{"x @bot user=A 1"}},
		{"an inline chat", "prompts: ['[{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": \"{{q}}\"}]']" + two, nil, []string{"x @bot system=S user=1"}},
		{"targets", "prompts: ['{{q}}']\ntargets: [large]" + two, nil, []string{"x @large user=1"}},
		{"a provider with a label", "prompts: ['{{q}}']\nproviders: [{id: 'http://x', label: large}]" + two, nil, []string{"x @large user=1"}},
		{"a provider by its name alone", "prompts: ['{{q}}']\nproviders: [{'openai:gpt-5': {config: {temperature: 0}}}]" + two, nil, []string{"x @large user=1"}},
		{"tests in YAML", "prompts: ['{{q}}']\ntests: file://t.yaml\n", map[string]string{"t.yaml": "- {description: x, vars: {q: '1'}}\n"}, []string{"x @bot user=1"}},
		{"tests in JSON", "prompts: ['{{q}}']\ntests: t.json\n", map[string]string{"t.json": `[{"description": "x", "vars": {"q": "1"}}]`}, []string{"x @bot user=1"}},
		{"tests in lines of JSON", "prompts: ['{{q}}']\ntests: file://t.jsonl\n", map[string]string{"t.jsonl": "{\"description\": \"x\", \"vars\": {\"q\": \"1\"}}\n{\"description\": \"y\", \"vars\": {\"q\": \"2\"}}\n"}, []string{"x @bot user=1", "y @bot user=2"}},
		{"variables of a file", "prompts: ['{{q}}']\ntests: [{description: x, vars: file://v.yaml}]\n", map[string]string{"v.yaml": "q: '1'\n"}, []string{"x @bot user=1"}},
		{"a list that does not multiply", "prompts: ['{{q}}']\ntests: [{description: x, vars: {q: [a, b]}, options: {disableVarExpansion: true}}]\n", nil, []string{"x @bot user=a,b"}},
		{"variables in variables", "prompts: ['{{q}}']\ntests: [{description: x, vars: {q: 'Hi {{who}}', who: Ann}}]\n", nil, []string{"x @bot user=Hi Ann"}},
		{"before and after the prompt", "prompts: ['{{q}}']\ntests: [{description: x, vars: {q: '1'}, options: {prefix: 'A ', suffix: ' B'}}]\n", nil, []string{"x @bot user=A 1 B"}},
		{"columns of a table", "prompts: ['{{q}}']\ntests: t.csv\n", map[string]string{"t.csv": "q,__description,__prefix,__suffix\n1,x,A ,\" B\"\n"}, []string{"x @bot user=A 1 B"}},
		{"the provider of a test", "prompts: ['{{q}}']\ntests: [{description: x, vars: {q: '1'}, provider: large}]\n", nil, []string{"x @large user=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := load(t, tt.text, tt.others)
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("problems %v (-want +got):\n%s", problems, diff)
			}
		})
	}
}
