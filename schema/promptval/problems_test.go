package promptval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
	"github.com/gavel-evals/gavel/schema/promptval"
)

// TestProblems has one mistake in every row, always in the second line, and
// says the whole problem: place, severity, message and what to write instead.
func TestProblems(t *testing.T) {
	const (
		weighed = `"rubric": {"criteria": [{"name": "Clarity", "weight": 1}]}`
		score   = `"evaluation_type": "numeric"`
		retried = `"retry": true, "max_retries": 1`
	)
	custom := swap(with(), "agent", "custom_workflow", "planner", "small")
	workflow := swap(with(), "agent", "workflow", "planner", "support")
	for _, row := range []struct{ name, text, want string }{
		{"misspelt field", with(`"iteration": 2`), "2:1: error: unknown field `iteration`; did you mean `iterations`?"},
		{"unknown field", with(`"zzz": 2`), "2:1: error: unknown field `zzz`; known are test_type, type, name, id, user_input, input, iterations, testing_prompt, rubric, evaluation_type, threshold, retry, max_retries, edit_prompt, editor_model, new_prompt, expected_tools, analysis, checks, output"},
		{"field of testcase", with(`"persona": {}`), "2:1: error: `persona` does not belong here: nobody plays the user of an agent or workflow; remove it, or write a case of the testcase format"},
		{"field of domain", with(`"evaluator_id": "keyword"`), "2:1: error: `evaluator_id` does not belong here: `evaluation_type` says how the output is judged; write numeric or default there"},
		{"field of evalcase", with(`"expected_outcome": "x"`), "2:1: error: `expected_outcome` does not belong here: what is expected is said to the evaluation agent; write it into `testing_prompt`"},
		{"both names of a field", with(`"input": "x"`), "2:1: error: `input` says the same as `user_input`; remove one of them"},
		{"neither name of a field", `{"type": "agent", "id": "planner", "testing_prompt": "x"}`, "1:1: error: the field `user_input` is missing; add \"user_input\": …"},
		{"a wrong later name", `{"type": "agnt", "id": "planner", "testing_prompt": "x", "input": "y"}`, "1:10: error: `type` is \"agnt\"; did you mean `agent`? write one of agent, workflow, custom_workflow"},
		{"wrong type", with(`"iterations": "3"`), "2:15: error: `iterations` must be a number, not a string; write 3 without quotes"},
		{"no whole number", with(`"iterations": 1.5`), "2:15: error: `iterations` must be a whole number, not 1.5; write it without a fraction"},
		{"no iterations", with(`"iterations": 0`), "2:15: error: `iterations` is 0; it must be at least 1, or null"},
		{"iterations without end", with(`"iterations": 1000000000`), "2:15: error: `iterations` is 1000000000; it must be at most 1000"},
		{"too many samples", strings.Replace(with(`"iterations": 1000`), `"Plan a trip."`, `["a"`+strings.Repeat(`, "a"`, 10)+`]`, 1), "2:1: error: the case takes up to 11000 samples (inputs × iterations × attempts: 11 × 1000 × 1); it may take 10000; lower `iterations` or `max_retries`, or write several files"},
		{"too many attempts", with(`"iterations": 10, "retry": true, "max_retries": 1000`), "2:1: error: the case takes up to 10010 samples (inputs × iterations × attempts: 1 × 10 × 1001); it may take 10000; lower `iterations` or `max_retries`, or write several files"},
		{"fewer retries than none", with(`"max_retries": -1`), "2:16: error: `max_retries` is -1; it must be at least 0"},
		{"number of no size", with(`"iterations": 99999999999999999999`), "2:15: error: `iterations` is more than can be counted; write a number that can be meant, or null"},
		{"threshold out of range", with(`"threshold": 11`), "2:14: error: `threshold` is 11; it must be at most 10"},
		{"wrong enum", with(`"editor_model": "claud"`), "2:17: error: `editor_model` is \"claud\"; did you mean `claude`? write one of gemini, claude"},
		{"missing field", strings.Replace(with(), `"name": "planner", `, "", 1), "1:1: error: the field `name` is missing; add \"name\": …"},
		{"no input", strings.Replace(with(), `"Plan a trip."`, "\n[]", 1), "2:1: error: `user_input` has 0 items; it must have at least 1 item"},
		{"object for an agent", strings.Replace(with(), `"user_input": "Plan a trip."`, "\n\"user_input\": {}", 1), "2:1: error: `user_input` may be an object for a custom_workflow only; write a string or a list of strings"},
		{"unknown target", strings.Replace(with(), `"name": "planner"`, "\n\"name\": \"planer\"", 1), "2:1: error: unknown target \"planer\"; did you mean `planner`?"},
		{"target unlike any", strings.Replace(with(), `"name": "planner"`, "\n\"name\": \"zzz\"", 1), "2:1: error: unknown target \"zzz\"; add it to targets: or aliases: in gavel.yaml"},
		{"target of another kind", strings.Replace(with(), `"test_type": "agent"`, "\n\"test_type\": \"workflow\"", 1), "2:1: error: planner is of the kind agent, and test_type is workflow; write \"agent\", or kind: workflow for the target in gavel.yaml"},

		{"numeric without a rubric", with(score), "1:1: error: the field `rubric` is missing, and evaluation_type is numeric; add \"rubric\": {\"criteria\": [{\"name\": …, \"weight\": 1}]}"},
		{"numeric without a weight", with(`"rubric": {"criteria": [{"name": "Clarity"}]}`, score), "2:25: error: the criterion \"Clarity\" has no weight, and evaluation_type is numeric; add \"weight\": …"},
		{"weights of nothing", with(`"rubric": {"criteria": [{"name": "Clarity", "weight": 0}]}`, score), "2:12: error: the weights of the rubric sum to 0; give one of the criteria a weight"},
		{"weights without end", with(`"rubric": {"criteria": [{"name": "a", "weight": 1e308}]}`, score), "2:49: error: `weight` is 1e308; it must be at most 1000000000"},
		{"weights of another sum", with(`"rubric": {"criteria": [{"name": "a", "weight": 0.1}, {"name": "b", "weight": 0.7}]}`, score), "2:12: warning: the weights of the rubric sum to 0.8 and not to 1; the score is divided by the sum"},
		{"duplicate criterion", with(`"rubric": {"criteria": [{"name": "a", "weight": 1}, {"name": "a", "weight": 0}]}`), "2:54: error: the rubric has the criterion \"a\" twice; the first is in line 2; rename one"},
		{"misspelt in the rubric", with(`"rubric": {"criteria": [{"name": "a", "wieght": 1}]}`), "2:39: error: unknown field `wieght`; did you mean `weight`?"},
		{"threshold without a score", with(`"threshold": 7`), "2:1: warning: `threshold` is ignored, since evaluation_type is default; write \"evaluation_type\": \"numeric\", or remove it"},

		{"tool without a rule", with(`"expected_tools": [{"name": "a"}]`), "2:20: error: the tool \"a\" has no rule; add eq, lt, le, gt or ge"},
		{"tool with a null rule", with(`"expected_tools": [{"name": "a", "eq": null}]`), "2:20: error: the tool \"a\" has no rule; add eq, lt, le, gt or ge"},
		{"unknown operator", with(`"expected_tools": [{"name": "a", "ne": 1}]`), "2:34: error: `ne` does not belong here: a count is bounded, not excluded; write eq, lt, le, gt or ge"},
		{"rules that exclude", with(`"expected_tools": [{"name": "a", "gt": 2, "lt": 3}]`), "2:20: error: no number of calls of \"a\" satisfies its rules; all rules of an entry must hold; remove one"},
		{"less than none", with(`"expected_tools": [{"name": "a", "lt": 0}]`), "2:20: error: no number of calls of \"a\" satisfies its rules; all rules of an entry must hold; remove one"},
		{"a count of no size", with(`"expected_tools": [{"name": "a", "eq": 99999999999999999999}]`), "2:40: error: `eq` is more than can be counted; write a number that can be meant, or null"},
		{"tool with two entries", with(`"expected_tools": [{"name": "a", "gt": 0}, {"name": "a", "lt": 3}]`), "2:45: error: the tool \"a\" has two entries; write its rules into the entry in line 2"},
		{"tools of a workflow", strings.Replace(workflow, "}", ",\n\"expected_tools\": [{\"name\": \"a\", \"eq\": 1}]}", 1), "2:1: warning: `expected_tools` is ignored, since test_type is not agent; remove it"},
		{"tools of another", strings.Replace(custom, "}", ",\n\"expected_tools\": [{\"name\": \"a\", \"eq\": 1}]}", 1), "2:1: warning: `expected_tools` is ignored, since test_type is not agent; remove it"},
		{"a threshold of nothing", with(`"analysis": false, "evaluation_type": "numeric"`, `"threshold": 7`), "3:1: warning: `threshold` is ignored, since analysis is false; remove it, or remove analysis"},
		{"retries that are off", with(`"max_retries": 2`), "2:1: warning: `max_retries` is ignored, since retry is not true; write \"retry\": true, or remove it"},
		{"no retries", with(`"retry": true`), "2:1: warning: `retry` has no effect, since max_retries is 0; write \"max_retries\": 1 or more"},
		{"rewriting in vain", with(`"edit_prompt": true,` + score + "," + weighed), "2:1: warning: no prompt is ever proposed, since without a threshold every score passes; add \"threshold\": …"},
		{"nothing can fail", with(retried + "," + score + "," + weighed), "2:1: warning: the case is never retried, since without a threshold every score passes; add \"threshold\": …"},
		{"empty alternative", with(`"new_prompt": " "`), "2:1: warning: `new_prompt` is empty; nothing is compared; write a prompt, or remove it"},
		{"alternative that is not sent", strings.Replace(workflow, "}", ",\n\"new_prompt\": \"B\"}", 1), "2:1: error: support takes no prompt from outside, so that none can be compared; write accepts_prompt: true for the target in gavel.yaml if it does, or remove this"},
		{"rewritten and not sent", strings.Replace(workflow, "}", ",\n\"edit_prompt\": true, "+retried+"}", 1), "2:1: error: support takes no prompt from outside, so that it cannot be rewritten; write accepts_prompt: true for the target in gavel.yaml if it does, or remove this"},

		{"several configurations", "[" + with() + ",\n" + with() + "]", "2:1: error: the file holds 2 configurations; it may hold one; write each into a file of its own"},
		{"no configuration", "[]", "1:1: error: the file holds 0 configurations; it may hold one; write each into a file of its own"},
		{"a word", `"agent"`, "1:1: error: the file must be an object, not a string; write an object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, problems := load(t, "tests/a.json", row.text, settings())
			if len(problems) != 1 || problems[0] != row.want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(problems, "\n"), row.want)
			}
		})
	}
}

