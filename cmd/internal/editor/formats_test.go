package editor

import (
	"net/url"
	"strings"
	"testing"
)

// formats of files, each with a wrong value of a field, a right one, and the file that
// the right one makes.
var formatForms = []struct {
	format, file, was   string
	field, wrong, right string
	want                string
}{
	{
		"testcase", "test_definitions/parcel.json", `{"name": "Parcel", "initial_message": "Where is it?", "tags": ["mail"]}`,
		"difficulty", "easy", "hard", `"difficulty": "hard"`,
	},
	{
		"promptval", "test_definitions/prompts/greet.json",
		`{"test_type": "agent", "name": "bot", "user_input": "Hi", "testing_prompt": "It greets.", "evaluation_type": "default", "iterations": 1}`,
		"iterations", "0", "3", `"iterations": 3`,
	},
	{
		"evalcase", "test_definitions/suites/shop.json",
		`{"description": "Shop", "evalcases": [{"id": "a", "input": "Hi", "expected_outcome": "It greets."}]}`,
		"execution", `{"timeout_seconds": -1}`, `{"evaluators": [{"type": "latency", "max_ms": 5}]}`, `"max_ms": 5`,
	},
}

// TestFormsOfOtherFormats changes a file of each format by its fields: a message is at
// the field, a preview has the changed lines and what would be judged, saving writes
// nothing but the change, and another one's change is a conflict.
func TestFormsOfOtherFormats(t *testing.T) {
	for _, tt := range formatForms {
		t.Run(tt.format, func(t *testing.T) {
			r := newReader(t, map[string]string{tt.file: tt.was, "test_definitions/list.json": `[{"name": "One", "initial_message": "hi"}]`})
			address := "/settings/form?" + url.Values{"path": {tt.file}, "format": {tt.format}}.Encode()
			_, list := r.ask("/settings/file", nil)
			r.has(list, strings.ReplaceAll(url.Values{"path": {tt.file}}.Encode(), "&", "&amp;"), "/settings/form?format="+tt.format)
			_, page := r.ask(address, nil)
			r.has(page, `action="/settings/form?`, `id="in-`+tt.field+`"`, tt.file)

			status, wrong := r.ask("/settings/form", r.form(page, url.Values{"f." + tt.field: {tt.wrong}, "action": {"save"}}))
			_, after, _ := strings.Cut(wrong, `id="say-`+tt.field+`" role="alert">`)
			if said, _, _ := strings.Cut(after, "<"); status != 400 || said == "" || r.file(tt.file) != tt.was {
				t.Errorf("%s = %s is answered with %d and %q at the field, and the file is %s\n%s", tt.field, tt.wrong, status, said, r.file(tt.file), wrong)
			}
			r.script = true
			_, said := r.ask("/settings/form", r.form(page, url.Values{"f." + tt.field: {tt.wrong}, "action": {"check"}}))
			r.script = false
			r.has(said, `"`+tt.field+`": "`)

			_, preview := r.ask("/settings/form", r.form(page, url.Values{"f." + tt.field: {tt.right}, "action": {"preview"}}))
			r.has(preview, "What this would rerun", "What would be changed")
			if r.file(tt.file) != tt.was {
				t.Error("a preview has changed the file")
			}
			status, saved := r.ask("/settings/form", r.form(preview, url.Values{"action": {"save"}}))
			r.has(saved, "Saved", "What was changed")
			if got := r.file(tt.file); status != 200 || !strings.Contains(got, tt.want) {
				t.Errorf("%d: the file is %s, want %s in it", status, got, tt.want)
			}
			status, late := r.ask("/settings/form", r.form(page, url.Values{"f.description": {"Late"}, "action": {"save"}}))
			if status != 409 || !strings.Contains(late, "was changed since it was read") || strings.Contains(r.file(tt.file), "Late") {
				t.Errorf("another one's change is answered with %d: %s", status, late)
			}
		})
	}
}

