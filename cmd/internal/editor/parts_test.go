package editor

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema/shape"
)

const (
	messagesFile = "test_definitions/shop.yaml"
	messagesText = `# Support.
evalcases:
  - id: refund # first
    input:
      # Who speaks.
      - role: system
        content: 'Be brief.'   # always
      - {role: user, content: "Hi: you"}
      - role: user
        content:
          - {type: text, value: Look}
          - type: image
            value: pic.png
    expected_outcome: It greets.
    evaluators:
      - type: llm_judge
        prompt: &q |
          Is it "good"?
          {{candidate_answer}}
        rubrics: [Kind, {id: short, expected_outcome: 'Is short'}]
        config: {mine: [1, 2.0]}
      - {type: latency, max_ms: 500}
  - id: other
    input: Bye
    expected_outcome: It leaves.
`
	messagesForm = "/settings/form?item=0&format=evalcase&path=" + messagesFile
)

// picture begins as a PNG does.
const picture = "\x89PNG\r\n\x1a\n"

// without returns what a form sends if the inputs of a part are not in it any more.
func without(form url.Values, prefix string) url.Values {
	for name := range form {
		if strings.HasPrefix(name, prefix) {
			form.Del(name)
		}
	}
	return form
}

// TestItemsKeepTheRest edits, adds and removes items of lists in a form. Every byte that was not
// edited stays.
func TestItemsKeepTheRest(t *testing.T) {
	for _, tt := range []struct {
		name      string
		change    url.Values
		less      string // the prefix of the removed inputs
		was, want string
	}{
		{"nothing", nil, "", "", ""},
		{"a text in quotes", url.Values{"f.input.0.content": {"Be kind."}}, "", `'Be brief.'   #`, `Be kind.   #`},
		{"a role", url.Values{"f.input.1.role": {"assistant"}}, "", `{role: user,`, `{role: assistant,`},
		{"a text in brackets", url.Values{"f.input.1.content": {"Hello"}}, "", `"Hi: you"}`, `Hello}`},
		{"a part of a content", url.Values{"f.input.2.content.1.value": {"new.png"}}, "", "pic.png", "new.png"},
		{"a new message", url.Values{"f.input.3.role": {"assistant"}, "f.input.3.content": {"Yes?\r\nWell."}}, "", "value: pic.png\n", "value: pic.png\n      - role: assistant\n        content: |-\n          Yes?\n          Well.\n"},
		{"a message less", nil, "f.input.1.", "      - {role: user, content: \"Hi: you\"}\n", ""},
		{"a message that is emptied", url.Values{"f.input.1.role": {""}, "f.input.1.content": {""}}, "", "      - {role: user, content: \"Hi: you\"}\n", ""},
		{"the bound of an evaluator", url.Values{"f.evaluators.1.max_ms": {"700"}}, "", "500", "700"},
		{"the weight of an evaluator", url.Values{"f.evaluators.1.weight": {"2"}}, "", "max_ms: 500}", "max_ms: 500, weight: 2}"},
		{"a criterion of an evaluator", url.Values{"f.evaluators.0.rubrics.1.expected_outcome": {"Is brief"}}, "", "'Is short'", "Is brief"},
		{"a text of criteria", url.Values{"f.evaluators.0.rubrics.0": {"Friendly"}}, "", "[Kind,", "[Friendly,"},
		{"a new criterion", url.Values{"f.evaluators.0.rubrics.2": {"Polite"}}, "", "'Is short'}]", "'Is short'}, Polite]"},
		{"a new evaluator", url.Values{"f.evaluators.2.type": {"cost"}, "f.evaluators.2.budget": {"0.5"}}, "", "max_ms: 500}\n", "max_ms: 500}\n      - type: cost\n        budget: 0.5\n"},
		{"an evaluator less", nil, "f.evaluators.0.", messagesText[strings.Index(messagesText, "      - type: llm_judge"):strings.Index(messagesText, "      - {type: latency")], ""},
		{"no evaluators", nil, "f.evaluators.", "", ""}, // an answer without them does not remove them
		{"a text in place of messages", url.Values{"f.input": {"Hello"}}, "f.input.", messagesText[strings.Index(messagesText, "    input:"):strings.Index(messagesText, "    expected_outcome: It g")], "    input: Hello\n"},
		{"JSON in place of messages", url.Values{"f.input": {`[{"role": "user", "content": "Hi"}]`}}, "f.input.", messagesText[strings.Index(messagesText, "      - role: system"):strings.Index(messagesText, "    expected_outcome: It g")], "      - role: user\n        content: Hi   # always\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, map[string]string{messagesFile: messagesText, "test_definitions/pic.png": picture, "test_definitions/new.png": picture})
			_, page := r.ask(messagesForm, nil)
			form := r.form(page, nil)
			if tt.less != "" {
				form = without(form, tt.less)
			}
			for name, value := range tt.change {
				form[name] = value
			}
			form.Set("action", "save")
			_, page = r.ask("/settings/form", form)
			if got, want := r.file(messagesFile), strings.Replace(messagesText, tt.was, tt.want, 1); got != want {
				t.Errorf("the file is\n%s\nwant\n%s\nthe page says\n%s", got, want, page)
			}
		})
	}
}