// TestEveryMistakeIsReported: one problem does not hide the others.
func TestEveryMistakeIsReported(t *testing.T) {
	_, problems := load(t, "tests/a.json", with(`"evaluation_type": "numeric"`, `"expected_tools": [{"name": "a"}]`, `"max_retries": 1`, `"new_prompt": ""`), settings())
	want := []string{
		"1:1: error: the field `rubric` is missing, and evaluation_type is numeric; add \"rubric\": {\"criteria\": [{\"name\": …, \"weight\": 1}]}",
		"3:20: error: the tool \"a\" has no rule; add eq, lt, le, gt or ge",
		"4:1: warning: `max_retries` is ignored, since retry is not true; write \"retry\": true, or remove it",
		"5:1: warning: `new_prompt` is empty; nothing is compared; write a prompt, or remove it",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}

// TestAnalysisOff: without the judge the counts of tool calls and the checks decide
// alone, and no rubric is needed.
func TestAnalysisOff(t *testing.T) {
	tc, problems := load(t, "tests/a.json", with(`"analysis": false`, toolsExample, `"new_prompt": "B"`), settings())
	if len(problems) > 0 || len(tc.Evaluators) != 1 || tc.Evaluators[0].Weight != 1 || tc.Evaluators[0].Spec.Kind() != "tool_counts" || tc.Skip != "" {
		t.Error(problems, tc)
	}
	if tc.Alternative == nil || tc.Alternative.Comparison != nil {
		t.Errorf("the alternative is %v; it is to be compared without a judge", tc.Alternative)
	}
	tc, problems = load(t, "tests/a.json", with(`"analysis": false`, `"evaluation_type": "numeric"`), settings())
	if len(problems) > 0 || tc.Skip != "" || len(tc.Evaluators) > 0 {
		t.Errorf("a case that nothing judges has the problems %v and the evaluators %v, want it active with none", problems, tc.Evaluators)
	}
}

// TestEveryModelTakesEveryKind: what a model is, its prompt says.
func TestEveryModelTakesEveryKind(t *testing.T) {
	for _, kind := range []string{"agent", "workflow", "custom_workflow"} {
		for _, name := range []string{"small", "azure_base", "unknown-kind"} {
			if _, problems := load(t, "tests/a.json", swap(with(), "agent", kind, "planner", name), settings()); len(problems) > 0 {
				t.Error(kind, name, problems)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		with(), with(rubricExample, toolsExample, `"evaluation_type": "numeric"`), generate(1), "[" + with() + "]",
		with(`"expected_tools": [{"name": "a", "gt": 9223372036854775807, "lt": 0}]`), with(`"iterations": 1E+0999`),
		with(`"rubric": {"criteria": [{"name": "\u0000", "weight": -0.0}]}`), with(`"user_input": null, "output": [[[]]]`),
		`{"test_type": "custom_workflow", "name": "../../etc/passwd", "user_input": {"a": {"a": [1e999]}}, "testing_prompt": "\ud800"}`,
		`{"name": "a", "name": "b"}`, strings.Repeat("[", 200), "a: &a [*a]\n", "<<: &a {<<: *a}\n", "name: .nan\n", "- - -\n", "\xff\xfe{\x00}\x00",
		"test_type: agent\nname: planner\nuser_input: !!binary aGk=\ntesting_prompt: >-\n  x\n", `{"regex": "(a+)+$"}`, "null", "1", "\n\n{}\n\nnull\n",
	} {
		for _, ext := range []string{"json", "yaml", "jsonl"} {
			f.Add(ext, text)
		}
	}
	src := source(settings())
	f.Fuzz(func(t *testing.T, ext, text string) {
		if ext != "json" && ext != "yaml" && ext != "jsonl" {
			t.Skip()
		}
		doc, problems := document.Parse("tests/a."+ext, []byte(text))
		var cases []*schema.Case
		if doc != nil {
			cases, problems = promptval.Load(src, doc)
		}
		if schema.HasErrors(problems) == (len(cases) == 1) {
			t.Errorf("%d cases, and problems %v", len(cases), problems)
		}
		for _, p := range problems {
			if p.File != "tests/a."+ext || p.Line < 1 || p.Column < 1 || p.Rule == "" || p.Message == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		for _, c := range cases {
			if c.Key != "a" || c.Target == "" || c.Policy.Iterations < 1 || len(c.Drive.Messages)+len(c.Drive.Openings) == 0 {
				t.Errorf("not a whole case: %s", fmt.Sprint(c))
			}
		}
	})
}

// TestNoOriginalPrompt compares and rewrites prompts of a model that has none. An
// agent has one of its own, which nobody knows.
func TestNoOriginalPrompt(t *testing.T) {
	const compared, edited = `"new_prompt": "B"`, `"edit_prompt": true, "retry": true, "max_retries": 1`
	for _, test := range []struct{ target, field, want string }{
		{"small", compared, "the target small has no system prompt, so that `new_prompt` is compared with none"},
		{"small", edited, "the target small has no system prompt, so that the editor starts from none"},
		{"told", compared, ""}, {"told", edited, ""}, {"planner", compared, ""}, {"planner", edited, ""},
	} {
		tc, problems := load(t, "tests/a.json", swap(with(test.field), "planner", test.target), settings())
		want := ""
		if test.want != "" {
			want = "warning: " + test.want + "; write system_prompt: {file: …} for the target in gavel.yaml"
		}
		got := strings.Join(problems, "")
		if _, said, found := strings.Cut(got, ": "); found {
			got = said
		}
		if got != want || tc == nil {
			t.Errorf("%s with %s: the problems are %q, want %q and a case", test.target, test.field, got, want)
		}
	}
}

// TestLaterNames are other names of the same fields.
func TestLaterNames(t *testing.T) {
	today, problems := load(t, "tests/a.json", `{"test_type": "agent", "name": "planner", "user_input": ["Hi", "Ho"], "testing_prompt": "Good?", "expected_tools": [{"name": "a", "eq": 1}]}`, settings())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	later, problems := load(t, "tests/a.json", `{"type": "agent", "id": "planner", "input": ["Hi", "Ho"], "testing_prompt": "Good?", "expected_tools": [{"name": "a", "eq": 1}]}`, settings())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(today, later); diff != "" {
		t.Errorf("the names of today against those of later versions (-today +later):\n%s", diff)
	}
	if _, problems := load(t, "tests/a.json", `{"type": "workflow", "id": "planner", "input": "Hi", "testing_prompt": "Good?"}`, settings()); len(problems) != 1 || problems[0] != "1:2: error: planner is of the kind agent, and type is workflow; write \"agent\", or kind: workflow for the target in gavel.yaml" {
		t.Errorf("a target of another kind gives %q, want an error at type", problems)
	}
}
