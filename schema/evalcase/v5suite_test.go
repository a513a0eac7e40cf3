package evalcase_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/evaluator"
)

// TestAssertionsOfAgentV5 has a row for each type of assertion that AgentV 5 knows and
// that is read.
func TestAssertionsOfAgentV5(t *testing.T) {
	for _, tt := range []struct{ assertion, kind, spec string }{
		{`Is polite`, "rubric", `{"criteria":[{"id":"rubric-1","outcome":"Is polite"}],"reference_answer":"{\"a\":1}"}`},
		{`{type: contains, value: a, negate: true}`, "assertion", `{"type":"contains","not":true,"value":"a"}`},
		{`{type: icontains, value: A}`, "assertion", `{"type":"icontains","value":"A"}`},
		{`{type: contains-any, value: [a]}`, "assertion", `{"type":"contains-any","value":["a"]}`},
		{`{type: contains-all, value: [a]}`, "assertion", `{"type":"contains-all","value":["a"]}`},
		{`{type: icontains-any, value: [a]}`, "assertion", `{"type":"icontains-any","value":["a"]}`},
		{`{type: icontains-all, value: [a]}`, "assertion", `{"type":"icontains-all","value":["a"]}`},
		{`{type: equals, value: a}`, "assertion", `{"type":"equals","value":"a","trim":true}`},
		{`{type: starts-with, value: a}`, "assertion", `{"type":"starts-with","value":"a","trim":true}`},
		{`{type: ends-with, value: a}`, "assertion", `{"type":"ends-with","value":"a","trim":true}`},
		{`{type: regex, value: a, flags: i}`, "assertion", `{"type":"regex","value":"a","flags":"i"}`},
		{`{type: is-json}`, "assertion", `{"type":"is-json"}`},
		{`{type: llm-rubric, value: Is kind}`, "llm_judge", `{"expected_outcome":"Is kind","reference_answer":"{\"a\":1}"}`},
		{`{type: llm-rubric, value: [A, {id: b, outcome: B, weight: 2}]}`, "rubric", `{"criteria":[{"id":"rubric-1","outcome":"A"},{"id":"b","outcome":"B"}],"reference_answer":"{\"a\":1}"}`},
		{`{type: llm-rubric, prompt: "Grade {{ output }}"}`, "llm_judge", `{"template":"Grade {{candidate_answer}}"}`},
		{`{type: script, command: [sh, -c, "true"]}`, "code_judge", ``},
		{`{type: "trajectory:tool-used", value: find}`, "calls", `{"type":"trajectory:tool-used","tools":[{"pattern":"find","least":1}]}`},
		{`{type: "not-trajectory:tool-used", value: find}`, "calls", `{"type":"trajectory:tool-used","not":true,"tools":[{"pattern":"find","least":1}]}`},
		{`{type: "trajectory:tool-sequence", value: {mode: exact, steps: [a, b]}}`, "calls", ``},
		{`{type: "trajectory:tool-args-match", value: {name: find, args: {q: x}}}`, "calls", ``},
		{`{type: "trajectory:step-count", value: {type: command, max: 3}}`, "calls", ``},
		{`{type: "trajectory:goal-success", value: It is booked}`, "llm-rubric", ``},
		{`{type: skill-used, value: pdf}`, "calls", ``},
		{`{type: not-skill-used, value: pdf}`, "calls", ``},
		{`{type: execution-metrics, max_tool_calls: 3}`, "execution_metrics", ``},
		{`{type: latency, threshold: 500}`, "latency", ``},
		{`{type: cost, budget: 0.1}`, "cost", ``},
		{`{type: token-usage, max_total: 9}`, "token_usage", ``},
		{`{type: field-accuracy, fields: [{path: a}]}`, "field_accuracy", ``},
		{`{type: javascript, value: "output.length > 3", config: {a: 1}}`, "javascript", `{"code":"output.length \u003e 3","context":{"config":{"a":1},"vars":{"expected_output":{"a":1},"input":"Hi"}}}`},
		{`{type: python, value: "len(output) > 3", threshold: 0.5}`, "function", ``},
		{`{type: similar, value: Hello}`, "similar", `{"texts":["Hello"],"metric":"cosine","half":true}`},
		{`{type: contains, value: a, transform: output.trim()}`, "assertion", `{"context":{"vars":{"expected_output":{"a":1},"input":"Hi"}},"spec":{"type":"contains","value":"a"},"transform":["output.trim()"],"version":1}`},
		{`{type: assert-set, threshold: 0.9, assert: [{type: contains, value: a}, {type: contains, value: b}]}`, "composite", ``},
	} {
		c := one(t, "prompts: ['{{ input }}']\ntests: [{id: x, vars: {input: Hi, expected_output: {a: 1}}, assert: ["+tt.assertion+"]}]\n")
		if len(c.Evaluators) != 1 || c.Evaluators[0].Spec.Kind() != tt.kind {
			t.Errorf("%s: the evaluators are %+v, want one %s", tt.assertion, c.Evaluators, tt.kind)
			continue
		}
		if raw, err := json.Marshal(c.Evaluators[0].Spec); err != nil || tt.spec != "" && string(raw) != tt.spec {
			t.Errorf("%s is compiled to %s, %v, want %s", tt.assertion, raw, err, tt.spec)
		}
	}
}