// TestItemsOfJSON edits items in a JSON file, and in a line of JSON.
func TestItemsOfJSON(t *testing.T) {
	for file, text := range map[string]string{
		"test_definitions/a.json":  "{\"name\": \"A\",\n \"initial_message\": \"Hi\",\n \"expected_tool_calls\": [ {\"tool\":\"find\", \"expected_params\" : {\"z\": 1.0, \"a\": [1]}, \"mine\": {\"x\":1}},\n  {\"tool\": \"st\\u006fp\"} ]}\n",
		"test_definitions/a.jsonl": `{"name": "A", "initial_message":"Hi",  "expected_tool_calls": [ {"tool":"find", "expected_params" : {"z": 1.0, "a": [1]}}, {"tool": "st\u006fp"} ]}` + "\n",
	} {
		item := ""
		if strings.HasSuffix(file, "l") {
			item = "0"
		}
		text = strings.Replace(text, `, "mine": {"x":1}`, "", 1)
		r := newReader(t, map[string]string{file: text})
		for _, tt := range []struct {
			change    url.Values
			was, want string
		}{
			{url.Values{"f.expected_tool_calls.0.expected_params.value.0": {"2.50"}}, "1.0", "2.50"},
			{url.Values{"f.expected_tool_calls.1.should_call": {"false"}}, `"st\u006fp"}`, `"st\u006fp", "should_call": false}`},
			{url.Values{"f.expected_tool_calls.0.expected_params.key.2": {"q"}, "f.expected_tool_calls.0.expected_params.value.2": {"x"}}, `[1]}`, `[1], "q": "x"}`},
			{url.Values{"f.expected_tool_calls.0.tool": {"seek"}}, `"find"`, `"seek"`},
		} {
			_, page := r.ask("/settings/form?format=testcase&item="+item+"&path="+file, nil)
			_, page = r.ask("/settings/form", r.form(page, tt.change, url.Values{"action": {"save"}}))
			text = strings.Replace(text, tt.was, tt.want, 1)
			if got := r.file(file); got != text {
				t.Errorf("%v: the file is\n%s\nwant\n%s\nthe page says\n%s", tt.change, got, text, page)
			}
		}
	}
}

// TestUnknownKeysOfItems shows the keys of an item that its definition does not have, and keeps
// them.
func TestUnknownKeysOfItems(t *testing.T) {
	const file, text = "test_definitions/shop.yaml", "tests:\n- id: a\n  criteria: It greets.\n  input: Hi\n  assertions:\n  - Is kind\n  - type: mine # a program\n    limit: 0x10\n    deep: {a: [1, 2]}\n  - type: contains-any\n    value: [a, b]\n"
	r := newReader(t, map[string]string{file: text, "test_definitions/.agentv/assertions/mine.py": "print()\n"})
	_, page := r.ask("/settings/form?item=0&format=evalcase&path="+file, nil)
	r.has(page, ">\nIs kind</textarea>", `name="f.assertions.1.limit"`, `name="f.assertions.1.deep.key.0" value="a"`, ">\na\nb</textarea>")
	_, page = r.ask("/settings/form", r.form(page, url.Values{"f.assertions.1.weight": {"2"}, "f.assertions.0": {"Is brief"}, "action": {"save"}}))
	want := strings.Replace(strings.Replace(text, "Is kind", "Is brief", 1), "[1, 2]}\n", "[1, 2]}\n    weight: 2\n", 1)
	if got := r.file(file); got != want {
		t.Errorf("the file is\n%s\nwant\n%s\nthe page says\n%s", got, want, page)
	}
}