// TestFormOfANewFile makes a file by its fields, and sends to the text of a file that has
// no form.
func TestFormOfANewFile(t *testing.T) {
	r := newReader(t, map[string]string{"test_definitions/list.json": `[{"name": "One", "initial_message": "hi"}]`, "test_definitions/texts.json": `["One"]`})
	const file = "test_definitions/new.json"
	_, page := r.ask("/settings/file?format=testcase&path="+file, nil)
	r.has(page, "New testcase", `action="/settings/form?`)
	_, saved := r.ask("/settings/form", r.form(page, url.Values{"f.name": {"New"}, "f.initial_message": {"Hello?\r\nIs anybody there?"}, "action": {"save"}}))
	r.has(saved, "Saved")
	if got, want := r.file(file), "{\n  \"name\": \"New\",\n  \"initial_message\": \"Hello?\\nIs anybody there?\"\n}\n"; got != want {
		t.Errorf("the file is %s, want %s", got, want)
	}
	_, list := r.ask("/settings/form?format=testcase&path=test_definitions/list.json", nil)
	r.has(list, "item=0", "One")
	_, text := r.ask("/settings/form?format=testcase&path=test_definitions/texts.json", nil)
	r.has(text, `id="in-text"`)
	if status, _ := r.ask("/settings/form?format=testcase&path=gavel.json", nil); status != 400 {
		t.Errorf("a file elsewhere is answered with %d, want 400", status)
	}
	if status, _ := r.ask("/settings/form?format=other&path="+file, nil); status != 404 {
		t.Errorf("another format is answered with %d, want 404", status)
	}
}

// TestFormKeepsObjects holds that a value which is an object or a list stays one where the
// field also takes a text or lines.
func TestFormKeepsObjects(t *testing.T) {
	const cases, prompts = "test_definitions/parcel.json", "test_definitions/greet.json"
	r := newReader(t, map[string]string{
		cases:   `{"name": "Parcel", "initial_message": "Where?", "expected_outcomes": {"answer": "yes"}}`,
		prompts: `{"test_type": "agent", "name": "bot", "user_input": ["Hi", "Hello"], "testing_prompt": "It greets.", "evaluation_type": "default"}`,
	})
	_, page := r.ask("/settings/form?format=testcase&path="+cases, nil)
	r.ask("/settings/form", r.form(page, url.Values{"f.expected_outcomes": {`{"answer": "no"}`}, "action": {"save"}}))
	if got := r.file(cases); !strings.Contains(got, `"answer": "no"`) || strings.Contains(got, `\"`) {
		t.Errorf("the outcomes are a text or lines: %s", got)
	}
	_, page = r.ask("/settings/form?format=promptval&path="+prompts, nil)
	r.ask("/settings/form", r.form(page, url.Values{"f.user_input": {`["Hi", "Bye"]`}, "action": {"save"}}))
	if got := r.file(prompts); !strings.Contains(got, `"Bye"`) || strings.Contains(got, `\"`) {
		t.Errorf("the inputs are a text: %s", got)
	}
}

