package document

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
)

// mixed is a schema with one of each thing that a shape is read from and that
// no dialect is sure to keep.
const mixed = `package schema

import "strings"

#Outer: {
	@misplaced(prompt, why="it is elsewhere", instead="remove it, now")
	@renamed(title, to=name)
	name!: strings.MinRunes(2) & strings.MaxRunes(4)
	nick?: strings.MaxRunes(3) | null
	tags?: string | [_, _, ...] & [...string]
	inner?: #Inner | null
}

#Inner: {
	@renamed(b, to=a)
	a?: int
}

#List: [_, ...] & [...{...}]
`

// TestShapes checks values against parts of a schema that CUE alone would
// explain badly or without a place.
func TestShapes(t *testing.T) {
	c, err := cueeval.CompileSchemas(fstest.MapFS{
		"shapes.cue": {Data: []byte(mixed)},
		"other.cue":  {Data: []byte("package schema\n\nimport \"strings\"\n\n#Other: {inner?: #Inner, s?: strings.MinRunes(1)}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ def, text, want string }{
		{"#Outer", `{"name": "ab"}`, ""},
		{"#Outer", `{"name": "éééé", "nick": null}`, ""},
		{"#Outer", `{"name": "a"}`, "1:10 out-of-range: `name` has 1 character; it must have at least 2"},
		{"#Outer", `{"name": "ééééé"}`, "1:10 out-of-range: `name` has 5 characters; it must have at most 4"},
		{"#Outer", `{"name": "\"\"\"\""}`, ""},
		{"#Outer", `{"name": "ab", "nick": "abcd"}`, "1:24 out-of-range: `nick` has 4 characters; it must have at most 3"},
		{"#Outer", `{"name": "ab", "tags": "x"}`, ""},
		{"#Outer", `{"name": "ab", "tags": ["x", "y", "z"]}`, ""},
		{"#Outer", `{"name": "ab", "tags": ["x"]}`, "1:24 out-of-range: `tags` has 1 item; it must have at least 2 items"},
		{"#Outer", `{"name": "ab", "tags": ["x", 5]}`, `1:30 wrong-type: an item of tags must be a string, not a number; write "5"`},
		{"#Outer", `{"name": "ab", "prompt": 1}`, "1:16 misplaced-field: `prompt` does not belong here: it is elsewhere; remove it, now"},
		{"#Outer", `{"title": "ab"}`, "1:2 renamed-field: `title` is the name that a later version of the format uses; write `name`"},
		{"#Outer", `{"name": "ab", "inner": {"b": 1}}`, "1:26 renamed-field: `b` is the name that a later version of the format uses; write `a`"},
		{"#Other", `{"inner": {"a": 1}, "s": ""}`, "1:26 out-of-range: `s` has 0 characters; it must have at least 1"},
		{"#List", `[{}]`, ""},
		{"#List", `[]`, "1:1 out-of-range: the file has 0 items; it must have at least 1 item"},
		{"#List", `[{}, 5]`, "1:6 wrong-type: an item of the list must be an object, not a number; write an object"},
	} {
		doc, problems := Parse("x.json", []byte(row.text))
		if doc == nil {
			t.Fatal(problems)
		}
		w := walker{extra: schema.Error}
		w.value(doc.root, c.Shape(row.def), "", doc.At())
		if err := c.Validate(row.def, doc.expr); (err == nil) != (len(w.problems) == 0) {
			t.Errorf("%s %s has %d problems, but CUE says %v", row.def, row.text, len(w.problems), err)
		}
		var got []string
		for _, p := range schema.SortProblems(w.problems) {
			got = append(got, strings.TrimPrefix(p.Position.String(), "x.json:")+" "+p.Rule+": "+p.Message+"; "+p.Hint)
		}
		if s := strings.Join(got, " / "); s != row.want {
			t.Errorf("%s %s gives\n%s\nwant\n%s", row.def, row.text, s, row.want)
		}
	}
}

// TestSchemasThatDoNotCompile holds that a mistake in a .cue file is an error
// and never a schema that accepts everything.
func TestSchemasThatDoNotCompile(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"syntax", "package schema\n#A: {"},
		{"reference", "package schema\n#A: {a: #B}"},
		{"import", "package schema\nimport \"nowhere.example/x\"\n#A: {a: x.Y}"},
		{"conflict", "package schema\n#A: 1\n#A: 2"},
	} {
		if _, err := cueeval.CompileSchemas(fstest.MapFS{"a.cue": {Data: []byte(tt.text)}}); err == nil {
			t.Errorf("%s: compiled", tt.name)
		}
	}
}

// TestShapesSayWhatCUESays holds that a document fits the shape of a built-in
// definition exactly when CUE accepts it, over every field and many values:
// that is why CUE is not asked for a document that fits.
func TestShapesSayWhatCUESays(t *testing.T) {
	c, err := cueeval.CompileSchemas(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	pool := []string{
		"null", "true", "0", "-1", "0.5", "1e400", `""`, `"a"`, `"any"`, "[]", `["a", 1]`, "[null]", "[{}]", "{}", `{"a": 1}`, `{"a": {"a": "b"}}`,
		`"` + strings.Repeat("ä", 255) + `"`, `"` + strings.Repeat("ä", 256) + `"`,
	}
	compared, done := 0, map[string]bool{}
	for _, file := range fieldTables(t) {
		_, rows := fieldTable(t, file)
		for _, row := range rows {
			if s := c.Shape(row.def); !s.Complete() {
				t.Errorf("the shape of %s does not say all that the schema says", row.def)
			}
			values := []string{row.accepted, row.rejected}
			if !done[row.def+row.field] {
				values = append(values, pool...)
			}
			done[row.def+row.field] = true
			for _, value := range values {
				if value == "-" {
					continue
				}
				least := least(row.def, rows)
				texts := []string{document(row.field, value, least)}
				if !done[row.def] {
					texts = append(texts, document("unknown", value, least), "["+value+"]", value)
				}
				for _, text := range texts {
					doc, _ := Parse("a.json", []byte(text))
					if doc == nil || doc.expr == nil || doc.flawed {
						continue
					}
					w := walker{extra: schema.Error}
					w.value(doc.root, c.Shape(row.def), "", doc.At())
					err := c.Validate(row.def, doc.expr)
					if (err == nil) != (len(w.problems) == 0) {
						t.Errorf("%s: %s\n\tshape: %v\n\tCUE: %v", row.def, text, w.problems, err)
					}
					compared++
				}
			}
			done[row.def] = true
		}
	}
	if compared < 3_000 {
		t.Errorf("only %d documents were compared", compared)
	}
}

// TestCommandLine holds that a command line in one text is split into its words.
func TestCommandLine(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"python3 agent/server.py {port}", `write ["python3", "agent/server.py", "{port}"]`},
		{`sh -c 'echo "a b"'`, `write ["sh", "-c", "echo \"a b\""]`},
		{"./agent", `write ["./agent"]`},
	} {
		doc, _ := Parse("a.json", fmt.Appendf(nil, `{"version": 1, "targets": {"a": {"provider": "command", "argv": %q}}}`, row.text))
		problems := doc.Check("#Config", schema.Error)
		if len(problems) != 1 || problems[0].Hint != row.want {
			t.Errorf("%s: got %v, want %s", row.text, problems, row.want)
		}
	}
}