// TestProblemsOfItems: a problem is at the field of its item, in each kind of file, also for a
// missing field, and nothing is written.
func TestProblemsOfItems(t *testing.T) {
	object := `{"id": "a", "input": [{"role": "user", "content": "Hi"}], "expected_outcome": "x", "evaluators": [{"type": "latency", "max_ms": 5}, {"type": "code_judge", "script": "judge"}]}`
	for file, text := range map[string]string{
		"test_definitions/shop.yaml":  "evalcases:\n- id: a\n  input:\n  - role: user\n    content: Hi\n  expected_outcome: x\n  evaluators:\n  - type: latency\n    max_ms: 5\n  - {type: code_judge, script: judge}\n",
		"test_definitions/shop.json":  `{"evalcases": [` + object + `]}`,
		"test_definitions/shop.jsonl": object + "\n",
	} {
		for path, change := range map[string]url.Values{
			"input.0.role":                        {"f.input.0.role": {""}},
			"input.1.role":                        {"f.input.1.content": {"Well"}},
			"evaluators.0.max_ms":                 {"f.evaluators.0.max_ms": {"-1"}},
			"evaluators.1.script":                 {"f.evaluators.1.script": {""}},
			"evaluators.1.weight":                 {"f.evaluators.1.weight": {"heavy"}},
			"evaluators.2.evaluators":             {"f.evaluators.2.type": {"composite"}},
			"evaluators.2.type":                   {"f.evaluators.2.name": {"mine"}},
			"evaluators.2.evaluators.0.threshold": {"f.evaluators.2.type": {"composite"}, "f.evaluators.2.evaluators.0.type": {"latency"}, "f.evaluators.2.evaluators.0.threshold": {"soon"}},
		} {
			r := newReader(t, map[string]string{file: text})
			_, page := r.ask("/settings/form?item=0&format=evalcase&path="+file, nil)
			status, wrong := r.ask("/settings/form", r.form(page, change, url.Values{"action": {"save"}}))
			_, after, _ := strings.Cut(wrong, `id="say-`+path+`" role="alert">`)
			if said, _, _ := strings.Cut(after, "<"); status != 400 || said == "" || r.file(file) != text {
				_, errors, _ := strings.Cut(wrong, "data-errors")
				t.Errorf("%s: %s: status %d, nothing at the field: %.900s", file, path, status, errors)
			}
		}
	}
}

// TestProblemsAfterARemovedItem: a problem is at its item when one before it is removed.
func TestProblemsAfterARemovedItem(t *testing.T) {
	r := newReader(t, map[string]string{messagesFile: messagesText, "test_definitions/pic.png": picture})
	_, page := r.ask(messagesForm, nil)
	form := without(r.form(page, url.Values{"f.evaluators.1.max_ms": {"-1"}, "action": {"save"}}), "f.evaluators.0")
	status, page := r.ask("/settings/form", form)
	r.has(page, `id="say-evaluators.1.max_ms" role="alert">`+"`max_ms` is -1")
	if status != 400 {
		t.Errorf("status %d, want 400", status)
	}
}