// TestFormsOfLists changes one case of a file with several, in YAML with its comments: a
// message is at the field of this case alone, and a change by somebody else is a conflict.
func TestFormsOfLists(t *testing.T) {
	for _, tt := range []struct {
		name, format, file, was   string
		field, wrong, right, want string
	}{
		{
			"a list of the testcase format", "testcase", "test_definitions/list.yaml",
			"# Parcels.\n- name: One # first\n  initial_message: Hi\n\n# Later.\n- name: Two\n  initial_message: Hi\n  difficulty: easy # for now\n",
			"difficulty", "simple", "hard",
			"# Parcels.\n- name: One # first\n  initial_message: Hi\n\n# Later.\n- name: Two\n  initial_message: Hi\n  difficulty: hard # for now\n",
		},
		{
			"tests of AgentV 4", "evalcase", "test_definitions/shop.yaml",
			"description: Shop # all\ntests:\n  - id: One\n    criteria: It greets.\n    input: Hi\n  # Later.\n  - id: Two\n    criteria: It greets.\n    input: Hi\n    checks:\n      - contains: ho\n",
			"checks", `["hi"]`, `[{"contains": "hi"}]`,
			"description: Shop # all\ntests:\n  - id: One\n    criteria: It greets.\n    input: Hi\n  # Later.\n  - id: Two\n    criteria: It greets.\n    input: Hi\n    checks:\n      - contains: hi\n",
		},
		{
			"lines of AgentV", "evalcase", "test_definitions/shop.jsonl",
			"{\"id\":\"One\",\"input\":\"Hi\",\"expected_outcome\":\"It greets.\"}\n\n{\"input\": \"Hi\",  \"id\": \"Two\",  \"expected_outcome\": \"It greets.\"}\n",
			"expected_outcome", " ", "It waves.",
			"{\"id\":\"One\",\"input\":\"Hi\",\"expected_outcome\":\"It greets.\"}\n\n{\"input\": \"Hi\",  \"id\": \"Two\",  \"expected_outcome\": \"It waves.\"}\n",
		},
		{
			"lines of the testcase format", "testcase", "test_definitions/list.jsonl",
			"{\"name\":\"One\",\"initial_message\":\"Hi\"}\r\n{\"name\":\"Two\",\"initial_message\":\"Hi\"}",
			"difficulty", "simple", "hard",
			"{\"name\":\"One\",\"initial_message\":\"Hi\"}\r\n{\"name\":\"Two\",\"initial_message\":\"Hi\",\"difficulty\":\"hard\"}",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, map[string]string{tt.file: tt.was})
			_, list := r.ask("/settings/form?format="+tt.format+"&path="+tt.file, nil)
			r.has(list, "item=0", "item=1", ">One<", ">Two<")
			_, page := r.ask("/settings/form?item=1&format="+tt.format+"&path="+tt.file, nil)
			r.has(page, `name="item" value="1"`, `id="in-`+tt.field+`"`, "Two")
			status, wrong := r.ask("/settings/form", r.form(page, url.Values{"f." + tt.field: {tt.wrong}, "action": {"save"}}))
			_, after, _ := strings.Cut(wrong, `id="say-`+tt.field+`" role="alert">`)
			if said, _, _ := strings.Cut(after, "<"); status != 400 || said == "" || r.file(tt.file) != tt.was {
				t.Errorf("%s = %s is answered with %d and %q at the field, and the file is %s\n%s", tt.field, tt.wrong, status, said, r.file(tt.file), wrong)
			}
			status, saved := r.ask("/settings/form", r.form(page, url.Values{"f." + tt.field: {tt.right}, "action": {"save"}}))
			if got := r.file(tt.file); status != 200 || got != tt.want {
				t.Errorf("saving is answered with %d, and the file is\n%s\nwant\n%s\n%s", status, got, tt.want, saved)
			}
			status, late := r.ask("/settings/form", r.form(page, url.Values{"f." + tt.field: {tt.wrong}, "action": {"save"}}))
			if status != 409 || !strings.Contains(late, "was changed since it was read") || r.file(tt.file) != tt.want {
				t.Errorf("a change of what somebody else changed is answered with %d: %s", status, late)
			}
			if status, _ := r.ask("/settings/form?item=2&format="+tt.format+"&path="+tt.file, nil); status != 404 {
				t.Errorf("a case that is not there is answered with %d, want 404", status)
			}
		})
	}
}

// TestFormOfANewYAML makes a YAML file by its fields.
func TestFormOfANewYAML(t *testing.T) {
	r := newReader(t, nil)
	const file = "test_definitions/new.yaml"
	_, page := r.ask("/settings/file?format=testcase&path="+file, nil)
	_, saved := r.ask("/settings/form", r.form(page, url.Values{"f.name": {"New"}, "f.initial_message": {"Hello?\r\nIs anybody there?"}, "action": {"save"}}))
	r.has(saved, "Saved")
	if got, want := r.file(file), "name: New\ninitial_message: |-\n  Hello?\n  Is anybody there?\n"; got != want {
		t.Errorf("the file is %s, want %s", got, want)
	}
}

// TestFormOfANewLine makes a file whose lines are cases by the fields of its first case.
func TestFormOfANewLine(t *testing.T) {
	r := newReader(t, nil)
	const file = "test_definitions/new.jsonl"
	_, page := r.ask("/settings/file?format=evalcase&path="+file, nil)
	status, wrong := r.ask("/settings/form", r.form(page, url.Values{"f.id": {"One"}, "action": {"save"}}))
	if status != 400 || r.file(file) != "" || !strings.Contains(wrong, "fill in input and expected_outcome") {
		t.Errorf("a case without an input is answered with %d, want 400:\n%s", status, wrong)
	}
	_, saved := r.ask("/settings/form", r.form(page, url.Values{"f.id": {"One"}, "f.input": {"Hi"}, "f.expected_outcome": {"It greets."}, "action": {"save"}}))
	r.has(saved, "Saved")
	if got, want := r.file(file), "{\"id\": \"One\", \"expected_outcome\": \"It greets.\", \"input\": \"Hi\"}\n"; got != want {
		t.Errorf("the file is %s, want %s", got, want)
	}
}