// TestUnreadAssertionsOfAgentV5: a test with one of them is listed and not run.
func TestUnreadAssertionsOfAgentV5(t *testing.T) {
	for _, tt := range []struct{ assertion, need string }{
		{`{type: javascript, value: "require('fs')"}`, "a program (javascript with require)"},
		{`{type: webhook, value: "https://example.org"}`, "a program (webhook)"},
		{`{type: agent-rubric, value: a}`, "a judge with tools (agent-rubric)"},
		{`{type: contains, value: a, transform: "require(output)"}`, "a program (transform with require)"},
		{`{type: assert-set, assert: [{type: contains, value: a, transform: "fetch(output)"}]}`, "a program (transform with fetch)"},
	} {
		cases, problems := load(t, "prompts: ['{{ input }}']\ntests: [{id: x, vars: {input: Hi}, assert: ["+tt.assertion+"]}, {id: y, vars: {input: Hi}, assert: [polite]}]\n")
		if len(cases) != 2 || cases[0].Skip != "it needs "+tt.need || cases[1].Skip != "" {
			t.Errorf("%s: %d cases, problems %q; the first is skipped for %q, want %q", tt.assertion, len(cases), problems, cases[0].Skip, tt.need)
		}
	}
}

// sentV5 are the ids of the cases of an AgentV 5 suite with their messages.
func sentV5(t *testing.T, files fstest.MapFS, text string) []string {
	t.Helper()
	if files == nil {
		files = fstest.MapFS{}
	}
	files["suites/a.yaml"] = &fstest.MapFile{Data: []byte(text)}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(problems) > 0 {
		t.Fatalf("%s\nhas the problems %q, want none", text, problems)
	}
	out := make([]string, 0, len(cases))
	for _, c := range cases {
		var said []string
		for _, m := range c.Drive.Messages {
			said = append(said, m.Role+"="+m.Content)
		}
		out = append(out, fmt.Sprintf("%s [%s] %s", strings.TrimPrefix(c.Key, "a#"), c.System, strings.Join(said, " ")))
	}
	return out
}