// TestTextOrItems refuses a text next to items, and keeps what was typed.
func TestTextOrItems(t *testing.T) {
	r := newReader(t, map[string]string{messagesFile: messagesText, "test_definitions/pic.png": picture, "test_definitions/new.png": picture})
	_, page := r.ask(strings.Replace(messagesForm, "item=0", "item=1", 1), nil)
	status, page := r.ask("/settings/form", r.form(page, url.Values{"f.input.0.role": {"user"}, "f.input.0.content": {"Well"}, "action": {"save"}}))
	r.has(page, `id="say-input" role="alert">there is a text as well as fields`, ">\nBye</textarea>", ">\nWell</textarea>")
	if status != 400 || r.file(messagesFile) != messagesText {
		t.Errorf("status %d, file\n%s", status, r.file(messagesFile))
	}
	_, page = r.ask("/settings/form", r.form(page, url.Values{"f.input": {""}, "action": {"save"}}))
	if got, want := r.file(messagesFile), strings.Replace(messagesText, "input: Bye", "input:\n      - role: user\n        content: Well", 1); got != want {
		t.Errorf("the file is\n%s\nwant\n%s\nthe page says\n%s", got, want, page)
	}
}

// TestStatementsAsRows: the outcomes of a testcase are an object, or statements without keys.
func TestStatementsAsRows(t *testing.T) {
	const file, text = "test_definitions/a.yaml", "name: A\ninitial_message: Hi\nexpected_outcomes:\n- It is 'paid'\n- \"It is sent\" # soon\n"
	r := newReader(t, map[string]string{file: text})
	_, page := r.ask("/settings/form?format=testcase&path="+file, nil)
	_, page = r.ask("/settings/form", r.form(page, url.Values{"f.expected_outcomes.value.1": {"It is late"}, "f.expected_outcomes.value.2": {"Thanks"}, "action": {"save"}}))
	if got, want := r.file(file), strings.Replace(text, "\"It is sent\" # soon\n", "It is late # soon\n- Thanks\n", 1); got != want {
		t.Errorf("the file is\n%s\nwant\n%s\nthe page says\n%s", got, want, page)
	}
	status, page := r.ask("/settings/form", r.form(page, url.Values{"f.expected_outcomes.key.1": {"when"}, "action": {"save"}}))
	if r.has(page, "a value has no key"); status != 400 {
		t.Errorf("status %d, want 400", status)
	}
}

// A freeField is a field that a form shows as JSON, since its schema takes every value, every
// object or every list.
var freeFields = []string{
	"#EvalcaseSuite.metadata", "#EvalcaseTests.requires", "#EvalcaseTests.governance", "#EvalcaseTests.tags", "#EvalcaseTests.metadata", "#EvalcaseTests.preprocessors", // any value
	"#EvalcaseTests.target",                           // a text, or any object
	"#EvalcaseTest.vars", "#EvalcaseTest.environment", // any value
	"#Promptval.output", "#Test.expected", // any value
}

// TestNoListIsJSON walks the forms of all definitions, with and without the types of their
// objects: a field that is a list, or an object with known keys, is not a text of JSON.
func TestNoListIsJSON(t *testing.T) {
	var seen []string
	for _, def := range []string{"#Testcase", "#Promptval", "#Evalcase", "#EvalcaseTest", "#EvalcaseSuite", "#EvalcaseTests", "#Domain", "#Level", "#Test", "#Evaluator", "#Tool"} {
		var each func(prefix string, fields []*formField)
		each = func(prefix string, fields []*formField) {
			for _, f := range fields {
				name := prefix + "." + f.Name
				if isJSON := f.Widget == jsonWidget; isJSON && !takesAny(f.shape) && (takes(f.shape, shape.List) || len(f.shape.Names) > 0 || !takes(f.shape, shape.String)) {
					t.Errorf("%s is shown as JSON; it takes %v", name, f.shape.Kinds)
				} else if isJSON {
					seen = append(seen, name)
				}
				each(name, f.Fields)
				if f.Blank != nil {
					each(name, []*formField{f.Blank})
				}
			}
		}
		each(def, formFields(def, nil))
	}
	for _, name := range seen {
		if strings.Count(name, ".") == 1 && !slices.Contains(freeFields, name) {
			t.Errorf("%s is shown as JSON, and is not among the fields that take every value", name)
		}
	}
	for _, name := range freeFields {
		if !slices.Contains(seen, name) {
			t.Errorf("%s is not shown as JSON any more", name)
		}
	}
}