// TestTextOfCUE changes a file of CUE as a text, on a page that says why it has no form.
func TestTextOfCUE(t *testing.T) {
	const file, was = "test_definitions/parcel.cue", "name: \"Parcel\"\ninitial_message: \"Where?\"\n"
	r := newReader(t, map[string]string{file: was})
	_, page := r.ask("/settings/form?format=testcase&path="+file, nil)
	r.has(page, `id="in-text"`, "CUE computes the values of this file")
	status, wrong := r.ask("/settings/file", r.form(page, url.Values{"text": {was + "difficulty: \"simple\"\n"}, "action": {"save"}}))
	if status != 400 || r.file(file) != was {
		t.Errorf("a wrong difficulty is answered with %d, want 400:\n%s", status, wrong)
	}
	_, saved := r.ask("/settings/file", r.form(page, url.Values{"text": {was + "difficulty: \"hard\"\n"}, "action": {"save"}}))
	r.has(saved, "Saved")
	if got, want := r.file(file), was+"difficulty: \"hard\"\n"; got != want {
		t.Errorf("the file is %s, want %s", got, want)
	}
}

// TestFormShowsTextsWithoutQuotes holds that a field which takes a text or messages shows
// a text as it is, and keeps messages.
func TestFormShowsTextsWithoutQuotes(t *testing.T) {
	const file = "test_definitions/shop.jsonl"
	r := newReader(t, map[string]string{file: "{\"id\": \"One\", \"input\": \"Hi [you]\", \"expected_outcome\": \"It greets.\"}\n"})
	address := "/settings/form?item=0&format=evalcase&path=" + file
	_, page := r.ask(address, nil)
	r.has(page, ">\nHi [you]</textarea>", `aria-label="input as a text"`)
	_, page = r.ask("/settings/form", r.form(page, url.Values{"f.input": {`[{"role": "user", "content": "Hello"}]`}, "action": {"save"}}))
	r.has(page, "Saved")
	if got := r.file(file); !strings.Contains(got, `"input": [{"role": "user", "content": "Hello"}]`) {
		t.Errorf("the messages are written as %s", got)
	}
	_, page = r.ask(address, nil)
	status, wrong := r.ask("/settings/form", r.form(page, url.Values{"f.input": {`[{"role": "user"`}, "action": {"save"}}))
	if status != 400 || !strings.Contains(wrong, "the value is not JSON") {
		t.Errorf("messages without an end are answered with %d, want 400", status)
	}
}

// addition is a file with a list, and what it becomes with a further definition.
type addition struct {
	name, format, file, was, want string
	fields                        url.Values
}

var additions = []addition{
	{
		"tests of AgentV 4", "evalcase", "test_definitions/shop.yaml",
		"tests:\n  # First.\n  - id: One\n    criteria: |\n      It\n\n      greets.\n    input: Hi # there\n\n# The end.\nname: shop\n",
		"tests:\n  # First.\n  - id: One\n    criteria: |\n      It\n\n      greets.\n    input: Hi # there\n  - id: Two\n    criteria: It waves.\n    input: Bye\n\n# The end.\nname: shop\n",
		url.Values{"f.id": {"Two"}, "f.criteria": {"It waves."}, "f.input": {"Bye"}},
	},
	{
		"a list without an end", "testcase", "test_definitions/list.yaml",
		"-   name: One\n    initial_message: Hi\n-   {name: Two, initial_message: Hi}",
		"-   name: One\n    initial_message: Hi\n-   {name: Two, initial_message: Hi}\n-   name: Three\n    initial_message: |-\n      Hello?\n      Hello!\n",
		url.Values{"f.name": {"Three"}, "f.initial_message": {"Hello?\r\nHello!"}},
	},
	{
		"lines", "evalcase", "test_definitions/shop.jsonl",
		"{\"id\":\"One\",\"input\":\"Hi\",\"expected_outcome\":\"It greets.\"}\r\n\r\n",
		"{\"id\":\"One\",\"input\":\"Hi\",\"expected_outcome\":\"It greets.\"}\r\n{\"id\":\"Two\",\"expected_outcome\":\"It waves.\",\"input\":\"Bye\"}\r\n",
		url.Values{"f.id": {"Two"}, "f.expected_outcome": {"It waves."}, "f.input": {"Bye"}},
	},
	{
		"a list in JSON", "testcase", "test_definitions/list.json",
		"[\n  {\n    \"name\": \"One\",\n    \"initial_message\": \"Hi\"\n  }\n]\n",
		"[\n  {\n    \"name\": \"One\",\n    \"initial_message\": \"Hi\"\n  },\n  {\n    \"name\": \"Two\",\n    \"initial_message\": \"Bye\"\n  }\n]\n",
		url.Values{"f.name": {"Two"}, "f.initial_message": {"Bye"}},
	},
	{
		"a suite in one line of JSON", "evalcase", "test_definitions/shop.json",
		`{"evalcases": [{"id": "One", "input": "Hi", "expected_outcome": "It greets."}], "name": "shop"}`,
		`{"evalcases": [{"id": "One", "input": "Hi", "expected_outcome": "It greets."}, {` + "\n" + `  "id": "Two",` + "\n" + `  "expected_outcome": "It waves.",` + "\n" + `  "input": "Bye"` + "\n" + `}], "name": "shop"}`,
		url.Values{"f.id": {"Two"}, "f.expected_outcome": {"It waves."}, "f.input": {"Bye"}},
	},
}