// TestFieldOfAnotherLevel writes a field of each format one level too high or too low: the
// error names the right place, and no message says to remove it.
func TestFieldOfAnotherLevel(t *testing.T) {
	for _, row := range []struct{ def, text, want string }{
		{"#Config", `{"version": 1, "provider": "openai"}`, "1:16 misplaced-field: `provider` is a field of an entry of `targets` and is not read here; move it under an entry of `targets`"},
		{"#Config", `{"version": 1, "min_score": 0.5}`, "1:16 misplaced-field: `min_score` is a field of `gate` and is not read here; move it under `gate`"},
		{"#Config", `{"version": 1, "gate": {"quarantine": []}}`, "1:25 misplaced-field: `quarantine` is not read under `gate`; move it next to `gate`"},
		{"#Config", `{"version": 1, "targets": {"a": {"provider": "openai", "judge": "a"}}}`, "1:56 unknown-field: unknown field `judge`; it is ignored; remove it"},
		{"#Promptval", `{"test_type": "agent", "name": "a", "user_input": "b", "testing_prompt": "c", "criteria": []}`, "1:79 misplaced-field: `criteria` is a field of `rubric` and is not read here; move it under `rubric`"},
		{"#Testcase", `{"name": "a", "instructions": "b"}`, "1:15 misplaced-field: `instructions` is a field of `persona` and is not read here; move it under `persona`"},
		{"#TestcaseFile", `{"test_cases": [{"name": "a"}], "max_turns": 2}`, "1:33 misplaced-field: `max_turns` is a field of a test case and is not read here; move it under the test case"},
		{"#Level", `{"expected": {"answer": 1}}`, "1:2 misplaced-field: `expected` is a field of a test and is not read here; move it under the test"},
		{"#EvalcaseSuite", `{"evalcases": [{"id": "a"}], "tags": ["a"]}`, "1:30 unknown-field: unknown field `tags`; it is ignored; remove it"},
		{"#MatrixTest", `{"description": "a", "value": "b"}`, "1:22 misplaced-field: `value` is a field of an assertion and is not read here; move it under an item of `assert`"},
	} {
		doc, problems := Parse("a.json", []byte(row.text))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", row.text, problems)
		}
		var got []string
		for _, p := range doc.Check(row.def, schema.Warning) {
			got = append(got, strings.TrimPrefix(p.Position.String(), "a.json:")+" "+p.Rule+": "+p.Message+"; "+p.Hint)
		}
		if text := strings.Join(got, " / "); text != row.want {
			t.Errorf("%s %s\n got %s\nwant %s", row.def, row.text, text, row.want)
		}
	}
}
