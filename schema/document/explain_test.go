package document

import (
	"fmt"
	"strings"
	"testing"
)

// TestMistakes holds that people's mistakes in JSON and YAML are reported at the wrong
// character, and in plain words.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a.json", "{\n  // why\n  \"a\": 1}", "2:3: JSON has no comments; remove it, or write the file as YAML or CUE"},
		{"a.json", `{"a": 1 /* why */}`, "1:9: JSON has no comments; remove it, or write the file as YAML or CUE"},
		{"a.json", "{\"a\": [1,\n]}", "1:9: trailing comma before ]; remove it"},
		{"a.json", "{\"é\": 1, }", "1:8: trailing comma before }; remove it"},
		{"a.json", `{'a': 1}`, `1:2: strings and keys need double quotes; write "…"`},
		{"a.json", `{a: 1}`, `1:2: a key needs double quotes; write "key": …`},
		{"a.json", `{"a": yes}`, `1:7: a string needs double quotes; write "…"`},
		{"a.json", `{"a": NaN}`, "1:7: JSON has no number NaN; write a finite number, or null"},
		{"a.json", `{"a": -Infinity}`, "1:7: JSON has no number -Infinity; write a finite number, or null"},
		{"a.json", `{"a": None, "b": 1}`, "1:7: None is not a JSON value; write null"},
		{"a.json", `{"a": [True]}`, "1:8: True is not a JSON value; write true"},
		{"a.json", `{"a": 03}`, "1:7: 03 is not a JSON number; write it in decimal digits without a + or zeros before it, such as 5 or 0.5, or in quotes for a text"},
		{"a.json", `{"a": .5}`, "1:7: .5 is not a JSON number; write it in decimal digits without a + or zeros before it, such as 5 or 0.5, or in quotes for a text"},
		{"a.json", `{"a": , "b": 1}`, "1:7: a value is missing before this place; write one, or remove the comma or colon before it"},
		{"a.json", "{\"a\": 1\n \"b\": 2}", "2:2: a comma is missing before this place; write one, and look whether a quote is missing or too many"},
		{"a.json", `{"a": "x, "b": 2}`, "1:12: a comma is missing before this place; write one, and look whether a quote is missing or too many"},
		{"a.json", `{"a" 1}`, "1:6: a colon is missing before this place; write one"},
		{"a.json", "{\"a\": \"x\ny\"}", `1:9: the string is not closed in its line; close it; a line end in a text is written \n`},
		{"a.json", "{\"a\": \"x\ty\"}", `1:9: a string contains a tab; write \t`},
		{"a.json", "{\"a\": \"x\x07y\"}", `1:9: a string contains a control character; remove it, or write \u0007`},
		{"a.json", `{"a": "C:\windows"}`, `1:11: unknown escape sequence; write \\ for a backslash`},
		{"a.json", `{"a": ["b"}`, "1:11: another bracket is open here; close the innermost one first"},
		{"a.json", "{}\n{}", "2:1: there is more text after the value; put several values into a list, or each into a line of a .jsonl file"},
		{"a.json", "{},\n", "1:3: unexpected comma after the value; remove it, or put several values into a list"},
		{"a.jsonl", "{},", "1:3: unexpected comma after the value; remove it; JSON lines have no commas between them"},
		{"a.jsonl", "{} {}", "1:4: there is more text after the value; write one object in each line"},
		{"a.jsonl", "a: 1", "1:1: it begins with neither { nor [; write one object in each line"},
		{"a.jsonl", `{"a": [1]`, "1:1: the object that begins here is not closed; close it in its line"},
		{"a.json", "a: 1\n", "1:1: it begins with neither { nor [; name a YAML file .yaml"},
		{"a.json", "{\"a\": [1,\n 2", "1:7: the list that begins here is not closed; close it, and look whether something is missing at the end"},
		{"a.json", "{\"a\": {\"b\": \"]\"}\n", "1:1: the object that begins here is not closed; close it, and look whether something is missing at the end"},
		{"a.json", `{"a": "x`, "1:7: the string that begins here is not closed; close it, and look whether something is missing at the end"},
		{"a.json", "tru\n", "1:1: it begins with neither { nor [; name a YAML file .yaml"},

		{"a.yaml", "a: Refund: late\n", "1:10: a key is not allowed here; put a text with a colon in it in quotes; if this is meant as a key, give its line the indentation of the other keys"},
		{"a.yaml", "a: x\r\nbé: c: d\r\ne: 1\r\n", "2:6: a key is not allowed here; put a text with a colon in it in quotes; if this is meant as a key, give its line the indentation of the other keys"},
		{"a.yaml", "a: 1\nb: @x\n", "2:4: a text cannot begin with @; put it in quotes"},
		{"a.yaml", "a: `x`\n", "1:4: a text cannot begin with `; put it in quotes"},
		{"a.yaml", "a: [*, b]\n", "1:5: * begins an alias and & an anchor, and no name follows; put the text in quotes"},
		{"a.yaml", "a: 1\nb: *nobody\n", "2:4: unknown anchor &nobody; define the anchor before this alias, correct its name, or put the text in quotes"},
		{"a.yaml", "a: \"C:\\windows\"\n", `1:7: unknown escape sequence; write \\ for a backslash, or use single quotes`},
		{"a.yaml", "a: \"b\n  c\"\nd: \"e\nf: 1\n", "3:4: the quote that begins here is not closed; close it"},
		{"a.yaml", "a: \"b\nc: 1\n", "1:4: the quote that begins here is not closed; close it"},
		{"a.yaml", "a: 1\nb: [c, d\ne: 1\nf: g\n", "2:8: the list that begins before this place is not closed, or lacks a comma; close it with ], and put a comma between items"},
		{"a.yaml", "- {a: How long ?, b: c}\n", "1:16: a text that is not in quotes cannot have a ? here; put the text in quotes: within [ ] and { }, texts with ? : , or # in them need quotes"},
		{"a.yaml", "a: {b: c\n  d: e}\n", "1:8: the object that begins before this place is not closed, or lacks a comma; close it with }, and put a comma between fields"},
		{"a.yaml", "a: [b, , c]\n", "1:6: a value is missing before this place; write one, remove the comma, or close the bracket"},
		{"a.yaml", "a:\n  b: 1\n c: 2\n", "3:2: the line does not continue the lines before it; give it the indentation of the other keys, and put quotes around the whole of a text"},
		{"a.yaml", "a: 1\nb: 'It's late'\nc: 1\n", "2:1: the line does not continue the lines before it; give it the indentation of the other keys, and put quotes around the whole of a text"},
		{"a.yaml", "a: 1\n- b\n", "2:1: the line does not continue the lines before it; give it the indentation of the other keys, and put quotes around the whole of a text"},
		{"a.yaml", "- a: 1\n  b: 2\n - c: 3\n", "3:2: the line does not go on with the list before it; begin an item with -, or give the line the indentation of what it belongs to"},
		{"a.yaml", "a: 1\nb 2\nc: 3\n", "2:1: a key has no colon; write key: value; a text over several lines is indented more than its key"},
		{"a.yaml", "a: - b\n", "1:4: a list cannot begin here; put the - on the next line, or the text in quotes"},
		{"a.yaml", "%YAML 1.2\n---\na: 1\n", "1:1: this version of YAML is not known; remove the line"},
		{"a.yaml", "a: x\x07y\n", `1:5: the file contains a control character; remove it, or write it as an escape such as \x07 in double quotes`},
		{"a.yaml", "\"a\" \"b\"\n", "1:7: the value of the file ends before this place; put the whole of a text in quotes"},
		{"a.yaml", "a: {{ name }}\n", "1:5: an object or list cannot be a key; put a text that holds { or [ in quotes"},
		{"a.yaml", "a: !secret x\n", "1:4: the tag !secret means nothing here; remove it, or put the text in quotes"},
		{"a.yaml", "a: !!bool yes\n", "1:4: the !!bool value is neither true nor false; write true or false"},
		{"a.yaml", "a: !!binary /w==\n", "1:4: the !!binary value is not base64; write the text itself"},
		{"a.yaml", "a: &a {b: 1}\nc: {<<: *a, <<: *a}\n", "2:13: duplicate key <<; merge several into one list: <<: [*a, *b]"},
		{"a.yaml", "a: {<<: b}\n", "1:9: << can only merge objects; write <<: *name for an anchor &name of an object, or put << in quotes"},
		{"a.yaml", "# nothing yet\n", "1:1: the file holds nothing but comments; fill it, or remove it"},
		{"a.yaml", "a: é\n---\nb: 1\n", "3:1: the file holds more than one YAML document; put each into a file of its own"},
	} {
		expr, mistakes := readTree(tt.name, []byte(tt.text), nil)
		if expr != nil || len(mistakes) != 1 {
			t.Errorf("%q: %v, mistakes %v; want no expression and one mistake", tt.text, expr, mistakes)
			continue
		}
		m := mistakes[0]
		got := fmt.Sprintf("%d:%d: %s; %s", m.Line, m.Column, m.Message, m.Hint)
		got = strings.Replace(strings.Replace(got, "not valid JSON: ", "", 1), "not valid YAML: ", "", 1)
		if got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}