// TestPromptsOfAgentV5: a prompt is a text, a file or a chat, and several multiply the
// tests.
func TestPromptsOfAgentV5(t *testing.T) {
	const row = "\ntests: [{id: x, vars: {input: Hi, who: Bob}, assert: [polite]}]\n"
	files := fstest.MapFS{"suites/p.txt": {Data: []byte("{{ who }} says {{ vars.input }}\n")}}
	for _, tt := range []struct {
		prompts string
		want    []string
	}{
		{"providers: []", []string{"x [] user=Hi"}},
		{"prompts: '{{ input }}'", []string{"x [] user=Hi"}},
		{"prompts: ['To {{who}}: {{ input }}']", []string{"x [] user=To Bob: Hi"}},
		{"prompts: ['file://p.txt']", []string{"x [] user=Bob says Hi"}},
		{"prompts: [{role: system, content: 'You are {{who}}'}, {role: user, content: '{{input}}'}]", []string{"x [You are Bob] user=Hi"}},
		{"prompts: [{id: a, raw: 'A {{input}}'}, {id: b, messages: [{role: user, content: 'B {{input}}'}]}]", []string{"x__prompt_a [] user=A Hi", "x__prompt_b [] user=B Hi"}},
	} {
		if diff := cmp.Diff(tt.want, sentV5(t, files, tt.prompts+row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.prompts, diff)
		}
	}
}

// TestTestsOfAgentV5: tests are in the file, in others that it names, and share what
// default_test and assert say.
func TestTestsOfAgentV5(t *testing.T) {
	files := fstest.MapFS{
		"suites/t.jsonl": {Data: []byte("{\"id\": \"a\", \"input\": \"one\", \"expected_output\": \"1\", \"assert\": [\"polite\"]}\n{\"id\": \"b\", \"input\": [{\"role\": \"user\", \"content\": \"two\"}], \"criteria\": \"good\"}\n")},
		"suites/t.yaml":  {Data: []byte("tests: [{id: c, vars: {input: three}, criteria: good}]\n")},
		"suites/d.yaml":  {Data: []byte("vars: {place: Bern}\nthreshold: 0.5\nassert: [{type: contains, value: a}]\n")},
	}
	files["suites/a.yaml"] = &fstest.MapFile{Data: []byte("prompts: ['{{ input }}']\ndefault_test: file://d.yaml\nthreshold: 0.9\nassert: [kind]\ntests: [t.jsonl, file://t.yaml, {id: d, vars: {input: four}, run: {threshold: 0.7}}, {id: e, vars: {input: five}, execution: {skip_defaults: true}, assert: [brief]}]\n")}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(problems) > 0 {
		t.Fatalf("problems %q, want none", problems)
	}
	var got []string
	for _, c := range cases {
		var kinds []string
		for _, ev := range c.Evaluators {
			kinds = append(kinds, ev.Spec.Kind())
		}
		got = append(got, fmt.Sprint(strings.TrimPrefix(c.Key, "a#"), " ", c.Form, " ", c.Policy.Bands.Pass, " ", c.Drive.Messages[0].Content, " ", kinds))
	}
	want := []string{
		"a AgentV 5 0.5 one [rubric assertion]", "b AgentV 5 0.5 two [assertion rubric]", "c AgentV 5 0.5 three [assertion rubric]",
		"d AgentV 5 0.7 four [assertion rubric]", "e AgentV 5 0.5 five [rubric]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ref := cases[0].Evaluators[0].Spec.(evaluator.Rubrics).Subject.Reference; ref != "1" {
		t.Errorf("the reference of a is %q, want that of the file", ref)
	}
}

// TestProvidersOfAgentV5: every provider is a case of its own, and a test may name others.
func TestProvidersOfAgentV5(t *testing.T) {
	settings := schema.Settings{DefaultTarget: "bot", Targets: map[string]schema.TargetSettings{"bot": {}, "other": {}}}
	files := fstest.MapFS{"suites/a.yaml": {Data: []byte("prompts: ['{{ input }}']\nproviders: [bot, {label: other, id: x}]\ntests: [{id: x, vars: {input: a}, assert: [good]}, {id: y, vars: {input: a}, provider: other, assert: [good]}]\n")}}
	cases, problems := loadIn(t, files, "a.yaml", settings)
	var got []string
	for _, c := range cases {
		got = append(got, c.Key+" "+c.Target)
	}
	if want := []string{"a#x bot", "a#x other", "a#y other"}; !slices.Equal(got, want) || len(problems) > 0 {
		t.Errorf("cases %q and problems %q, want %q", got, problems, want)
	}
}

