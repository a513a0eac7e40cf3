package matrix_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestFurtherAssertions shows what the assertions compile to that ask a model or a
// program, or look at calls.
func TestFurtherAssertions(t *testing.T) {
	others := map[string]string{
		"check.js":  "module.exports = (output) => output.length > 3;",
		"check.py":  "def get_assert(output, context):\n    return True\n",
		"other.py":  "",
		"needs.js":  "const fs = require('fs'); module.exports = () => true;",
		"prompt.md": "Grade {{output}} by {{rubric}} for {{q}}.",
	}
	for _, tt := range []struct{ assertion, want string }{
		{"{type: similar, value: '{{q}}!'}", `similar {"texts":["one!"],"metric":"cosine"} 0.75`},
		{"{type: not-similar, value: [a, b], threshold: 0.9}", `similar {"texts":["a","b"],"metric":"cosine","not":true} 0.1`},
		{"{type: similar:euclidean, value: a, provider: large}", `similar {"texts":["a"],"metric":"euclidean"} 0.57 asks large`},
		{"{type: llm-rubric, value: Is kind, provider: 'openai:gpt-5'}", `llm-rubric {"rubric":"Is kind"} 0 asks large`},
		{"{type: llm-rubric, value: Is kind, provider: {text: {id: large}, embedding: bot}}", `llm-rubric {"rubric":"Is kind"} 0 asks large`},
		{"{type: llm-rubric, value: Is kind, rubricPrompt: file://prompt.md}", `llm-rubric {"rubric":"Is kind","template":"Grade {{output}} by {{rubric}} for one."} 0`},
		{"{type: llm-rubric, rubricPrompt: file://prompt.md}", `llm-rubric {"rubric":"","template":"Grade {{output}} by {{rubric}} for one."} 0`},
		{"{type: answer-relevance}", `llm-rubric {"rubric":"The OUTPUT answers what the INPUT asks for. The score is the share of the OUTPUT that does."} 0.5`},
		{"{type: word-count, value: {min: 1}}", `assertion {"type":"word-count","value":{"min":1}} 1`},
		{"{type: word-count, value: 5}", `assertion {"type":"word-count","value":{"max":5,"min":5}} 1`},
		{"{type: trajectory:tool-used, value: search}", `calls {"type":"trajectory:tool-used","tools":[{"pattern":"search","least":1}]} 1`},
		{"{type: not-trajectory:tool-used, value: {pattern: 'del*'}}", `calls {"type":"trajectory:tool-used","not":true,"tools":[{"pattern":"del*","least":1}]} 1`},
		{"{type: trajectory:tool-sequence, value: {mode: exact, steps: [a, {name: b}]}}", `calls {"type":"trajectory:tool-sequence","tools":[{"pattern":"a","least":1},{"pattern":"b","least":1}],"exact":true} 1`},
		{"{type: trajectory:tool-args-match, value: {name: a, args: {x: 1}, ignore: [y]}}", `calls {"type":"trajectory:tool-args-match","tools":[{"pattern":"a","least":1}],"args":{"x":1},"ignore":["y"]} 1`},
		{"{type: trajectory:step-count, value: {max: 3}}", `calls {"type":"trajectory:step-count","tools":[{"pattern":"*","most":3}]} 1`},
		{"{type: skill-used, value: [a, {name: b, max: 0}]}", `calls {"type":"skill-used","tools":[{"pattern":"a","least":1},{"pattern":"b","most":0}]} 1`},
		{"{type: is-valid-openai-tools-call}", `calls {"type":"is-valid-openai-tools-call"} 1`},
		{"{type: regex, value: 'caf\\u00e9'}", `assertion {"type":"regex","value":"caf\\u00e9"} 1`},
		{"{type: regex, value: '(?=a)'}", `assertion {"type":"regex","value":"(?=a)"} 1`},
		{"{type: javascript, value: file://check.js}", `javascript`},
		{"{type: python, value: file://check.py}", `function python3 check.py get_assert: check.py other.py`},
		{"{type: python, value: len(output) > 3}", `function python3`},
		{"{type: javascript, value: 'file://needs.js:f'}", `function node needs.js f: check.js needs.js`},
	} {
		got := cases(t, "prompts: ['{{q}}']\ntests:\n- vars: {q: one}\n  assert: ["+tt.assertion+"]\n", others)[0]
		ev := got.Evaluators[0]
		spec, _ := json.Marshal(ev.Spec)
		line := fmt.Sprintf("%s %s %v", ev.Spec.Kind(), spec, float64(int(ev.Rule.Threshold*100+0.5))/100)
		if names, ok := ev.Spec.(interface{ Targets() []string }); ok && len(names.Targets()) > 0 {
			line += " asks " + strings.Join(names.Targets(), " ")
		}
		switch s := ev.Spec.(type) {
		case evaluator.JavaScript:
			line = "javascript"
		case evaluator.Function:
			argv := slices.Delete(slices.Clone(s.Argv), 1, 3)
			line = strings.TrimSpace("function " + strings.Join(argv, " "))
			if files := s.Built.Paths(); len(files) > 0 {
				line += ": " + strings.Join(files, " ")
			}
		}
		if line != tt.want || got.Skip != "" {
			t.Errorf("%s:\n got %s (skip %q)\nwant %s", tt.assertion, line, got.Skip, tt.want)
		}
	}
}

