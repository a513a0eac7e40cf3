package matrix_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/evaluator"
	"github.com/gavel-evals/gavel/schema/matrix"
)

const file = "promptfooconfig.yaml"

// load compiles a file, with others next to it.
func load(t *testing.T, text string, others map[string]string) ([]*schema.Case, []schema.Problem) {
	t.Helper()
	fsys := fstest.MapFS{file: {Data: []byte(text)}}
	for name, data := range others {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
		if strings.HasPrefix(data, "#!") {
			fsys[name].Mode = 0o755
		}
	}
	src := document.Source{FS: fsys, Root: file, KeyRoot: file, Settings: schema.Settings{
		DefaultTarget: "bot", Targets: map[string]schema.TargetSettings{"bot": {}, "large": {}, "program": {Agent: true, TakesRow: true}},
		Aliases: map[string]string{"openai:gpt-5": "large", "file://provider.yaml": "large"},
	}}
	doc, problems := src.Open(file)
	if doc == nil {
		t.Fatalf("the file cannot be read: %v", problems)
	}
	cases, more := matrix.Load(src, doc)
	return cases, append(problems, more...)
}

// quiet are the rules of what most files of these tests have, in which something else is
// tried.
var quiet = []string{matrix.RuleAsksNothing, "unknown-variable"}

// cases compiles a file without problems.
func cases(t *testing.T, text string, others map[string]string) []*schema.Case {
	t.Helper()
	got, problems := load(t, text, others)
	for _, p := range problems {
		if p.Severity != schema.Note && !slices.Contains(quiet, p.Rule) {
			t.Errorf("problem: %v", p)
		}
	}
	return got
}

// lines show what each case is sent.
func lines(cases []*schema.Case) []string {
	var out []string
	for _, c := range cases {
		line := strings.TrimPrefix(c.Key, "promptfooconfig#") + " @" + c.Target
		if c.System != "" {
			line += " system=" + c.System
		}
		for _, m := range c.Drive.Messages {
			line += " " + m.Role + "=" + m.Content
		}
		if c.Skip != "" {
			line += " skip: " + c.Skip
		}
		out = append(out, line)
	}
	return out
}

