package definition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/cmd/internal/editor/definition"
	"github.com/gavel-evals/gavel/schema"
)

const suite = `# Support cases.
description: Shop   # for people

tests:
  # The first one.
  - id: refund
    criteria: >-
      It names
      thirty days.
    input: |
      Hello?

      Is anybody there?
    tags: [a, b]
  # The second one.
  - id: parcel # stays
    criteria: It greets.
    assertions:
    - type: contains
      value: hi

threshold: 0.7
`

// TestChangeYAML holds that a form changes the lines of its fields and no other line.
func TestChangeYAML(t *testing.T) {
	for _, tt := range []struct {
		name, item string
		changed    string
		want       string // the lines that differ, as was and is
		old        string
	}{
		{"one line", "", `{"description": "yes"}`, `description: "yes"   # for people`, "description: Shop   # for people"},
		{"an item's text of several lines", "0", `{"input": "One\nTwo: three\n"}`, "    input: |\n      One\n      Two: three", "    input: |\n      Hello?\n\n      Is anybody there?"},
		{"a folded text", "0", `{"criteria": "It greets."}`, "    criteria: It greets.", "    criteria: >-\n      It names\n      thirty days."},
		{"the first field of an item", "1", `{"id": "letter"}`, "  - id: letter # stays", "  - id: parcel # stays"},
		{"a list as far left as its name", "1", `{"assertions": ["names the window"]}`, "    assertions:\n    - names the window", "    assertions:\n    - type: contains\n      value: hi"},
		{"a removed field", "0", `{"tags": null}`, "      Is anybody there?\n", "      Is anybody there?\n    tags: [a, b]\n"},
		{"a new field", "1", `{"note": "Later"}`, "      value: hi\n    note: Later\n", "      value: hi\n"},
		{"a number", "", `{"threshold": 0.5}`, "threshold: 0.5", "threshold: 0.7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := definition.Open("test_definitions/shop.yaml", schema.DialectEvalcase, []byte(suite))
			if !ok {
				t.Fatal("the suite has no form")
			}
			var changed definition.Fields
			if err := json.Unmarshal([]byte(tt.changed), &changed); err != nil {
				t.Fatal(err)
			}
			for name, value := range changed {
				if string(value) == "null" {
					changed[name] = nil
				}
			}
			got, err := d.Change(tt.item, changed)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(suite, tt.old) {
				t.Fatalf("the suite does not have %q", tt.old)
			}
			if diff := cmp.Diff(strings.Replace(suite, tt.old, tt.want, 1), string(got)); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangeJSON changes one case of a list, and leaves the others as they are written.
func TestChangeJSON(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{
			"a list", "[\n  {\"name\":\"One\",  \"initial_message\": \"hi\"},\n  {\"name\": \"Two\", \"initial_message\": \"hi\"}\n]\n",
			"[\n  {\"name\":\"One\",  \"initial_message\": \"hi\"},\n  {\"name\": \"Two\", \"initial_message\": \"Hello\"}\n]\n",
		},
		{
			"a list in a field", `{"version": [1], "test_cases": [{"name": "One", "initial_message": "hi"}, {"name": "Two", "initial_message": "hi"}], "note": {}}`,
			`{"version": [1], "test_cases": [{"name": "One", "initial_message": "hi"}, {"name": "Two", "initial_message": "Hello"}], "note": {}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := definition.Open("list.json", schema.DialectTestcase, []byte(tt.text))
			if !ok || len(d.Rows("", "")) != 3 || d.Rows("", "")[1].Name != "Two" {
				t.Fatalf("the list is %v (%v), want One and Two", d, ok)
			}
			if fields, ok := d.Fields(""); ok {
				t.Errorf("what is around the list is a definition with %v, want none", fields)
			}
			got, err := d.Change("1", definition.Fields{"initial_message": definition.QuoteText("Hello")})
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Errorf("the file (-want +got): %v\n%s", err, diff)
			}
			if _, err := d.Change("2", nil); err == nil {
				t.Error("a case that is not in the list can be changed")
			}
		})
	}
}

// TestChangeKeepsTheRest: a change of a field, or of a field of an object, leaves every other
// byte as it is: the order of keys, numbers, spaces and comments.
func TestChangeKeepsTheRest(t *testing.T) {
	const object = "{\n\t\"name\" : \"One\",\n\t\"persona\": {\"z\": 1.0, \"a\" :  [1,2], \"m\": \"x\"},\n\t\"initial_message\": \"hi\"}"
	const mapping = "name: One\npersona: # who\n  z: 1.0 # first\n  a:\n  - 1\n  # last\n  m: x\n\ninitial_message: hi\n"
	for _, tt := range []struct{ name, file, text, field, value, old, want string }{
		{"a text", "a.json", object, "initial_message", `"Hello"`, `"hi"}`, `"Hello"}`},
		{"a field of an object", "a.json", object, "persona", `{"z":1,"a":[1,2],"m":"y"}`, `"m": "x"`, `"m": "y"`},
		{"a new field of an object", "a.json", object, "persona", `{"z":1,"a":[1,2],"m":"x","b":null}`, `"m": "x"`, `"m": "x", "b": null`},
		{"a field less of an object", "a.json", object, "persona", `{"a":[1,2],"m":"x"}`, `"z": 1.0, `, ""},
		{"two fields less of an object", "a.json", object, "persona", `{"z":1}`, `, "a" :  [1,2], "m": "x"`, ""},
		{"another order", "a.json", object, "persona", `{"m":"x","z":1}`, `{"z": 1.0, "a" :  [1,2], "m": "x"}`, `{"m":"x","z":1}`},
		{"a new object", "a.json", object, "user_context", "{\n  \"k\": 1\n}", `"hi"}`, "\"hi\",\n\t\"user_context\" : {\n\t  \"k\": 1\n\t}}"},
		{"another object of several lines", "a.json", "{\"name\": \"A\", \"initial_message\": \"hi\",\n \"persona\": {\n  \"a\": 1\n }}", "persona", `{"b":1}`, "{\n  \"a\": 1\n }", `{"b":1}`},
		{"another object with its lines", "a.json", "{\n \"name\": \"A\", \"initial_message\": \"hi\",\n \"persona\": {\n  \"a\": 1\n }}", "persona", `{"b":1}`, "{\n  \"a\": 1\n }", "{\n   \"b\": 1\n }"},
		{"a field less", "a.json", object, "persona", ``, "\n\t\"persona\": {\"z\": 1.0, \"a\" :  [1,2], \"m\": \"x\"},", ""},
		{"a line of a mapping", "a.yaml", mapping, "persona", `{"z":1,"a":[1],"m":"y"}`, "m: x", "m: \"y\""},
		{"a new line of a mapping", "a.yaml", mapping, "persona", `{"z":1,"a":[1],"m":"x","b":2}`, "m: x\n", "m: x\n  b: 2\n"},
		{"a line less of a mapping", "a.yaml", mapping, "persona", `{"a":[1],"m":"x"}`, "  z: 1.0 # first\n", ""},
		{"another mapping", "a.yaml", mapping, "persona", `{"b":2}`, "persona: # who\n  z: 1.0 # first\n  a:\n  - 1\n  # last\n  m: x\n", "persona:\n  b: 2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := definition.Open(tt.file, schema.DialectTestcase, []byte(tt.text))
			if !ok || strings.Count(tt.text, tt.old) != 1 {
				t.Fatalf("the file has no form, or no %q", tt.old)
			}
			changed := definition.Fields{tt.field: nil}
			if tt.value != "" {
				changed[tt.field] = json.RawMessage(tt.value)
			}
			got, err := d.Change("", changed)
			if diff := cmp.Diff(strings.Replace(tt.text, tt.old, tt.want, 1), string(got)); diff != "" || err != nil {
				t.Errorf("the file (-want +got): %v\n%s", err, diff)
			}
		})
	}
}

// TestChangeRefuses holds that a file is refused whose other parts a change would alter.
func TestChangeRefuses(t *testing.T) {
	for _, text := range []string{
		"name: &n One\ninitial_message: *n\n",
		"{name: One, initial_message: Hi}\n",
	} {
		d, ok := definition.Open("a.yaml", schema.DialectTestcase, []byte(text))
		if !ok {
			continue
		}
		if got, err := d.Change("", definition.Fields{"name": definition.QuoteText("Two")}); err == nil {
			t.Errorf("%q is changed to %q, want a refusal", text, got)
		}
	}
}

// TestRows pages through a list, and names one definition by what it has for people.
func TestRows(t *testing.T) {
	var list strings.Builder
	for i := range 450 {
		fmt.Fprintf(&list, "- name: Case %d\n  initial_message: Hi\n", i)
	}
	list.WriteString("- initial_message: Hi\n")
	d, ok := definition.Open("list.yaml", schema.DialectTestcase, []byte(list.String()))
	if !ok {
		t.Fatal("the list has no form")
	}
	for _, tt := range []struct {
		item, page  string
		rows        int
		first, last definition.Row
	}{
		{"", "", 201, definition.Row{Item: "0", Name: "Case 0"}, definition.Row{Name: "251 more", Page: "2"}},
		{"", "2", 201, definition.Row{Item: "200", Name: "Case 200"}, definition.Row{Name: "51 more", Page: "3"}},
		{"", "3", 51, definition.Row{Item: "400", Name: "Case 400"}, definition.Row{Item: "450", Name: "number 451"}},
		{"", "99", 51, definition.Row{Item: "400", Name: "Case 400"}, definition.Row{Item: "450", Name: "number 451"}},
		{"7", "2", 1, definition.Row{Item: "7", Name: "Case 7"}, definition.Row{Item: "7", Name: "Case 7"}},
	} {
		got := d.Rows(tt.item, tt.page)
		if n := len(got) - 1; tt.item == "" && n >= 0 {
			if got[n].Item != definition.NewItem {
				t.Errorf("page %q ends with %+v, want what adds a definition", tt.page, got[n])
			}
			got = got[:n]
		}
		if len(got) != tt.rows || got[0] != tt.first || got[len(got)-1] != tt.last {
			t.Errorf("page %q of item %q has %d rows from %+v to %+v, want %d from %+v to %+v", tt.page, tt.item, len(got), got[0], got[len(got)-1], tt.rows, tt.first, tt.last)
		}
	}
	if got := d.Rows("451", ""); got != nil {
		t.Errorf("a definition that is not there has the rows %v, want none", got)
	}
}
