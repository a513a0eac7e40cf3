package editor

import (
	"net/url"
	"strings"
	"testing"
)

const rowsFile = "test_definitions/parcel.json"

// rowsText has an object of each kind of value, whose keys are in no order.
const rowsText = `{
  "name": "Parcel", "initial_message": "Where?",
  "user_context": {"zip": "1815", "count": 1.0, "vip": true, "agent": null, "note": "Two\nlines", "mark": "[new]"},
  "persona": {"type": "kind", "description": "d", "instructions": "i"}
}
`

// TestObjectsAsRows changes, adds and removes keys of an object in rows. Everything else
// keeps its text.
func TestObjectsAsRows(t *testing.T) {
	const address = "/settings/form?format=testcase&path=" + rowsFile
	for _, tt := range []struct {
		name      string
		change    url.Values
		was, want string // in the file
	}{
		{"nothing", nil, "", ""},
		{"a text", url.Values{"f.user_context.value.4": {"One\r\nline"}}, `"Two\nlines"`, `"One\nline"`},
		{"a number", url.Values{"f.user_context.value.1": {"2.50"}}, "1.0", "2.50"},
		{"a number for a truth", url.Values{"f.user_context.value.2": {"1"}}, "true", "1"},
		{"a text that is quoted", url.Values{"f.user_context.value.0": {`"1816"`}}, `"1815"`, `"1816"`},
		{"a text for null", url.Values{"f.user_context.value.3": {"Ada"}}, "null", `"Ada"`},
		{"a key", url.Values{"f.user_context.key.2": {"gold"}}, `"vip"`, `"gold"`},
		{"a new row", url.Values{"f.user_context.key.6": {"age"}, "f.user_context.value.6": {"30"}}, `"[new]"}`, `"[new]", "age": 30}`},
		{"an object in a row", url.Values{"f.user_context.key.6": {"more"}, "f.user_context.value.6": {`{"a": [1]}`}}, `"[new]"}`, `"[new]", "more": {"a": [1]}}`},
		{"an empty text", url.Values{"f.user_context.value.4": {""}}, `"Two\nlines"`, `""`},
		{"a row less", url.Values{"f.user_context.key.1": {""}, "f.user_context.value.1": {""}}, `"count": 1.0, `, ""},
		{"no fields", url.Values{"f.persona.type": {""}, "f.persona.description": {""}, "f.persona.instructions": {""}}, ",\n  \"persona\": {\"type\": \"kind\", \"description\": \"d\", \"instructions\": \"i\"}", ""},
		{"JSON in place of rows", url.Values{"f.persona": {`{"type": "rude", "description": "d", "instructions": "i"}`}}, `"kind"`, `"rude"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, map[string]string{rowsFile: rowsText})
			_, page := r.ask(address, nil)
			r.has(page, `name="f.user_context.key.0" value="zip"`, `name="f.user_context.value.0" value="&#34;1815&#34;"`, `value="1.0"`, `value="null"`, ">\nTwo\nlines</textarea>", `value="&#34;[new]&#34;"`, `name="f.user_context.key.6" value=""`)
			if strings.Contains(page, `name="f.user_context"`) {
				t.Error("the object is also a text")
			}
			form := r.form(page, tt.change)
			form.Set("action", "save")
			_, page = r.ask("/settings/form", form)
			if got, want := r.file(rowsFile), strings.Replace(rowsText, tt.was, tt.want, 1); strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("the file is\n%s\nwant\n%s\nthe page says\n%s", got, want, page)
			}
		})
	}
}

// TestMistakesInRows: a mistake in a row is at its field, keeps what was typed, and nothing is
// written.
func TestMistakesInRows(t *testing.T) {
	for want, change := range map[string]url.Values{
		"a value has no key":                                               {"f.user_context.value.6": {"x"}},
		"the key &#34;zip&#34; is there twice":                             {"f.user_context.key.6": {"zip"}, "f.user_context.value.6": {"typed"}},
		"more: the value is not JSON: line 1, column 9: it ends too early": {"f.user_context.key.6": {"more"}, "f.user_context.value.6": {"{\"a\": [1\r\n"}},
	} {
		r := newReader(t, map[string]string{rowsFile: rowsText})
		_, page := r.ask("/settings/form?format=testcase&path="+rowsFile, nil)
		form := r.form(page, change)
		form.Set("action", "save")
		status, page := r.ask("/settings/form", form)
		r.has(page, `<span class="problem" id="say-user_context" role="alert">`+want)
		if status != 400 || r.file(rowsFile) != rowsText {
			t.Errorf("%q: status %d, file\n%s", want, status, r.file(rowsFile))
		}
	}
}

// TestNestedObjects: the objects of a list are fields, whose own objects have rows. JSON may be
// sent in place of them, whose mistake is named with its line. An empty field that takes any
// keys has a row for the first.
func TestNestedObjects(t *testing.T) {
	r := newReader(t, map[string]string{rowsFile: `{"name": "A", "initial_message": "Hi", "expected_tool_calls": [{"tool": "find", "expected_params": {"z": 1.0, "a": 2}}]}` + "\n"})
	_, page := r.ask("/settings/form?format=testcase&path="+rowsFile, nil)
	r.has(page, `name="f.user_context.key.0" value=""`, `name="f.expected_tool_calls.0.tool" value="find"`, `name="f.expected_tool_calls.0.expected_params.key.0" value="z"`, `value="1.0"`)
	form := r.form(page, url.Values{"f.expected_tool_calls": {"[\r\n  {\"name\": find}\r\n]"}, "action": {"save"}})
	status, page := r.ask("/settings/form", form)
	r.has(page, `id="say-expected_tool_calls" role="alert">the value is not JSON: line 2, column 13: invalid character`)
	if status != 400 {
		t.Errorf("status %d, want 400", status)
	}
	_, wrong := r.ask("/settings/form", r.form(page, url.Values{"f.expected_tool_calls": {`[{"name": "find"}]`}, "action": {"save"}}))
	r.has(wrong, `id="say-expected_tool_calls" role="alert">`+"the field `tool` is missing")
	_, page = r.ask("/settings/form", r.form(page, url.Values{"f.expected_tool_calls": {`[{"tool": "find", "expected_params": {"a": 2}}]`}, "f.user_context.key.0": {"vip"}, "f.user_context.value.0": {"true"}, "action": {"save"}}))
	r.has(page, "Saved")
	if got, want := r.file(rowsFile), `{"name": "A", "initial_message": "Hi", "expected_tool_calls": [{"tool": "find", "expected_params": {"a": 2}}], "user_context": {"vip": true}}`+"\n"; got != want {
		t.Errorf("the file is %s, want %s", got, want)
	}
}

// TestSettingsKeepTheRest: the form of a test of the domain format changes a key of an object,
// and leaves every other byte of the file.
func TestSettingsKeepTheRest(t *testing.T) {
	const file, text = "test_definitions/math/level_1/sum.json", `{"name": "Sum",   "id": "sum", "prompt": "1 + 1?",
 "expected": {"tolerance": 0.10, "answer": "2"}, "mine": [ 1 ]}`
	r := newReader(t, map[string]string{file: text, "test_definitions/math/domain.json": `{"id": "math", "name": "Math", "evaluator_id": "two_pass"}`})
	_, page := r.ask("/settings/edit?kind=test&id=sum", nil)
	_, page = r.ask("/settings/edit", r.form(page, url.Values{"f.expected.value.1": {`"3"`}, "f.description": {"New"}, "action": {"save"}}))
	r.has(page, "Saved")
	want := strings.Replace(strings.Replace(text, `"2"`, `"3"`, 1), `[ 1 ]}`, `[ 1 ],   "description": "New"}`, 1)
	if got := r.file(file); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
}

// TestChecksAsRows writes the checks of a case, which are a list of objects with one key, in rows:
// a key may be there twice, and what is not such a list stays JSON.
func TestChecksAsRows(t *testing.T) {
	const file, head = "test_definitions/shop.yaml", "evalcases:\n  - id: a # first\n    input: Hi\n"
	for _, tt := range []struct {
		name, was string
		change    url.Values
		want      string
	}{
		{"a value", "    checks:\n      - contains: ho\n      - latency_ms: 500\n", url.Values{"f.checks.value.0": {"hi"}}, "    checks:\n      - contains: hi\n      - latency_ms: 500\n"},
		{
			"the same key twice", "    checks:\n      - contains: ho\n", url.Values{"f.checks.key.1": {"contains"}, "f.checks.value.1": {"hi"}},
			"    checks:\n      - contains: ho\n      - contains: hi\n",
		},
		{"a row less", "    checks:\n      - contains: ho\n      - contains: hi\n", url.Values{"f.checks.key.0": {""}, "f.checks.value.0": {""}}, "    checks:\n      - contains: hi\n"},
		{"the first one", "    expected_outcome: It greets.\n", url.Values{"f.checks.key.0": {"contains"}, "f.checks.value.0": {"hi"}}, "    expected_outcome: It greets.\n    checks:\n      - contains: hi\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, map[string]string{file: head + tt.was})
			_, page := r.ask("/settings/form?item=0&format=evalcase&path="+file, nil)
			form := r.form(page, tt.change)
			form.Set("action", "save")
			_, page = r.ask("/settings/form", form)
			if got := r.file(file); got != head+tt.want {
				t.Errorf("the file is\n%s\nwant\n%s\nthe page says\n%s", got, head+tt.want, page)
			}
		})
	}
	r := newReader(t, map[string]string{file: head + "    checks: [{any_of: [hi, ho]}]\n"})
	_, page := r.ask("/settings/form?item=0&format=evalcase&path="+file, nil)
	r.has(page, `name="f.checks.key.0" value="any_of"`, `name="f.checks.value.0" value="[&#34;hi&#34;,&#34;ho&#34;]"`)
	_, page = r.ask("/settings/form", r.form(page, url.Values{"f.input": {"Hello"}, "action": {"save"}}))
	r.has(page, "Saved")
}

// TestRubricsByLine writes the criteria of a judge one a line, or as a list of JSON, whose
// objects have fields then.
func TestRubricsByLine(t *testing.T) {
	const file, head = "test_definitions/shop.yaml", "evalcases:\n  - id: a\n    input: Hi\n    expected_outcome: It greets.\n"
	r := newReader(t, map[string]string{file: head})
	save := func(typed string) string {
		t.Helper()
		_, page := r.ask("/settings/form?item=0&format=evalcase&path="+file, nil)
		_, page = r.ask("/settings/form", r.form(page, url.Values{"f.rubrics": {typed}, "action": {"save"}}))
		r.has(page, "Saved")
		return r.file(file)
	}
	if got, want := save("Says hello\r\nIs short"), head+"    rubrics:\n      - Says hello\n      - Is short\n"; got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if got, want := save(`[{"id": "tone", "expected_outcome": "Is kind"}]`), head+"    rubrics:\n      - id: tone\n        expected_outcome: Is kind\n"; got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	_, page := r.ask("/settings/form?item=0&format=evalcase&path="+file, nil)
	r.has(page, `name="f.rubrics.0.id" value="tone"`, ">\nIs kind</textarea>")
}