func TestRows(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		others     map[string]string
		want       []string
	}{
		{
			name: "a prompt, a variable, a description",
			text: "prompts: ['Hi {{ name }}!']\ntests:\n- {description: Greets Ann, vars: {name: Ann}}\n",
			want: []string{"greets-ann @bot user=Hi Ann!"},
		},
		{
			name: "an unknown variable is empty, and a list or object is JSON",
			text: "prompts: ['{{a}}|{{b.c}}|{{d[1]}}|{{e}}|{{nope}}']\ntests:\n- {description: x, vars: {a: 1.50, b: {c: true}, d: [1, 2], e: {k: v}}}\n",
			want: []string{`x @bot user=1.5|true|2|{"k":"v"}|`},
		},
		{
			name: "variables within variables",
			text: "prompts: ['{{q}}']\ntests:\n- {description: x, vars: {q: 'How is {{city}}?', city: 'Rome'}}\n",
			want: []string{"x @bot user=How is Rome?"},
		},
		{
			name: "a list of texts multiplies the test, a list of numbers does not",
			text: "prompts: ['{{q}} {{n}}']\ntests:\n- {description: x, vars: {q: [a, b], n: [1, 2]}}\n",
			want: []string{"x-6edb2140 @bot user=a 1,2", "x-c52f10f4 @bot user=b 1,2"},
		},
		{
			name: "prompts × providers",
			text: "prompts: [{label: Short, raw: 'S {{q}}'}, {label: Long, raw: 'L {{q}}'}]\nproviders: [bot, {id: 'openai:gpt-5', prompts: [Long]}]\ntests:\n- {description: x, vars: {q: '1'}}\n",
			want: []string{"x/short @bot user=S 1", "x/long @bot user=L 1", "x/long @large user=L 1"},
		},
		{
			name:   "a chat from a file, with the system prompt apart",
			text:   "prompts: [file://p/chat.json]\ntests:\n- {description: x, vars: {q: 'say \"hi\"'}}\n",
			others: map[string]string{"p/chat.json": `[{"role": "system", "content": "Be {{tone}}brief."}, {"role": "user", "content": "{{q}}"}]`},
			want:   []string{`x @bot system=Be brief. user=say "hi"`},
		},
		{
			name:   "a text file has several prompts",
			text:   "prompts: file://p.txt\ntests:\n- {description: x, vars: {q: '1'}}\n",
			others: map[string]string{"p.txt": "A {{q}}\n---\nB {{q}}\n"},
			want:   []string{"x/p-txt-1 @bot user=A 1", "x/p-txt-2 @bot user=B 1"},
		},
		{
			name:   "tests from a table",
			text:   "prompts: ['{{q}}']\ntests: file://t.csv\n",
			others: map[string]string{"t.csv": "q,__expected,__description\nhi,\"contains: there\",Greets\n\"a, b\",Paris,\n"},
			want:   []string{"greets @bot user=hi", "a-b-68158a52 @bot user=a, b"},
		},
		{
			name:   "variables from files",
			text:   "prompts: ['{{text}} {{data}}']\ntests:\n- {description: x, vars: {text: file://v.txt, data: file://v.json}}\n",
			others: map[string]string{"v.txt": "long\n", "v.json": `{"n": 7}`},
			want:   []string{`x @bot user=long {"n": 7}`},
		},
		{
			name: "without tests what all tests share is one",
			text: "prompts: ['Hi']\nproviders: bot\ndefaultTest: {assert: [{type: contains, value: x}]}\n",
			want: []string{"44136fa3 @bot user=Hi"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(cases(t, tt.text, tt.others))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeysComeFromWhatARowSays, never from its position.
func TestKeysComeFromWhatARowSays(t *testing.T) {
	const head = "prompts: ['{{q}}']\ntests:\n"
	rows := []string{"- {vars: {q: one}}\n", "- {vars: {q: two}, assert: [{type: equals, value: a}]}\n", "- {vars: {q: two}, assert: [{type: equals, value: b}]}\n", "- {vars: {q: three}}\n", "- {vars: {q: three}}\n"}
	keys := func(rows []string) []string {
		var out []string
		for _, c := range cases(t, head+strings.Join(rows, ""), nil) {
			out = append(out, c.Key)
		}
		slices.Sort(out)
		return out
	}
	forward := keys(rows)
	backward := slices.Clone(rows)
	slices.Reverse(backward)
	if diff := cmp.Diff(forward, keys(backward)); diff != "" {
		t.Errorf("keys of the same rows in another order (-want +got):\n%s", diff)
	}
	if n := len(slices.Compact(slices.Clone(forward))); n != len(rows) {
		t.Errorf("%d keys for %d rows: %v", n, len(rows), forward)
	}
	prompt := func(text string) string {
		return cases(t, "prompts: ['"+text+"']\ntests: [{vars: {q: one}}]\n", nil)[0].Key
	}
	if a, b := prompt("{{q}}"), prompt("Say {{q}}"); a != b {
		t.Errorf("a changed prompt changes the key %s to %s", a, b)
	}
}

// TestAssertions shows what each assertion compiles to.
func TestAssertions(t *testing.T) {
	for _, tt := range []struct{ assertion, want string }{
		{"{type: contains, value: '{{q}}!'}", `contains assertion {"type":"contains","value":"one!"} 1 weight 1`},
		{"{type: not-icontains, value: x, weight: 2}", `not-icontains assertion {"type":"icontains","not":true,"value":"x"} 1 weight 2`},
		{"{type: contains-any, value: 'a, b'}", `contains-any assertion {"type":"contains-any","value":["a","b"]} 1 weight 1`},
		{"{type: equals, value: {a: '{{q}}'}, metric: same}", `same assertion {"type":"equals","value":{"a":"one"}} 1 weight 1`},
		{"{type: is-json, value: {type: object}}", `is-json assertion {"type":"is-json","value":{"type":"object"}} 1 weight 1`},
		{"{type: levenshtein, value: x}", `levenshtein assertion {"type":"levenshtein","value":"x","most":5} 1 weight 1`},
		{"{type: latency, threshold: 500}", `latency checks {"checks":[{"id":"latency","kind":"latency_ms"}]} 1 weight 1`},
		{"{type: llm-rubric, value: Is polite, threshold: 0.7}", `llm-rubric llm-rubric {"rubric":"Is polite"} 0.7 weight 1 required pass`},
		{"{type: factuality, value: Bern}", `factuality llm-rubric {"rubric":"The OUTPUT does not contradict this reference. It may say less or more, and may differ in what bears on no fact. Reference: Bern"} 0 weight 1 required pass`},
		{"{type: model-graded-closedqa, value: Is short}", `model-graded-closedqa llm-rubric {"rubric":"The OUTPUT meets this criterion: Is short"} 0 weight 1 required pass`},
		{"{type: g-eval, value: [Is short, Is kind]}", `g-eval llm-rubric {"rubric":"Is short\nIs kind"} 0.7 weight 1`},
		{"{type: not-javascript, value: output.length > 3, threshold: 0.5}", `not-javascript javascript {"code":"output.length \u003e 3","context":{"prompt":"one","vars":{"q":"one"}},"threshold":0.5,"not":true} 0 weight 1 required pass`},
		{"{type: contains, value: x, weight: 0}", `contains assertion {"type":"contains","value":"x"} 0 weight 0`},
	} {
		got := cases(t, "prompts: ['{{q}}']\ntests:\n- vars: {q: one}\n  assert: ["+tt.assertion+", {type: contains, value: other}]\n", nil)
		ev := got[0].Evaluators[0]
		spec, _ := json.Marshal(ev.Spec)
		line := fmt.Sprintf("%s %s %s %v weight %v", ev.Name, ev.Spec.Kind(), spec, ev.Rule.Threshold, ev.Weight)
		if len(ev.Rule.Required) > 0 {
			line += " required " + strings.Join(ev.Rule.Required, " ")
		}
		if line != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.assertion, line, tt.want)
		}
	}
}

// TestTransforms holds that the transform of the test comes before the assertion's, and
// that the costs of a sample are not transformed.
func TestTransforms(t *testing.T) {
	got := cases(t, "prompts: [x]\ntests:\n- options: {transform: output.trim()}\n  assert: [{type: equals, value: A, transform: output.toUpperCase()}, {type: latency, threshold: 5}]\n", nil)
	spec, ok := got[0].Evaluators[0].Spec.(evaluator.Transformed)
	if want := []string{"output.trim()", "output.toUpperCase()"}; !ok || !slices.Equal(spec.Steps, want) || spec.Kind() != "assertion" {
		t.Errorf("the assertion is %+v, want the steps %v", got[0].Evaluators[0].Spec, want)
	}
	if _, ok := got[0].Evaluators[1].Spec.(evaluator.Checks); !ok {
		t.Errorf("latency is %+v, want a check", got[0].Evaluators[1].Spec)
	}
}

// TestThreshold holds that a threshold of the test lets the score decide.
func TestThreshold(t *testing.T) {
	got := cases(t, `prompts: [x]
defaultTest: {threshold: 0.5, assert: [{type: contains, value: first}]}
tests:
- {description: a, assert: [{type: llm-rubric, value: good}]}
- {description: b, threshold: 0}
`, nil)
	if b := got[0].Policy.Bands; b == nil || b.Pass != 0.5 || b.Borderline != 0.5 {
		t.Errorf("bands of a test with the shared threshold: %+v", b)
	}
	if r := got[0].Evaluators[1].Rule.Required; r != nil {
		t.Errorf("the judge's pass is required next to a threshold: %v", r)
	}
	if names := []string{got[0].Evaluators[0].Name, got[0].Evaluators[1].Name}; !slices.Equal(names, []string{"contains", "llm-rubric"}) {
		t.Errorf("the assertions are %v, want the shared one first", names)
	}
	if b := got[1].Policy.Bands; b == nil || b.Pass != 0 {
		t.Errorf("bands of a test with threshold 0: %+v", b)
	}
}

// TestNoAssertion holds that a test that asks nothing passes, and that reports can
// say so.
func TestNoAssertion(t *testing.T) {
	ev := cases(t, "prompts: [x]\ntests: [{description: a}]\n", nil)[0].Evaluators
	if _, is := ev[0].Spec.(evaluator.ToolCounts); !is || !ev[0].Rule.Ungated {
		t.Errorf("evaluators %+v", ev)
	}
}

// TestNeeds are needs that leave a row out, by name, while the others run.
func TestNeeds(t *testing.T) {
	for _, tt := range []struct{ row, want string }{
		{"{assert: [{type: javascript, value: \"require('fs')\"}]}", "a program (javascript with require)"},
		{"{assert: [{type: webhook, value: 'https://example.com'}]}", "a program (webhook)"},
		{"{assert: [{type: human}]}", "a person who judges (human)"},
		{"{assert: [{type: 'promptfoo:redteam:pii'}]}", "a grader of promptfoo's red team (promptfoo:redteam:pii)"},
		{"{assert: [{type: not-latency, threshold: 5}]}", "the assertion not-latency"},
		{"{assert: [{type: is-json, value: {type: string, pattern: '(?=a)'}}]}", "a pattern that RE2 does not have in a JSON Schema"},
		{"{assert: [{type: is-json, value: {patternProperties: {'^(?!a)': {}}}}]}", "a pattern that RE2 does not have in a JSON Schema"},
		{"{assert: [{type: regex, value: '" + strings.Repeat("a", 8193) + "'}]}", "a pattern of at most 8192 bytes with fewer groups"},
		{"{assert: [{type: is-json, value: {$ref: 'other.json'}}]}", "a reference to another file in a JSON Schema"},
		{"{assert: [{type: contains, value: '{% include q %}'}]}", "a template that can be filled in: the tag {% include %} is not read"},
		{"{assert: [{type: perplexity-score}]}", "probabilities of tokens (perplexity-score)"},
		{"{assert: [{type: is-sql}]}", "a parser of SQL (is-sql)"},
		{"{assert: [{type: not-contains-sql}]}", "a parser of SQL (contains-sql)"},
		{"{assert: [{type: gleu, value: x}]}", "a measure of overlap (gleu)"},
		{"{assert: [{type: not-meteor, value: x}]}", "a measure of overlap (meteor)"},
		{"{assert: [{type: guardrails}]}", "what a provider says of its own guardrails (guardrails)"},
		{"{assert: [{type: perplexity, threshold: 5}]}", "probabilities of tokens (perplexity)"},
		{"{vars: {query: q}, assert: [{type: context-relevance, contextTransform: 'require(1)'}]}", "a program (contextTransform with require)"},
		{"{assert: [{type: trace-span-count, value: {max: 1}}]}", "spans of a trace (trace-span-count)"},
		{"{options: {factuality: {agree: 0}}, assert: [{type: factuality, value: x}]}", "a factuality with scores of its own (options.factuality)"},
		{"{vars: {q: '{{ _conversation[0].input }}'}}", "the answers of other tests (_conversation)"},
		{"{assert: [{type: contains, value: x, transform: 'output + require(1)'}]}", "a program (transform with require)"},
		{"{assert: [{type: contains, value: x, contextTransform: y}]}", "`contextTransform` of an assertion"},
		{"{assert: [{type: assert-set, assert: [{type: webhook}]}]}", "a program (webhook)"},
		{"{assert: [{type: contains, value: '{{ env.HOME }}'}]}", "the environment variable HOME"},
		{"{vars: {q: 'in {{ env.HOME }}'}}", "the environment variable HOME"},
		{"{options: {transformVars: 'require(1)'}}", "a program for transformVars (require)"},
		{"{provider: other}", "a target for the provider other"},
		{"{vars: {q: file://x.pdf}}", "a variable from the text of PDF (.pdf)"},
	} {
		got, problems := load(t, "prompts: ['{{q}}']\ntests:\n- {description: runs, vars: {q: one}}\n- "+tt.row+"\n", nil)
		if schema.HasErrors(problems) || len(got) != 2 {
			t.Errorf("%s: %d cases, problems %v", tt.row, len(got), problems)
			continue
		}
		if want := "it needs " + tt.want; got[0].Skip != "" || got[1].Skip != want {
			t.Errorf("%s: skip %q and %q, want none and %q", tt.row, got[0].Skip, got[1].Skip, want)
		}
		i := slices.IndexFunc(problems, func(p schema.Problem) bool { return p.Rule == "rows-not-run" })
		if want := "1 of 2 cases are run; 1 needs what is not read (" + tt.want + ": 1)"; i < 0 || problems[i].Message != want {
			t.Errorf("%s: problems %v, want %q", tt.row, problems, want)
		}
	}
}

// TestMistakes make a file an error, with its place and the repair.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"prompts: []\ntests: [{vars: {}}]\n", "1:1: error: `prompts` has no prompt; write a text with {{variables}}, or file://prompt.txt"},
		{"prompts: [file://no.txt]\ntests: [{vars: {}}]\n", "1:11: error: the file no.txt does not exist; add it or correct the path"},
		{"prompts: [x]\nproviders: [openai:gpt-9]\ntests: [{}]\n", `2:13: error: the provider "openai:gpt-9" is not a target in gavel.yaml; add it to gavel.yaml, as in targets: {model: {provider: …, model: …}} and aliases: {"openai:gpt-9": model}`},
		{"prompts: [x]\nproviders: []\ntests: [{}]\n", "2:1: error: `providers` has no provider; name a target of gavel.yaml or a model such as openai:chat:gpt-5, or remove the key for the default target"},
		{"prompts: [x]\ntests: {a: 1}\n", "2:1: error: `tests` must be a list of tests or the name of a file; write - vars: {…} for each test, or file://tests.csv"},
		{"prompts: [x]\ntests: file://t*.yaml\n", `2:1: error: no file fits "file://t*.yaml"; correct the path, or name each file`},
	} {
		cases, problems := load(t, tt.text, nil)
		var got []string
		for _, p := range problems {
			if p.Severity == schema.Error {
				got = append(got, strings.TrimPrefix(p.String(), file+":"))
			}
		}
		if len(cases) != 0 || !slices.Contains(got, tt.want) {
			t.Errorf("%s: %d cases, errors\n%s\nwant\n%s", tt.text, len(cases), strings.Join(got, "\n"), tt.want)
		}
	}
}