// TestTrapA6: AgentV 5 has no reference where vars names one; Gavel takes it.
func TestTrapA6(t *testing.T) {
	c := one(t, "prompts: ['{{ input }}']\ntests: [{id: x, vars: {input: a, expected_output: b}, assert: [good]}]\n")
	if got := c.Evaluators[0].Spec.(evaluator.Rubrics).Subject.Reference; got != "b" {
		t.Errorf("the reference is %q, want vars.expected_output", got)
	}
}

// TestTrapA7: AgentV 5 makes no row of a list of texts; Gavel makes one of each, as
// promptfoo does, with keys of what they say.
func TestTrapA7(t *testing.T) {
	got := sentV5(t, nil, "prompts: ['{{ q }}']\ntests: [{id: t, vars: {q: [x, y]}, assert: [good]}]\n")
	other := sentV5(t, nil, "prompts: ['{{ q }}']\ntests: [{id: t, vars: {q: [y, x]}, assert: [good]}]\n")
	slices.Reverse(other)
	if len(got) != 2 || !strings.HasSuffix(got[0], "user=x") || !strings.HasSuffix(got[1], "user=y") || !slices.Equal(got, other) {
		t.Errorf("%q, and in the other order %q, want the same two cases", got, other)
	}
}

// TestTrapA8: without any variable a prompt stays as it is written; with one, those that
// are not there are empty.
func TestTrapA8(t *testing.T) {
	got := sentV5(t, nil, "prompts: ['Hi {{ nope }}!']\ntests: [{id: a, assert: [good]}, {id: b, vars: {x: 1}, assert: [good]}]\n")
	if want := []string{"a [] user=Hi {{ nope }}!", "b [] user=Hi !"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTrapA11Repeat: AgentV 5 keeps the best of several runs; the test's number wins
// over the number for all tests and the file's.
func TestTrapA11Repeat(t *testing.T) {
	cases, problems := load(t, "prompts: ['{{ input }}']\nevaluate_options: {repeat: 3}\ntests:\n- {id: x, vars: {input: a}, assert: [good]}\n"+
		"- {id: y, vars: {input: a}, run: {repeat: 4}, options: {repeat: 5}, assert: [good]}\n- {id: z, vars: {input: a}, options: {repeat: 1}, assert: [good]}\n")
	var got []string
	for _, c := range cases {
		got = append(got, fmt.Sprint(c.Labels.Name, " ", c.Policy.Iterations, " ", c.Policy.Best))
	}
	if want := []string{"x 3 true", "y 4 true", "z 1 false"}; !slices.Equal(got, want) || len(problems) != 0 {
		t.Errorf("%q and problems %q, want %q", got, problems, want)
	}
	_, problems = load(t, "prompts: ['{{ input }}']\nevaluate_options: {repeat: many}\ntests: [{id: x, vars: {input: a}, assert: [good]}]\n")
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "a.yaml:2:28: warning: the number of runs of each test is not read") {
		t.Errorf("problems %q, want one of the number", problems)
	}
}

// TestTrapA12: a cell llm-rubric is a rubric, where AgentV 5 drops the row; a row without
// an id has the one of its place.
func TestTrapA12(t *testing.T) {
	files := fstest.MapFS{"suites/t.csv": {Data: []byte("id,input,__expected,__expected2\n,a,llm-rubric: Is kind,not-contains:z\nnamed,b,plain,\n")}}
	files["suites/a.yaml"] = &fstest.MapFile{Data: []byte("prompts: ['{{ input }}']\nproviders: []\ngovernance: {}\ntests: t.csv\n")}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(cases) != 2 || len(problems) > 0 {
		t.Fatalf("%d cases and problems %q, want two cases", len(cases), problems)
	}
	judge, isJudge := cases[0].Evaluators[0].Spec.(evaluator.LLMJudge)
	not, isNot := cases[0].Evaluators[1].Spec.(evaluator.Assertion)
	equal, isEqual := cases[1].Evaluators[0].Spec.(evaluator.Assertion)
	if cases[0].Key != "a#row-1" || cases[1].Key != "a#named" || !isJudge || judge.Subject.ExpectedOutcome != "Is kind" || !isNot || !not.Not || !isEqual || equal.Type != "equals" {
		t.Errorf("%s with %+v and %s with %+v, want row-1 with a rubric and an opposite, and named with a text to equal", cases[0].Key, cases[0].Evaluators, cases[1].Key, cases[1].Evaluators)
	}
	if at := cases[1].Origin; at.File != "suites/t.csv" || at.Line != 3 {
		t.Errorf("named is at %s, want line 3 of the table", at)
	}
}

// TestTablesOfAgentV5 are held to their header, like promptfoo's.
func TestTablesOfAgentV5(t *testing.T) {
	for _, tt := range []struct{ table, want string }{
		{"id,input,__expected\na,b,contains-all:ho,zzz\n", "t.csv:2:21: error: the record has 4 cells, and the header has 3 columns; put a cell that holds a comma in double quotes"},
		{"id,input,__expected\na,b\n", "t.csv:2:3: error: the record has 2 cells, and the header has 3 columns; write every cell, also one that is empty: a comma for each"},
		{"id,input,__expect\na,b,c\n", "t.csv:1:10: error: the column \"__expect\" is not read; did you mean `__expected`?"},
		{"id,input,__threshold\na,b,1\n", "t.csv:1:10: error: the column \"__threshold\" is not read; columns that begin with two underscores are __expected and __description; remove it, or name a variable otherwise"},
		{"id;input;__expected\na;b;c\n", "t.csv:1:1: error: the table has one column, whose name holds a semicolon; save it with commas between the cells, as CSV (comma delimited)"},
		{"id,input\na,b\xf1\n", "t.csv:2:4: error: the line is not valid UTF-8; save the file as UTF-8"},
		{"", "t.csv:1:1: error: the table is empty; write a line with the names of the columns, then a line for each row"},
	} {
		files := fstest.MapFS{"suites/t.csv": {Data: []byte(tt.table)}}
		files["suites/a.yaml"] = &fstest.MapFile{Data: []byte("prompts: ['{{ input }}']\nproviders: []\ngovernance: {}\ntests: t.csv\n")}
		cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
		if len(cases) > 0 || !slices.Contains(problems, tt.want) {
			t.Errorf("%q: %d cases, problems %q, want none and %q", tt.table, len(cases), problems, tt.want)
		}
	}
}

// TestSkippedByAgentV5: Gavel runs the tests that AgentV 5 skips for what it removed, and
// says so.
func TestSkippedByAgentV5(t *testing.T) {
	cases, problems := load(t, "prompts: ['{{ input }}']\ntests: [{id: x, vars: {input: a}, assert: [{type: rubrics, criteria: [good]}]}]\n")
	if len(cases) != 1 || cases[0].Skip != "" || len(problems) != 1 || !strings.Contains(problems[0], "AgentV 5 skips the tests with this assertion") {
		t.Errorf("%d cases and problems %q, want one case and a warning", len(cases), problems)
	}
}

// TestMistakesInAgentV5 have the place and the repair.
func TestMistakesInAgentV5(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"prompts: ['{{ input }}']\ntests: [{vars: {input: a}, assert: [good]}, {id: y, vars: {input: a}, assert: [good]}]\n", "a.yaml:2:9: error: the field `id` is missing"},
		{"prompts: ['{{ input }}']\ntests: [{id: y, vars: {input: a}, assert: [{type: contains}]}]\n", "a.yaml:2:44: error: the assertion contains has no text"},
		{"prompts: [{label: x}]\ntests: [{id: y, vars: {input: a}, assert: [good]}]\n", "a.yaml:1:11: error: the prompt has no text"},
		{"prompts: ['{{ input }}']\nproviders: [{config: {}}]\ntests: [{id: y, vars: {input: a}, assert: [good]}]\n", "a.yaml:2:"},
		{"prompts: ['{{ input }}']\ntests: [missing.yaml, {id: y, vars: {input: a}, assert: [good]}]\n", "a.yaml:2:9: error:"},
		{"prompts: ['{{ input }}']\ntreshold: 1\ntests: [{id: y, vars: {input: a}, assert: [good]}]\n", "a.yaml:2:1: error: unknown field `treshold`"},
	} {
		_, problems := load(t, tt.text)
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, tt.want) }) {
			t.Errorf("%s\nhas the problems %q, want %s", tt.text, problems, tt.want)
		}
	}
}

