package definition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
)

// A listCase is a change of the field input of a case.
type listCase struct{ name, value, old, want string }

// testLists changes the field input of the first case of a file, and compares the whole file.
func testLists(t *testing.T, file, text string, cases []listCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := definition.Open(file, schema.DialectEvalcase, []byte(text))
			if !ok || strings.Count(text, tt.old) != 1 {
				t.Fatalf("the file has no form, or no %q", tt.old)
			}
			got, err := d.Change("0", definition.Fields{"input": json.RawMessage(tt.value)})
			if diff := cmp.Diff(strings.Replace(text, tt.old, tt.want, 1), string(got)); diff != "" || err != nil {
				t.Errorf("the file (-want +got): %v\n%s", err, diff)
			}
		})
	}
}

const (
	messageA = `{"role":"system","content":"Be brief.","name":null}`
	messageB = `{"role":"user","content":"Hi: there"}`
	messageC = `{"role":"assistant","content":"Line\nline\n"}`
	changedB = `{"role":"user","content":"Hello"}`
	added    = `{"role":"tool","content":"1, 2"}`
)

func list(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

// TestChangeBlockList changes, adds and removes items of a list in YAML. Comments, quotes,
// blank lines and the other items keep their text.
func TestChangeBlockList(t *testing.T) {
	const text = `- id: a
  input: # the conversation
  # how it begins
  - role: system   # fixed
    content: 'Be brief.'
    name: ~

  # then
  - {role: user, "content" : 'Hi: there'} # short
  -   role: assistant
      content: |
        Line
        line
  expected_outcome: It greets.
- id: b
  input: Hi
`
	testLists(t, "list.yaml", text, []listCase{
		{"a text in quotes", list(strings.Replace(messageA, "Be brief.", "Be kind", 1), messageB, messageC), `'Be brief.'`, `Be kind`},
		{"a word with a comment", list(strings.Replace(messageA, "system", "user", 1), messageB, messageC), "role: system   #", "role: user   #"},
		{"a text in a mapping on one line", list(messageA, changedB, messageC), `'Hi: there'}`, `Hello}`},
		{"a text of several lines", list(messageA, messageB, strings.Replace(messageC, "Line", "One", 1)), "        Line\n", "        One\n"},
		{"one line for several", list(messageA, messageB, `{"role":"assistant","content":"One"}`), "content: |\n        Line\n        line\n", "content: One\n"},
		{"several lines for one", list(strings.Replace(messageA, "Be brief.", "One\\nTwo\\n", 1), messageB, messageC), "content: 'Be brief.'\n", "content: |\n      One\n      Two\n"},
		{"a new key", list(messageA, strings.Replace(messageB, "}", `,"name":"x, y"}`, 1), messageC), `'Hi: there'}`, `'Hi: there', name: 'x, y'}`},
		{"a new key of a block", list(messageA, messageB, strings.Replace(messageC, "}", `,"name":"x"}`, 1)), "        line\n", "        line\n      name: x\n"},
		{"a key less", list(messageA, `{"role":"user"}`, messageC), `, "content" : 'Hi: there'`, ""},
		{"the first key less", list(messageA, `{"content":"Hi: there"}`, messageC), `role: user, `, ""},
		{"the first key of a block less", list(`{"content":"Be brief.","name":null}`, messageB, messageC), "  - role: system   # fixed\n    content", "  - content"},
		{"the last item less", list(messageA, messageB), "  -   role: assistant\n      content: |\n        Line\n        line\n", ""},
		{"the first item less", list(messageB, messageC), "  - role: system   # fixed\n    content: 'Be brief.'\n    name: ~\n", ""},
		{"an item less within", list(messageA, messageC), "  - {role: user, \"content\" : 'Hi: there'} # short\n", ""},
		{"an item more", list(messageA, messageB, messageC, added), "        line\n", "        line\n  - role: tool\n    content: 1, 2\n"},
		{"an item more within", list(messageA, added, messageB, messageC), "  - {role: user", "  - role: tool\n    content: 1, 2\n  - {role: user"},
		{"an item more before the others", list(added, messageA, messageB, messageC), "  - role: system", "  - role: tool\n    content: 1, 2\n  - role: system"},
		{"another kind", `"Hi"`, text[strings.Index(text, "  input: #"):strings.Index(text, "  expected")], "  input: Hi\n"},
	})
}

// TestChangeFlowList changes a list in brackets, on one line and on several.
func TestChangeFlowList(t *testing.T) {
	const text = `cases:
  - id: a
    input: [{role: system, content: "Be brief.", name: null},
            { role: user,   content: 'Hi: there' }, # a comment, with [ brackets
            {role: assistant, content: "Line\nline\n"}]   # the end
    expected_outcome: It greets.
`
	testLists(t, "list.yaml", text, []listCase{
		{"a text", list(messageA, changedB, messageC), `'Hi: there'`, `Hello`},
		{"a text that needs quotes", list(messageA, strings.Replace(changedB, "Hello", "a, b", 1), messageC), `'Hi: there'`, `'a, b'`},
		{"an item less", list(messageA, messageC), ",\n            { role: user,   content: 'Hi: there' }", ""},
		{"an item more", list(messageA, messageB, messageC, added), `line\n"}]`, `line\n"}, {role: tool, content: '1, 2'}]`},
		{"a key less", list(messageA, `{"content":"Hi: there"}`, messageC), `role: user,   `, ``},
		{"text of several lines", list(messageA, strings.Replace(changedB, "Hello", "a\\nb", 1), messageC), `'Hi: there'`, `"a\nb"`},
	})
}

// TestChangeAnchoredList keeps the anchor of an item that stays, and the alias of another.
func TestChangeAnchoredList(t *testing.T) {
	const text = "- id: a\n  input:\n  - &hello {role: user, content: Hi}\n  - role: assistant\n    content: Yes?\n  - *hello\n"
	const hi = `{"role":"user","content":"Hi"}`
	testLists(t, "list.yaml", text, []listCase{
		{"another item", list(hi, `{"role":"assistant","content":"Well?"}`, hi), "Yes?", "Well?"},
		{"the alias", list(hi, `{"role":"assistant","content":"Yes?"}`, `{"role":"user","content":"Bye"}`), "*hello\n", "role: user\n    content: Bye\n"},
		{"the alias less", list(hi, `{"role":"assistant","content":"Yes?"}`), "  - *hello\n", ""},
	})
}

// TestChangeJSONList changes a list in a JSON file and in a line of JSON.
func TestChangeJSONList(t *testing.T) {
	const text = `[{"id": "a", "input": [
    {"role" : "system", "content":"Be brief.", "name": null},
    {
      "role": "user",
      "content": "Hi: th\u0065re"
    }
  ], "expected_outcome": "x"}]
`
	cases := []listCase{
		{"a text", list(strings.Replace(messageA, "Be brief.", "Be kind", 1), messageB), "Be brief.", "Be kind"},
		{"an item less", list(messageB), "    {\"role\" : \"system\", \"content\":\"Be brief.\", \"name\": null},\n", ""},
		{"a key more", list(messageA, strings.Replace(messageB, "}", `,"name":"x"}`, 1)), `th\u0065re"`, "th\\u0065re\",\n      \"name\": \"x\""},
		{"an item more", list(messageA, messageB, added), "    }\n", "    },\n    {\"role\":\"tool\",\"content\":\"1, 2\"}\n"},
	}
	testLists(t, "list.json", text, cases)
	line := `{"id":"a", "input": [ {"role" :"user", "content":"Hi: there"},{"role":"tool","content":"1, 2"} ],  "expected_outcome":"x"}` + "\n" + `{"id":"b"}` + "\n"
	testLists(t, "list.jsonl", line, []listCase{
		{"a text of a line", list(changedB, added), `Hi: there`, `Hello`},
		{"an item less of a line", list(messageB), `,{"role":"tool","content":"1, 2"}`, ``},
		{"an item more of a line", list(messageB, added, messageC), `2"} ]`, `2"},{"role":"assistant","content":"Line\nline\n"} ]`},
	})
}