// TestCodeOfFile: templates are not filled in the code of a file, and its functions see the
// name of the file as the value of the assertion, so that rows do not repeat the code.
func TestCodeOfFile(t *testing.T) {
	const source = "module.exports.named = module.exports = (output, ctx) => output === '{{q}}{% x %}' && ctx.test.assert[0].value;"
	values := map[string]string{"file://check.js": "= module.exports;", "file://check.js:named": "= module.exports.named;", "file://other.js": "= module.exports;"}
	for i, value := range slices.Sorted(maps.Keys(values)) {
		text := "prompts: ['{{q}}']\ndefaultTest: {assert: ["
		for _, each := range slices.Sorted(maps.Keys(values)) {
			text += "{type: javascript, value: '" + each + "'},"
		}
		got := cases(t, text+"]}\ntests: [{vars: {q: one}}, {vars: {q: two}}]\n", map[string]string{"check.js": source, "other.js": "// other\n" + source})[1]
		spec, isCode := got.Evaluators[i].Spec.(evaluator.JavaScript)
		var told struct {
			Test struct{ Assert []struct{ Value string } }
		}
		if err := json.Unmarshal(spec.Context, &told); err != nil || !isCode || got.Skip != "" {
			t.Fatalf("%s: %T with the context %s, %v, %q", value, got.Evaluators[i].Spec, spec.Context, err, got.Skip)
		}
		if !strings.Contains(spec.Code, source) || !strings.Contains(spec.Code, values[value]) || strings.Contains(spec.Code, "// other") != (value == "file://other.js") {
			t.Errorf("%s: the code is %s", value, spec.Code)
		}
		if strings.Contains(string(spec.Context), "module.exports") || len(told.Test.Assert) != len(values) || told.Test.Assert[i].Value != value {
			t.Errorf("%s: the context is %s, want the name of the file", value, spec.Context)
		}
	}
}

// TestAssertSet: all parts have to hold, or the mean reaches the threshold of the set.
func TestAssertSet(t *testing.T) {
	got := cases(t, `prompts: [x]
tests:
- {description: all, assert: [{type: assert-set, weight: 3, assert: [{type: contains, value: a}, {type: llm-rubric, value: kind, threshold: 0.5, weight: 2}]}]}
- {description: mean, assert: [{type: assert-set, threshold: 0.5, assert: [{type: contains, value: a}, {type: contains, value: b}]}]}
`, nil)
	all, mean := got[0].Evaluators[0], got[1].Evaluators[0]
	if r := all.Rule; all.Weight != 3 || !slices.Equal(r.Required, []string{"contains", "llm-rubric"}) || r.Least["contains"] != 1 || r.Least["llm-rubric"] != 0.5 || r.Weights["llm-rubric"] != 2 {
		t.Errorf("the set of which all has to hold: weight %v, rule %+v", all.Weight, r)
	}
	if r := mean.Rule; r.Required != nil || r.Threshold != 0.5 || len(mean.Spec.(evaluator.Composite).Members) != 2 {
		t.Errorf("the set with a threshold: rule %+v", r)
	}
}