// TestNotRunOfAgentV5: a suite with a container or a webhook is listed and not run.
func TestNotRunOfAgentV5(t *testing.T) {
	for _, tt := range []struct{ suite, test, need string }{
		{"environment: {type: docker}", "", "a container (docker)"},
		{"name: a", "environment: {type: docker, image: x}", "a container (docker)"},
		{"workspace: {repos: [{path: ./a, repo: x}]}", "", "a clone of another repository (workspace.repos)"},
		{"name: a", "workspace: {docker: {image: x}}", "a container (docker)"},
		{"default_test: {options: {transform: require(x)}}", "", "a program (transform with require)"},
		{"assert: [{type: webhook, value: x}]", "", "a program (webhook)"},
	} {
		cases, problems := load(t, tt.suite+"\nprompts: ['{{ input }}']\ntests:\n- id: x\n  vars: {input: a}\n  assert: [good]\n  "+tt.test+"\n")
		if len(cases) != 1 || cases[0].Skip != "it needs "+tt.need || len(problems) != 1 {
			t.Errorf("%s %s: %+v and the problems %q, want one case that needs %s", tt.suite, tt.test, cases, problems, tt.need)
		}
	}
}

// TestFormerWorkspace: the environment wins over a workspace as AgentV 4 writes it.
func TestFormerWorkspace(t *testing.T) {
	text := "prompts: ['{{ input }}']\nenvironment: {workdir: ../shop}\nworkspace: {docker: {image: x}}\ntests: [{id: x, vars: {input: a}, assert: [good]}]\n"
	files := fstest.MapFS{"shop/a.txt": {}, "suites/a.yaml": {Data: []byte(text)}}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(cases) != 1 || cases[0].Skip != "" || cases[0].Drive.Workspace == nil || len(problems) > 0 {
		t.Errorf("the cases are %+v with the problems %q, want one with a workspace", cases, problems)
	}
}