// TestItemsOfEveryKind shows a value of each field with a list as fields, in every format.
func TestItemsOfEveryKind(t *testing.T) {
	for _, tt := range []struct{ def, field, value, path, want string }{
		{"#Testcase", "persona", `{"type": "kind", "description": "d", "instructions": "i"}`, "persona.description", "d"},
		{"#Testcase", "tags", `["a", "b"]`, "tags", "a\nb"},
		{"#Testcase", "expected_tool_calls", `[{"tool": "find", "mock_responses": [{"response": "x"}]}]`, "expected_tool_calls.0.mock_responses.0.response", "x"},
		{"#Promptval", "rubric", `{"criteria": [{"name": "a", "weight": 0.5}]}`, "rubric.criteria.0.weight", "0.5"},
		{"#Promptval", "user_input", `["One\nline", "Two"]`, "user_input.0", "One\nline"},
		{"#Promptval", "expected_tools", `[{"name": "find", "ge": 1}]`, "expected_tools.0.ge", "1"},
		{"#Evalcase", "expected_output", `[{"role": "assistant", "content": "Hi"}]`, "expected_output.0.content", "Hi"},
		{"#Evalcase", "input", `[{"role": "assistant", "tool_calls": [{"tool": "find", "input": "x"}]}]`, "input.0.tool_calls.0.input", "x"},
		{"#Evalcase", "input", `[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "find", "arguments": "{}"}}]}]`, "input.0.tool_calls.0.function.name", "find"},
		{"#Evalcase", "rubrics", `[{"expected_outcome": "a", "score_ranges": [{"score_range": [0, 5], "outcome": "b"}]}]`, "rubrics.0.score_ranges.0.score_range", "0\n5"},
		{"#Evalcase", "execution", `{"evaluators": [{"type": "field_accuracy", "fields": [{"path": "a"}]}]}`, "execution.evaluators.0.fields.0.path", "a"},
		{"#Evalcase", "evaluators", `[{"type": "composite", "evaluators": [{"type": "code_judge", "script": ["a", "b"]}]}]`, "evaluators.0.evaluators.0.script.1", "b"},
		{"#EvalcaseTest", "turns", `[{"input": [{"role": "user", "content": "a"}], "assertions": [{"type": "contains", "value": "b"}]}]`, "turns.0.assertions.0.value", "b"},
		{"#EvalcaseTest", "assertions", `[{"type": "tool-trajectory", "expected": [{"tool": "find"}]}]`, "assertions.0.expected.0.tool", "find"},
		{"#EvalcaseTest", "workspace", `{"hooks": {"before_each": {"command": ["a", "b"]}}}`, "workspace.hooks.before_each.command.0", "a"},
		{"#EvalcaseTest", "depends_on", `["a"]`, "depends_on.0", "a"},
		{"#EvalcaseSuite", "execution", `{"evaluators": [{"type": "cost", "max_usd": 1}]}`, "execution.evaluators.0.max_usd", "1"},
		{"#EvalcaseTests", "execution", `{"targets": ["a", {"extends": "b"}]}`, "execution.targets.0", "a"},
		{"#Test", "expected", `["a", "b"]`, "expected", "a\nb"},
		{"#Evaluator", "config", `{"match": "any"}`, "config.match", "any"},
		{"#Tool", "function", `{"name": "find", "parameters": {"type": "object"}}`, "function.name", "find"},
		{"#Level", "tool_ids", `["a"]`, "tool_ids", "a"},
	} {
		form := formFields(tt.def, definition.Fields{tt.field: json.RawMessage(tt.value)})
		f, _ := fieldOn(form, strings.Split(tt.path, "."))
		if f == nil || f.Path != tt.path || f.Value != tt.want || f.Widget == jsonWidget && !f.Texts {
			t.Errorf("%s: %s = %s has the field %+v, want %s with %q", tt.def, tt.field, tt.value, f, tt.path, tt.want)
		}
	}
}