// TestAFormAddsToAList adds a definition to a file with several, and leaves every other byte: a
// name that is taken is a mistake at its field, a preview writes nothing, and a change by
// somebody else is a conflict.
func TestAFormAddsToAList(t *testing.T) {
	for _, tt := range additions {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(t, map[string]string{tt.file: tt.was})
			address := "/settings/form?" + url.Values{"format": {tt.format}, "path": {tt.file}}.Encode()
			_, list := r.ask(address, nil)
			r.has(list, "item=new", "Add a definition to this file")
			_, page := r.ask(address+"&item=new", nil)
			r.has(page, `name="item" value="new"`)

			wrong := url.Values{"action": {"save"}}
			for name := range tt.fields {
				wrong.Set(name, " ")
			}
			if status, _ := r.ask("/settings/form", r.form(page, wrong)); status != 400 || r.file(tt.file) != tt.was {
				t.Errorf("a definition without fields is answered with %d, and the file is %s", status, r.file(tt.file))
			}
			sent := func(action string) url.Values {
				out := url.Values{"action": {action}}
				for name, value := range tt.fields {
					out[name] = value
				}
				return out
			}
			_, preview := r.ask("/settings/form", r.form(page, sent("preview")))
			r.has(preview, "What this would rerun")
			if r.file(tt.file) != tt.was {
				t.Errorf("a preview has changed the file: %s", r.file(tt.file))
			}
			status, saved := r.ask("/settings/form", r.form(page, sent("save")))
			if got := r.file(tt.file); status != 200 || got != tt.want {
				t.Errorf("saving is answered with %d, and the file is\n%q\nwant\n%q\n%s", status, got, tt.want, saved)
			}
			r.has(saved, `name="item" value="`)
			if strings.Contains(saved, `name="item" value="new"`) {
				t.Error("saving again would add it once more")
			}
			if status, late := r.ask("/settings/form", r.form(page, sent("save"))); status != 409 || r.file(tt.file) != tt.want {
				t.Errorf("adding to what somebody else changed is answered with %d: %s", status, late)
			}
		})
	}
}

// TestNothingIsAddedTo files without a list, or with one in a single line.
func TestNothingIsAddedTo(t *testing.T) {
	r := newReader(t, map[string]string{
		"test_definitions/one.json":  `{"name": "One", "initial_message": "hi"}`,
		"test_definitions/flow.yaml": "[{name: One, initial_message: hi}]\n",
	})
	if status, _ := r.ask("/settings/form?item=new&format=testcase&path=test_definitions/one.json", nil); status != 404 {
		t.Errorf("a file of one definition is answered with %d, want 404", status)
	}
	_, page := r.ask("/settings/form?item=new&format=testcase&path=test_definitions/flow.yaml", nil)
	_, said := r.ask("/settings/form", r.form(page, url.Values{"f.name": {"Two"}, "f.initial_message": {"ho"}, "action": {"save"}}))
	r.has(said, "has its list on one line; add the definition to the text")
}