// TestScenarios: each setting is run with each test of its scenario.
func TestScenarios(t *testing.T) {
	got := cases(t, `prompts: ['{{lang}}: {{q}}']
scenarios:
- config: [{vars: {lang: de}, assert: [{type: contains, value: x}]}, {vars: {lang: fr}}]
  tests: [{description: a, vars: {q: one}}, {description: b, vars: {q: two}, assert: [{type: contains, value: y}]}]
- file://more.yaml
- s/*.yaml
`, map[string]string{
		"more.yaml": "config: [{vars: {lang: it}}]\ntests: [{vars: {q: three}}]\n",
		"s/a.yaml":  "config: [{vars: {lang: es}}]\ntests: [{vars: {q: four}}]\n", "s/b.yaml": "config: [{vars: {lang: pt, q: five}}]\n",
	})
	var sent []string
	for _, c := range got {
		sent = append(sent, fmt.Sprintf("%s %d", c.Drive.Messages[0].Content, len(c.Evaluators)))
	}
	if want := []string{"de: one 1", "de: two 2", "fr: one 1", "fr: two 1", "it: three 1", "es: four 1", "pt: five 1"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// TestGlobOfTests reads each file that fits, and no other.
func TestGlobOfTests(t *testing.T) {
	got := cases(t, "prompts: ['{{q}}']\ntests: file://t/*.yaml\n", map[string]string{"t/a.yaml": "- vars: {q: a}\n", "t/b.yaml": "- vars: {q: b}\n", "t/c.json": "[]"})
	if len(got) != 2 || got[0].Drive.Messages[0].Content != "a" || got[1].Drive.Messages[0].Content != "b" {
		t.Errorf("cases %q", lines(got))
	}
	if in := (schema.Input{File: "t", Role: "tests"}); !slices.Contains(got[0].Inputs, in) {
		t.Errorf("inputs %v lack the folder %v", got[0].Inputs, in)
	}
}

// TestOneProviderIsNotKnown: the cases of the others run.
func TestOneProviderIsNotKnown(t *testing.T) {
	got, problems := load(t, "prompts: [x]\nproviders: [bot, 'vendor:model']\ntests: [{description: a}, {description: b, provider: large}]\n", nil)
	var said []string
	for _, c := range got {
		said = append(said, c.Target+" "+c.Skip)
	}
	if want := []string{"bot ", "vendor:model it needs a target for the provider vendor:model", "large "}; !slices.Equal(said, want) || schema.HasErrors(problems) {
		t.Errorf("cases %q, problems %v, want %q", said, problems, want)
	}
}

// TestTemplates: prompts, variables and values of assertions are templates, and a
// mistake in one is shown at its place, once.
func TestTemplates(t *testing.T) {
	got, problems := load(t, `prompts:
- |
  {% for x in items %}{{ loop.index }}. {{ x.name | upper }}
  {% endfor %}{{ q }}
- file://p.txt
tests:
- description: runs
  vars: {q: '{{ city | title }}?', city: new york, items: [{name: a}, {name: b}]}
  assert: [{type: contains, value: '{% if city %}{{ city | capitalize }}{% endif %}'}]
- description: does not
  assert: [{type: contains, value: "{{ city | shout }}"}]
`, map[string]string{"p.txt": "First\n---\n\nHi {% include 'x' %}\n"})
	want := []string{
		"runs/" + strings.Split(got[0].Key, "/")[1] + " @bot user=1. A\n2. B\nNew York?\n",
		"runs/p-txt-1 @bot user=First",
		"runs/p-txt-2 @bot skip: it needs a template that can be filled in: the tag {% include %} is not read",
	}
	if shown := lines(got[:3]); !slices.Equal(shown, want) {
		t.Errorf("cases %q, want %q", shown, want)
	}
	if value := string(got[0].Evaluators[0].Spec.(evaluator.Assertion).Value); value != `"New york"` {
		t.Errorf("the assertion looks for %s", value)
	}
	var said []string
	for _, p := range problems {
		if p.Rule == "template" {
			said = append(said, p.String())
		}
	}
	wrong := []string{
		"p.txt:4:4: warning: the tag {% include %} is not read; the cases that use it are not run; put the text of the other file here; a template reads no file",
		"promptfooconfig.yaml:11:47: error: the filter shout is not known; write the text without it, or name a file with the filter under `nunjucksFilters`",
	}
	if !slices.Equal(said, wrong) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(wrong, "\n"))
	}
}

