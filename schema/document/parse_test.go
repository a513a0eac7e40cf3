package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestAbuseBombsAndDepths holds the files that are written to bring a reader down:
// each is refused at a place, at once and without the memory it asks for.
func TestAbuseBombsAndDepths(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"brackets without end", "x.json", strings.Repeat("[", 250_000), "x.json:1:66: error: values are nested more than 64 deep; flatten the file"},
		{"objects without end", "x.json", strings.Repeat(`{"a":`, 50_000), "x.json:1:326: error: values are nested more than 64 deep; flatten the file"},
		{"CUE's parentheses", "x.json", strings.Repeat("(", 250_000), "x.json:1:1: error: not valid JSON: it begins with neither { nor [; name a YAML file .yaml"},
		{"CUE's interpolation", "x.json", `"` + strings.Repeat(`\("`, 80_000), "x.json:1:3: error: not valid JSON: unknown escape sequence; write \\\\ for a backslash"},
		{"a CUE expression", "x.json", `{"a": 1 + 1}`, "x.json:1:9: error: not valid JSON: a comma is missing before this place; write one, and look whether a quote is missing or too many"},
		{"flow without end", "x.yaml", "a: " + strings.Repeat("[", 1500), "x.yaml:1:1: error: not valid YAML: a value is missing before this place; write one, remove the comma, or close the bracket"},
		{"nested flow", "x.yaml", strings.Repeat("[", 80) + strings.Repeat("]", 80), "x.yaml:1:66: error: values are nested more than 64 deep; flatten the file"},
		{"dashes without end", "x.yaml", strings.Repeat("- ", 100_000), "x.yaml:1:1: error: values are nested more than 64 deep; flatten the file"},
		{"alias bomb", "x.yaml", bomb(30), "x.yaml:6:5: error: the file holds more than 100000 values, aliases expanded; use fewer aliases"},
		{"anchor in itself", "x.yaml", "a: &a [*a]\n", "x.yaml:1:8: error: the anchor \"a\" contains itself; write the value out"},
		{"merge into itself", "x.yaml", "id: x\na: &a {<<: *a}\n", "x.yaml:2:12: error: the anchor \"a\" contains itself; write the value out"},
		{"loop over two", "x.yaml", "a: &a\n  b: &b [*a]\n", "x.yaml:2:10: error: the anchor \"a\" contains itself; write the value out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc, problems := document.Parse(tt.file, []byte(tt.text))
			if doc != nil || len(problems) != 1 || problems[0].String() != tt.want {
				t.Errorf("got %v\nwant %s", problems, tt.want)
			}
		})
	}
}

// TestByteOrderMarks: a text in a file may have one, in JSON and YAML, and each is kept.
func TestByteOrderMarks(t *testing.T) {
	for _, file := range []string{"a.json", "a.jsonl", "a.yaml"} {
		doc, problems := document.Parse(file, []byte("\ufeff{\"a\": \"b\ufeffc\ufeff\"}\n"))
		if len(problems) > 0 {
			t.Errorf("%s: problems %v, want none", file, problems)
			continue
		}
		at := []any{"a"}
		if doc.IsList() {
			at = []any{0, "a"}
		}
		if got := doc.Text(at...); got != "b\ufeffc\ufeff" {
			t.Errorf("%s: the text is %q", file, got)
		}
	}
}

// TestMergeConflicts: a conflict that git left in a file is named, whatever the file's form.
func TestMergeConflicts(t *testing.T) {
	const says = ":1: error: the merge conflict that begins here is not resolved; keep one of its sides, and remove the lines with the marks"
	for _, tt := range []struct {
		file, text string
		line       int // 0 if it is none
	}{
		{"a.json", "{\n<<<<<<< HEAD\n\"a\": 1\n=======\n\"a\": 2\n>>>>>>> topic\n}\n", 2},
		{"a.yaml", "a: 1\n<<<<<<< HEAD\r\nb: 1\r\n||||||| base\r\nb: 0\r\n=======\r\nb: 2\r\n>>>>>>> topic\r\n", 2},
		{"a.jsonl", "{}\n<<<<<<< HEAD\n{}\n=======\n>>>>>>> topic\n", 2},
		{"a.yaml", "a: |\n  <<<<<<< HEAD\n  =======\n  >>>>>>> topic\n", 0},
		{"a.yaml", "a: \"<<<<<<< and >>>>>>> \"\n", 0},
	} {
		_, problems := document.Parse(tt.file, []byte(tt.text))
		var want []string
		if tt.line > 0 {
			want = []string{fmt.Sprint(tt.file, ":", tt.line, says)}
		}
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", tt.text, got, want)
		}
	}
}

// bomb writes anchors that each hold the one before nine times.
func bomb(levels int) string {
	text := "a0: &a0 x\n"
	for i := 1; i <= levels; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9))
	}
	return text
}