// TestOneTestHasErrors: its cases are not run, and the others' are.
func TestOneTestHasErrors(t *testing.T) {
	for _, tt := range []struct{ test, want string }{
		{"{assert: [{value: x}]}", "4:13: error: the field `type` is missing; add \"type\": …"},
		{"{assert: [{not-contains: x}]}", "4:14: error: the assertion has no `type`, and not-contains is the name of one; write type: not-contains, and value: with what it looks for"},
		{"{assert: [{type: contains, value: x, weight: much}]}", "4:48: error: `weight` must be a number, not a string; write a number"},
		{"{threshold: 7}", "4:15: error: `threshold` is 7; it must be at most 1"},
		{"{vars: {q: file://gone.txt}}", "4:11: error: the file gone.txt does not exist; add it or correct the path"},
		{"{assert: [{type: javascript, value: file://gone.js}]}", "4:32: error: the file gone.js does not exist; add it or correct the path"},
		{"{assert: [{type: regex, value: '(P'}]}", "4:27: error: the pattern (P of regex cannot be read: expecting ')'; correct it; a sign that is meant itself is written with a backslash, as in \\("},
		{"{assert: [{type: not-regex, value: '(P(?=a)'}]}", "4:31: error: the pattern (P(?=a) of regex cannot be read: expecting ')'; correct it; a sign that is meant itself is written with a backslash, as in \\("},
		{"{assert: [{type: regex, value: 'a{2,1}'}]}", "4:27: error: the pattern a{2,1} of regex cannot be read: invalid repetition count; correct it; a sign that is meant itself is written with a backslash, as in \\("},
		{"{assert: [{type: rouge-n, value: [a]}]}", "4:29: error: the value of rouge-n is a list, and it looks for one text; write one text; contains-any and contains-all take a list, and regex a pattern such as ^(one|two)"},
		{"{assert: [{type: bleu, value: []}]}", "4:26: error: the assertion bleu has no value; add value: with what it looks for"},
		{"{assert: [{type: not-bleu}]}", "4:13: error: the assertion not-bleu has no value; add value: with what it looks for"},
		{"{assert: [{type: is-xml, value: {elements: [a]}}]}", "4:28: error: the value of is-xml has the unknown field `elements`; known are requiredElements"},
		{"{assert: [{type: contains-xml, value: {requiredElements: a}}]}", "4:34: error: the value of contains-xml has \"a\" in place of a list of texts; write names of elements, such as [note.to, note.body], or remove the value to ask for any XML"},
		{"{assert: [{type: is-xml, value: 'a, '}]}", "4:28: error: the value of is-xml has an empty name of an element; write names of elements, such as [note.to, note.body], or remove the value to ask for any XML"},
		{"{assert: [{type: is-json, value: {typ: object}}]}", "4:29: error: the value of is-json is not a JSON Schema: $: unknown keyword \"typ\"; correct the schema, or remove it to ask for any JSON"},
		{"{assert: [{type: contains}]}", "4:13: error: the assertion contains has no value; add value: with what it looks for"},
		{"{assert: [{type: contains, value: ''}]}", "4:30: error: the assertion contains has no value; add value: with what it looks for"},
		{"{vars: {q: ''}, assert: [{type: contains, value: '{{q}}'}]}", "4:45: error: the assertion contains has no value, for the test 7eab1bf7; add value: with what it looks for"},
		{"{assert: [{type: assert-set, assert: [{type: latency}]}]}", "4:41: error: the assertion latency has no threshold; add threshold: with milliseconds"},
		{"{assert: [{type: assert-set, assert: []}]}", "4:13: error: the assert-set has no assertions; add assert: with a list of them"},
		{"{assert: [{type: javascript}]}", "4:13: error: the value of javascript is not code; write code as a text, or the name of a file with it: file://…"},
		{"{assert: [{type: moderation, value: hate}]}", "4:32: error: the value of moderation is not a list of categories; write a list of categories, such as [hate, violence]"},
		{"{assert: [{type: trajectory:tool-used}]}", "4:13: error: the value of trajectory:tool-used cannot be read; write the name of a tool, a list of names, or {pattern, min, max}"},
		{"{assert: [{type: contain, value: x}]}", "4:29: error: the assertion \"contain\" is not known; did you mean `contains`?"},
		{"{assert: [{type: not-contain, value: x}]}", "4:33: error: the assertion \"not-contain\" is not known; did you mean `not-contains`?"},
		{"{assert: [{type: not-empty}]}", `4:13: error: the assertion "not-empty" is not known; promptfoo does not have it either; write javascript with "output.length > 0"`},
		{"{assert: [{type: sounds-nice}]}", `4:13: error: the assertion "sounds-nice" is not known; promptfoo does not have it either; write the type of an assertion, such as contains or llm-rubric`},
		{"{assert: [{$ref: '#/nowhere'}]}", "4:14: error: the assertion of the reference #/nowhere is not in the file; add it under assertionTemplates, or correct the name"},
		{"{assert: [{type: contains, value: '{{ q | shout }}'}]}", "4:45: error: the filter shout is not known; write the text without it, or name a file with the filter under `nunjucksFilters`"},
		{"{assert: [{type: contains, value: '{{ q '}]}", "4:38: error: {{ q  is never closed; close it with }}"},
		{"{assert: [{type: contains, value: [a, b]}]}", "4:30: error: the value of contains is a list, and it looks for one text; write type: contains-any or contains-all for several texts"},
		{"{assert: [{type: not-contains, value: [a, b]}]}", "4:34: error: the value of not-contains is a list, and it looks for one text; write type: not-contains-any, which no text of the list may be in, or not-contains-all"},
		{"{assert: [{type: not-icontains, value: {a: b}}]}", "4:35: error: the value of not-icontains is an object, and it looks for one text; write one text"},
		{"{assert: [{type: not-starts-with, value: [sorry, sad]}]}", "4:37: error: the value of not-starts-with is a list, and it looks for one text; write one text; contains-any and contains-all take a list, and regex a pattern such as ^(one|two)"},
		{"{assert: [{type: regex, value: [sorry, sad]}]}", "4:27: error: the value of regex is a list, and it looks for one text; write one pattern such as (one|two), or type: contains-any for several texts"},
		{"{assert: [{type: levenshtein, value: [a]}]}", "4:33: error: the value of levenshtein is a list, and it looks for one text; write one text; contains-any and contains-all take a list, and regex a pattern such as ^(one|two)"},
		{"{assert: [{type: ends-with, value: {a: 1}}]}", "4:31: error: the value of ends-with is an object, and it looks for one text; write one text"},
		{"{assert: [{type: finish-reason, value: [stop]}]}", "4:35: error: the value of finish-reason is a list, and it looks for one text; write one text; contains-any and contains-all take a list, and regex a pattern such as ^(one|two)"},
		{"{assert: [{type: factuality, value: [a]}]}", "4:32: error: the value of factuality is a list, and it looks for one text; write one text; contains-any and contains-all take a list, and regex a pattern such as ^(one|two)"},
		{"{assert: [{type: contains-any, value: [[a, b]]}]}", "4:34: error: the value of contains-any has [\"a\",\"b\"] in place of a text in its list; write a list of texts, such as [one, two]"},
		{"{assert: [{type: contains-all, value: {a: b}}]}", "4:34: error: the value of contains-all has {\"a\":\"b\"} in place of a list of texts; write a list of texts, such as [one, two]"},
		{"{assert: [{type: contains-any}]}", "4:13: error: the assertion contains-any has no texts to look for; add a list of texts, such as value: [one, two]"},
		{"{assert: [{type: cost}]}", "4:13: error: the assertion cost has no threshold; add threshold: with dollars"},
		{"{assert: [{type: similar}]}", "4:13: error: the assertion similar has no value; add value: with what it looks for"},
		{"{assert: [{type: llm-rubric}]}", "4:13: error: the assertion llm-rubric has no value; add value: with what it looks for"},
		{"{assert: [{type: word-count, value: some}]}", "4:32: error: the value of word-count is neither a number nor {min, max}; write a number of words, or {min: 5, max: 10}"},
		{"{options: {transform: file://gone.js}}", "4:14: error: the file gone.js does not exist; add it or correct the path"},
	} {
		got, problems := load(t, "prompts: ['{{q}}']\ntests:\n- {description: runs, vars: {q: one}}\n- "+tt.test+"\n", nil)
		var said []string
		for _, p := range problems {
			if p.Severity == schema.Error {
				said = append(said, strings.TrimPrefix(p.String(), file+":"))
			}
		}
		if len(said) != 1 || said[0] != tt.want {
			t.Errorf("%s: errors %q, want %q", tt.test, said, tt.want)
		}
		if len(got) != 2 || got[0].Skip != "" || got[1].Skip != "it needs a test without errors" {
			t.Errorf("%s: cases %q, want one that runs and one without", tt.test, lines(got))
		}
	}
}