// TestFoldersOfWildcards are inputs of the cases, so that a file which is added is seen.
func TestFoldersOfWildcards(t *testing.T) {
	others := map[string]string{"p/a.txt": "{{q}}", "v/a.txt": "one", "v/b.txt": "two"}
	got := cases(t, "prompts: file://p/*.txt\ntests: [{vars: {q: 'file://v/*.txt'}}]\n", others)
	if len(got) != 2 || got[0].Drive.Messages[0].Content != "one" || got[1].Drive.Messages[0].Content != "two" {
		t.Errorf("cases %q, want one of each file", lines(got))
	}
	for _, in := range []schema.Input{{File: "p", Role: "prompts"}, {File: "p/a.txt", Role: "prompt"}, {File: "v", Role: "variable"}, {File: "v/b.txt", Role: "variable"}} {
		if !slices.Contains(got[0].Inputs, in) {
			t.Errorf("inputs %v lack %v", got[0].Inputs, in)
		}
	}
}

// TestBraces: sets in braces and ** mean files wherever a name with wildcards does, as in
// promptfoo, in the order in which they are written.
func TestBraces(t *testing.T) {
	others := map[string]string{
		"a/t.yaml": "- vars: {q: at}\n", "b/t.yaml": "- vars: {q: bt}\n", "b/deep/u.yaml": "- vars: {q: bu}\n", "c/t.yaml": "- vars: {q: ct}\n",
		"p1.txt": "one {{q}}", "p2.txt": "two {{q}}", "p3.txt": "three {{q}}", "t1.txt": "I", "t2.txt": "II",
		"s/x.yaml": "config: [{vars: {q: sx}}]\n", "s/y.yaml": "config: [{vars: {q: sy}}]\n", "s/z.yaml": "config: [{vars: {q: sz}}]\n",
		"v/k.yaml": "q: vk\n", "v/l.yaml": "r: vl\n",
	}
	for _, tt := range []struct{ text, want string }{
		{"prompts: ['{{q}}']\ntests: 'file://{b,a}/*.yaml'\n", "bt at"},
		{"prompts: ['{{q}}']\ntests: ['file://{b,c}/**/{t,u}.yaml']\n", "bt bu ct"},
		{"prompts: ['file://p{1,2}.txt']\ntests: [{vars: {q: x}}]\n", "one x two x"},
		{"prompts: p{3,1}.txt\ntests: [{vars: {q: x}}]\n", "three x one x"},
		{"prompts: ['{{q}}']\nscenarios: ['file://s/{x,z}.yaml']\n", "sx sz"},
		{"prompts: ['{{q}}']\ntests: [{vars: {q: 'file://t{2,1}.txt'}}]\n", "II I"},
		{"prompts: ['{{q}} {{r}}']\ntests: [{vars: 'v/{k,l}.yaml'}]\n", "vk vl"},
		{"prompts: ['{{q}}.txt']\ntests: [{vars: {q: x}}]\n", "x.txt"},
	} {
		var said []string
		for _, c := range cases(t, tt.text, others) {
			said = append(said, c.Drive.Messages[0].Content)
		}
		if got := strings.Join(said, " "); got != tt.want {
			t.Errorf("%s: sent %q, want %q", tt.text, got, tt.want)
		}
	}
	got := cases(t, "prompts: ['{{q}}']\ntests: 'file://{a,none}/*.yaml'\n", others)
	for _, folder := range []string{"a", "none"} {
		if !slices.Contains(got[0].Inputs, schema.Input{File: folder, Role: "tests"}) {
			t.Errorf("the inputs %v lack %s", got[0].Inputs, folder)
		}
	}
}