func TestParseExpandsAliases(t *testing.T) {
	doc, problems := document.Parse("x.yaml", []byte("base: &b {a: 1, b: 2}\nuse: {<<: *b, b: 3}\nlist: [*b, *b]\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got, want := string(doc.JSON()), `{"base":{"a":1,"b":2},"list":[{"a":1,"b":2},{"a":1,"b":2}],"use":{"a":1,"b":3}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestYAMLIsReadAsItIsMeant compares YAML with the JSON that it means.
func TestYAMLIsReadAsItIsMeant(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"- &b {n: A, t: 1}\n- {n: B, <<: *b}\n- {<<: *b, n: C}\n", `[{"n":"A","t":1},{"n":"B","t":1},{"n":"C","t":1}]`},
		{"- &a {n: 1}\n- &b {n: 2, m: 2}\n- <<: [*a, *b]\n- {<<: {<<: *b, k: 3}}", `[{"n":1},{"m":2,"n":2},{"m":2,"n":1},{"k":3,"m":2,"n":2}]`},
		{"a: <<\n\"<<\": b\n", `{"<<":"b","a":"<<"}`},
		{"[1., .5, +5, -.5e3, -0x1F, 0b101, 0o17, 1_000, 017, 1.e5, 1e-2]", `[1.0,0.5,5,-500.0,-31,5,15,1000,15,100000.0,0.01]`},
		{"[no, Yes, on, 089, 190:20:30, 2026-01-02, 12:30, True, ~, Null, \"\"]", `["no","Yes","on","089","190:20:30","2026-01-02","12:30",true,null,null,""]`},
		{"{1: a, true: b, ~: c, 1.5: d, 010: e, é: f}", `{"010":"e","1":"a","1.5":"d","null":"c","true":"b","é":"f"}`},
		{"a: !!str 5\nb: !!float 3\nc: !!binary aGk=\nd: !!set {x}\n", `{"a":"5","b":3,"c":"hi","d":{"x":null}}`},
		{"a: \"x\u2028y\"\nb: |\n  x\u0085  y\nc: 1\n", `{"a":"x\u2028y","b":"x\ny\n","c":1}`},
		{"a: |\n" + strings.Repeat(" ", 300) + "x\n", `{"a":"x\n"}`},
		{"a: [" + strings.Repeat("{}, ", 2000) + "]\n", `{"a":[` + strings.Repeat("{},", 1999) + `{}]}`},
		{"a: 1\rb: 2\r", `{"a":1,"b":2}`},
		{"- {input: Where is it?}\n- [a?, b?c, \"d?\", ☃?]\n- {k?: v?, is it? so: 1}\n- |\n  e?\n", `[{"input":"Where is it?"},["a?","b?c","d?","☃?"],{"k?":"v?","is it? so":1},"e?\n"]`},
	} {
		doc, problems := document.Parse("x.yaml", []byte(tt.text))
		if doc == nil {
			t.Errorf("%q does not parse: %v", tt.text, problems)
			continue
		}
		canonical, err := schema.Canonical([]byte(tt.want))
		if got := string(doc.JSON()); err != nil || got != string(canonical) {
			t.Errorf("%q is read as\n%s\nwant\n%s, %v", tt.text, got, canonical, err)
		}
	}
}

// TestPlacesInYAML holds that places count characters in our lines, whatever
// precedes them.
func TestPlacesInYAML(t *testing.T) {
	for _, tt := range []struct {
		text string
		path []any
		want string
	}{
		{"{é: ☃, max: three}\n", []any{"max"}, "1:8"},
		{"é: [☃☃, {a: b}]\n", []any{"é", 1}, "1:9"},
		{"a: \"x\u2028y\"\nb: 1\n", []any{"b"}, "2:1"},
		{"a: x\u2028b: [1]\nc: {d: [2]}\n", []any{"c", "d", 0}, "2:9"},
		{"a: 1\rb: [é, 2]\r", []any{"b", 1}, "1:13"},
		{"{é: a?, b: [☃?☃?, c?, d]}\n", []any{"b", 2}, "1:23"},
		{"a: 1\r\nb: [é, 2]\r\n", []any{"b", 1}, "2:8"},
		{"a: &x [1, 2]\nb: *x\n", []any{"b", 1}, "1:11"},
		{"a: &x 1\nb: [*x]\n", []any{"b", 0}, "2:5"},
		{"a: &x {y: 1}\nb:\n  <<: *x\n", []any{"b", "y"}, "1:8"},
		{"a: |\n  x\n\nb: >-\n  y\n", []any{"b"}, "4:1"},
		{"a:\tb\nc:\t[\td ]\n", []any{"c", 0}, "2:6"},
	} {
		doc, problems := document.Parse("x.yaml", []byte(tt.text))
		if doc == nil {
			t.Errorf("%q does not parse: %v", tt.text, problems)
		} else if got := doc.At(tt.path...).String(); got != "x.yaml:"+tt.want {
			t.Errorf("%q: %v is at %s, want %s", tt.text, tt.path, got, tt.want)
		}
	}
}

// TestHintsOfScalars holds that a hint repeats the text of the file, not
// the value that YAML reads from it.
func TestHintsOfScalars(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"name: 012", []string{"1:7: error: `name` must be a string, not a number; write \"012\""}},
		{"name: x\nmax_turns: 012", []string{"2:12: warning: YAML reads 012 in base 8, as 10; write \"012\" for a text, 10 or 12 for a number"}},
		{"name: x\nuser_context: {zip: [007]}", []string{"2:22: warning: YAML reads 007 in base 8, as 7; write \"007\" for a text, 7 for a number"}},
		{"name: 0o12", []string{"1:7: error: `name` must be a string, not a number; write \"0o12\""}},
		{"name: 1_000 # said so", []string{"1:7: error: `name` must be a string, not a number; write \"1_000\""}},
		{"tags: [1.50, True]\nname: x", []string{"1:8: error: an item of tags must be a string, not a number; write \"1.50\"", "1:14: error: an item of tags must be a string, not true or false; write \"True\""}},
		{"name: &n 5\ndescription: *n", []string{"1:7: error: `name` must be a string, not a number; write \"5\"", "2:14: error: `description` must be a string, not a number; write \"5\""}},
		{"name: x\nmax_turns: 08", []string{"2:12: error: `max_turns` must be a number, not a string; write 8"}},
		{"name: x\nmax_turns: \"8\"", []string{"2:12: error: `max_turns` must be a number, not a string; write 8 without quotes"}},
		{"name: x\nmax_turns: 0", []string{"2:12: error: `max_turns` is 0; it must be at least 1, or null"}},
		{"name: x\nmax_turns: -1", []string{"2:12: error: `max_turns` is -1; it must be at least 1, or null"}},
		{"name: x\nmax_turns: 3e0", []string{"2:12: error: `max_turns` must be a whole number, not 3e0; write 3"}},
		{"name: x\nmax_turns: 1.5", []string{"2:12: error: `max_turns` must be a whole number, not 1.5; write it without a fraction"}},
		{"name: x\nexpected_tool_calls: [{tool: t, should_call: no}]", []string{"2:46: error: `should_call` must be true or false, not a string; write false"}},
	} {
		doc, problems := document.Parse("x.yaml", []byte(tt.text))
		if doc == nil {
			t.Fatal(tt.text, problems)
		}
		var got []string
		for _, p := range doc.Check("#Testcase", schema.Error) {
			got = append(got, strings.TrimPrefix(p.String(), "x.yaml:"))
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s gives\n%s\nwant\n%s", tt.text, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// refusals are the rules by which Parse may refuse valid JSON.
var refusals = []string{"empty-file", "invalid-utf8", "nul", "too-deep", "too-many-values", "duplicate-key", "exponent", "not-finite"}

// FuzzParse demands that nothing panics, that every problem has a place, and that JSON
// is read as encoding/json reads it.
func FuzzParse(f *testing.F) {
	for _, seed := range append([]string{
		`{"a": [1, -2.50, 1e3, "x\ud83d\ude00\/\u0000", true, null]}`, `{"a/b": {"": 0}}`, "\"\\ud800\"", `"\ud83d\ude00"`,
		`{"_x": 1, "#y": 2, "$z": 3, "a b": 4}`, bomb(3), "a: &a {<<: *a}", "a: 012\nb: 0x1F\nc: 1_000\nd: ~\ne: .inf\n",
		"? a\n: b\n", "|\n  text\n", "- !!binary aGk=\n", "a: b: c\n", "%YAML 1.2\n---\n{}\n...\n", "(((((", "[1,", "\xff", "\ufeff{}",
	}, abuse...) {
		f.Add("x.json", []byte(seed))
		f.Add("x.yaml", []byte(seed))
		f.Add("x.jsonl", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		doc, problems := document.Parse(file, data)
		if doc == nil && len(problems) == 0 {
			t.Fatal("neither a document nor problems")
		}
		for _, p := range problems {
			if p.Rule != "file-type" && (p.Line < 1 || p.Column < 1 || p.Message == "") {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		if !strings.HasSuffix(file, ".json") || !json.Valid(data) {
			return
		}
		if len(problems) > 0 {
			halfCharacter := problems[0].Rule == "syntax" && bytes.Contains(bytes.ToLower(data), []byte(`\ud`))
			if !slices.Contains(refusals, problems[0].Rule) && !halfCharacter {
				t.Fatalf("JSON is refused: %v", problems)
			}
			return
		}
		want, err := schema.Canonical(data)
		if err != nil || !bytes.Equal(doc.JSON(), want) {
			t.Fatalf("read as %s, want %s, %v", doc.JSON(), want, err)
		}
	})
}