// TestValueFiles holds that a file of JSON or YAML is a value, that another is a text, and
// that one with a mistake is not taken as a text.
func TestValueFiles(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"v.json", `{"a": 1}`, ""},
		{"v.yaml", "a: 1\n", ""},
		{"v.txt", `{"a": 1`, ""},
		{"v.json", `{"a": 1`, "4:44: error: the file v.json is not JSON; correct it, or name a .txt file if its text is meant"},
		{"v.yml", "a: [1\n", "v.yml:1:5: error: not valid YAML: the list that begins before this place is not closed, or lacks a comma; close it with ], and put a comma between items"},
	} {
		got, problems := load(t, "prompts: ['{{q}}']\ntests:\n- {description: runs, vars: {q: one}}\n- {vars: {q: two}, assert: [{type: equals, value: 'file://"+tt.name+"'}]}\n", map[string]string{tt.name: tt.content})
		var said []string
		for _, p := range problems {
			if p.Severity == schema.Error {
				said = append(said, strings.TrimPrefix(p.String(), file+":"))
			}
		}
		if strings.Join(said, "\n") != tt.want {
			t.Errorf("%s: errors %q, want %q", tt.name, said, tt.want)
		}
		if len(got) != 2 || got[0].Skip != "" || (got[1].Skip == "") != (tt.want == "") {
			t.Errorf("%s: cases %q, want one that runs and one that runs without an error", tt.name, lines(got))
		}
	}
}