// TestIncludesOfAgentV5: a template is found by its name in the nearest folder, or by its path, and
// may include others, three deep.
func TestIncludesOfAgentV5(t *testing.T) {
	files := fstest.MapFS{
		".agentv/templates/safe.yaml":        {Data: []byte("- {type: contains, value: far}\n")},
		"suites/.agentv/templates/safe.yaml": {Data: []byte("assert:\n- {type: contains, value: '{{ word }}'}\n- {include: ./more.yaml}\n")},
		".agentv/templates/far.yaml":         {Data: []byte("- Is far\n")},
		"suites/.agentv/templates/more.yaml": {Data: []byte("- Is more\n")},
		"suites/loop.yaml":                   {Data: []byte("- {include: ./loop.yaml}\n")},
	}
	const head = "prompts: ['{{ input }}']\ntests: [{id: x, vars: {input: a, word: near}, assert: ["
	files["suites/a.yaml"] = &fstest.MapFile{Data: []byte(head + "{include: safe}, {include: far}, {type: equals, value: a}]}]\n")}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	if len(cases) != 1 || len(problems) > 0 {
		t.Fatalf("%d cases and problems %q, want one", len(cases), problems)
	}
	var got []string
	for _, ev := range cases[0].Evaluators {
		raw, _ := json.Marshal(ev.Spec)
		got = append(got, string(raw))
	}
	want := []string{`{"type":"contains","value":"near"}`, `{"criteria":[{"id":"rubric-1","outcome":"Is more"},{"id":"rubric-2","outcome":"Is far"}]}`, `{"type":"equals","value":"a","trim":true}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evaluators (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ include, want string }{
		{"./loop.yaml", "loop.yaml:1:4: error: the template ./loop.yaml is included by 3 others"},
		{"gone", "a.yaml:2:57: error: the file suites/.agentv/templates/gone.yaml does not exist"},
	} {
		files["suites/a.yaml"] = &fstest.MapFile{Data: []byte(head + "{include: " + tt.include + "}]}]\n")}
		if _, problems := loadIn(t, files, "a.yaml", schema.Settings{}); !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, tt.want) }) {
			t.Errorf("%s: problems %q, want %s", tt.include, problems, tt.want)
		}
	}
}

// TestOptionsOfAgentV5: a test's options win over the options for all.
func TestOptionsOfAgentV5(t *testing.T) {
	settings := schema.Settings{DefaultTarget: "bot", Targets: map[string]schema.TargetSettings{"bot": {}, "strict": {}}}
	files := fstest.MapFS{"suites/a.yaml": {Data: []byte(`prompts: ['{{ input }}']
default_test: {options: {provider: strict, transform: output.trim()}}
tests:
- {id: x, vars: {input: a}, assert: [{type: llm-rubric, value: Is kind}]}
- {id: y, vars: {input: a}, options: {provider: bot, rubric_prompt: 'Grade {{ output }}'}, assert: [{type: llm-rubric}]}
`)}}
	cases, problems := loadIn(t, files, "a.yaml", settings)
	if len(cases) != 2 || len(problems) > 0 {
		t.Fatalf("%d cases and problems %q, want two", len(cases), problems)
	}
	for i, want := range []evaluator.LLMJudge{{Target: "strict", Subject: evaluator.Subject{ExpectedOutcome: "Is kind"}}, {Target: "bot", Template: "Grade {{candidate_answer}}"}} {
		got, ok := cases[i].Evaluators[0].Spec.(evaluator.Transformed)
		if !ok || !slices.Equal(got.Steps, []string{"output.trim()"}) {
			t.Errorf("%s is judged by %+v, want what the transform returns", cases[i].Key, cases[i].Evaluators[0].Spec)
			continue
		}
		if diff := cmp.Diff(schema.Spec(want), got.Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", cases[i].Key, diff)
		}
	}
}

// TestScenariosOfAgentV5 runs each test of a scenario with each of its settings.
func TestScenariosOfAgentV5(t *testing.T) {
	const text = `prompts: ['{{ lang }}: {{ input }}{{ end }}']
tests: [{id: alone, vars: {lang: None, input: Hi}, assert: [{type: contains, value: alone}]}]
scenarios:
- config:
  - {id: de, vars: {lang: German, end: '!'}, assert: [{type: contains, value: Hallo}]}
  - vars: {lang: French}
  tests:
  - {id: greet, vars: {input: Hello}, assert: [{type: contains, value: friend}]}
  - {id: own, vars: {input: Hello, lang: Dutch}, assert: [polite]}
- file://more.yaml
`
	const more = "config: [{vars: {lang: Greek}}]\ntests: [{id: file, vars: {input: Hello}, assert: [polite]}]\n"
	files := fstest.MapFS{"suites/a.yaml": {Data: []byte(text)}, "suites/more.yaml": {Data: []byte(more)}}
	cases, problems := loadIn(t, files, "a.yaml", schema.Settings{})
	var got []string
	for _, c := range cases {
		got = append(got, fmt.Sprintf("%s %q %d", strings.TrimPrefix(c.Key, "a#"), c.Drive.Messages[0].Content, len(c.Evaluators)))
	}
	want := []string{
		`alone "None: Hi" 1`,
		`greet__config_de "German: Hello!" 2`, `own__config_de "Dutch: Hello!" 2`,
		`greet__config_7cb9f6d7 "French: Hello" 1`, `own__config_7cb9f6d7 "Dutch: Hello" 1`,
		`file "Greek: Hello" 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the cases differ (-want +got):\n%s", diff)
	}
	if len(problems) > 0 {
		t.Errorf("problems %v, want none", problems)
	}
}