// TestBounds holds that a file cannot make more rows than are looked at.
func TestBounds(t *testing.T) {
	list := "[" + strings.Repeat("a, ", 99) + "a]"
	text := "prompts: ['{{a}}']\ntests: [{vars: {a: " + list + ", b: " + list + ", c: " + list + ", d: " + list + "}}]\n"
	_, problems := load(t, text, nil)
	if i := slices.IndexFunc(problems, func(p schema.Problem) bool { return p.Rule == "too-many-rows" }); i < 0 {
		t.Errorf("problems %v, want that there are too many rows", problems)
	}
	long := strings.Repeat("x", 200_000)
	for _, large := range []string{
		"prompts: ['{{a}}']\ntests: [{vars: {a: " + long + ", b: " + list + ", c: " + list + "}}]\n",
		"prompts: ['{{b}}']\ntests: [{vars: {b: " + list + ", c: " + list + "}, providerOutput: " + long + "}]\n",
	} {
		_, problems = load(t, large, nil)
		if i := slices.IndexFunc(problems, func(p schema.Problem) bool { return p.Rule == "too-many-bytes" }); i < 0 {
			t.Errorf("problems %v, want that there is too much text", problems)
		}
	}
	bomb := "prompts: ['{{a}}']\ntests:\n- vars:\n    a: '" + strings.Repeat("{{b}}", 1000) + "'\n    b: '" + strings.Repeat("{{c}}", 1000) + "'\n    c: '" + strings.Repeat("{{d}}", 1000) + "'\n    d: " + strings.Repeat("x", 1000) + "\n"
	got, _ := load(t, bomb, nil)
	if len(got) != 1 {
		t.Fatalf("%d cases", len(got))
	}
	n := 0
	for _, m := range got[0].Drive.Messages {
		n += len(m.Content)
	}
	if n > 2<<20 {
		t.Errorf("a text of %d bytes is sent", n)
	}
}
