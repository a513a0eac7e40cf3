package document_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestLargeList reads a list of JSON that is larger than a definition item by item, with
// the places of a small one, and names mistakes at theirs.
func TestLargeList(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	var items []string
	for i := range 300 {
		items = append(items, fmt.Sprintf("{\"n\": %d,\n  \"q\": \"%s\"}", i, long))
	}
	for _, between := range []string{",\n", ", "} {
		text := "[" + strings.Join(items, between) + "]\n"
		doc, problems := document.Parse("t.json", []byte(text))
		if len(problems) > 0 || doc.Items() != 300 || string(doc.JSON(299, "n")) != "299" || doc.Text(0, "q") != long {
			t.Fatalf("problems %v, want 300 items", problems)
		}
		small, _ := document.Parse("t.json", []byte("["+strings.Join(items[:20], between)+"]"))
		for i := range 20 {
			for _, key := range []string{"n", "q"} {
				if got, want := doc.At(i, key), small.At(i, key); got != want {
					t.Errorf("item %d has %s at %s, want %s", i, key, got, want)
				}
			}
		}
	}
	whole := "[" + strings.Join(items, ",\n") + "]"
	for _, tt := range []struct{ text, want string }{
		{strings.Replace(whole, `{"n": 7,`, `{"n": ,`, 1), "t.json:15:7: error: not valid JSON: invalid character ',' looking for beginning of value; correct it at this place, or write each test into a line of its own and name the file .jsonl"},
		{strings.TrimSuffix(whole, "]"), "t.json:600:1011: error: not valid JSON: EOF; correct it at this place, or write each test into a line of its own and name the file .jsonl"},
		{whole + " x", "t.json:600:1012: error: not valid JSON: text behind the end of the list; correct it at this place, or write each test into a line of its own and name the file .jsonl"},
		{strings.Replace(whole, `{"n": 7,`, `{"n": 7, "n": 8,`, 1), "t.json:15:10: error"},
		{strings.Replace(whole, long, strings.Repeat("x", 300_000), 1), "t.json:1:2: error: the item has 300019 bytes; a definition may have 262144; split it"},
		{`{"a": "` + strings.Repeat("x", 8<<20) + `"}`, "t.json:1:1: error: the file has 8388617 bytes; a definition may have 8388608; split it"},
		{`{"a": [` + strings.Repeat("1,", 300_000) + `1]}`, "t.json:1:1: error: the file has 300003 signs that may begin a value (line breaks and any of ,:-[{?), and a file of more than 256 KiB may have 262144; split it, or write the tests into a file that is nothing but a list of them"},
		{"[" + strings.Repeat("1,", 4_000_000) + "1]", "t.json:1:400002: error: the list has more than 200000 items; split it"},
		{"[" + strings.Repeat("[1,1,1,1,1,1,1,1,1],", 400_000) + "1]", "t.json:1:2000002: error: the list has more than 1000000 values up to here; split it"},
	} {
		_, problems := document.Parse("t.json", []byte(tt.text))
		if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), tt.want) {
			t.Errorf("%.30q: problems %v, want %q", tt.text, problems, tt.want)
		}
	}
}

// TestLargeYAMLList reads a list of YAML that is larger than [schema.MaxFile] item by item, with
// the values and places of a small one.
func TestLargeYAMLList(t *testing.T) {
	item := "- n: 1 # one\n  q: |\n    ä: - x\n\n    - y\n  list:\n  - {a: [1, '- 2']}\n  - \"b\n    - c\"\n# between\n-   n: -012\n    q: ä\n- - nested\n  - text\n- plain\n"
	for _, tt := range []struct{ before, indent string }{{"", ""}, {"# tests\n\n---\n", ""}, {"\n", "  "}} {
		text := tt.indent + strings.ReplaceAll(strings.TrimSuffix(item, "\n"), "\n", "\n"+tt.indent) + "\n"
		small, problems := document.Parse("t.yaml", []byte(tt.before+strings.Repeat(text, 20)))
		if small == nil || small.Items() != 80 {
			t.Fatalf("the small list: %v", problems)
		}
		doc, problems := document.Parse("t.yaml", []byte(tt.before+strings.Repeat(text, 3000)))
		if doc == nil || doc.Items() != 12_000 {
			t.Fatalf("problems %v, want 12000 items", problems)
		}
		for i := range 80 {
			if got, want := string(doc.JSON(i)), string(small.JSON(i)); got != want || doc.At(i) != small.At(i) {
				t.Fatalf("item %d is %s at %s, want %s at %s", i, got, doc.At(i), want, small.At(i))
			}
			for _, at := range [][]any{{i, "q"}, {i, "list", 1}, {i, 1}} {
				if got, want := doc.At(at...), small.At(at...); got != want {
					t.Errorf("%v is at %s, want %s", at, got, want)
				}
			}
		}
	}
	fill := strings.Repeat("- n: "+strings.Repeat("x", 90)+"\n", 3000)
	for _, tt := range []struct{ text, want string }{
		{"- a: &x 1\n" + fill + "- b: *x\n", "t.yaml:3002:6: error: not valid YAML: "},
		{"- 'open\n" + fill, "t.yaml:1:3: error: not valid YAML: "},
		{fill + "-\n" + fill, "t.yaml:3001:1: error: the item has no value; write it behind the hyphen, or remove the hyphen"},
		{fill + "key: 1\n", "t.yaml:3001:1: error: not valid YAML: "},
		{"- " + strings.Repeat("x", 300_000) + "\n", "t.yaml:1:1: error: the item has 300003 bytes; a definition may have 262144; split it"},
		{strings.Repeat("- 1\n", 200_001), "t.yaml:200001:1: error: the list has more than 200000 items; split it"},
		{"a: [" + strings.Repeat("1,", 300_000) + "1]", "t.yaml:1:1: error: the file has 300002 signs"},
	} {
		_, problems := document.Parse("t.yaml", []byte(tt.text))
		if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), tt.want) {
			t.Errorf("%.30q: problems %v, want %q", tt.text, problems, tt.want)
		}
	}
}

// TestLargeText reads a large text of one line in a time that grows with its length.
func TestLargeText(t *testing.T) {
	for _, name := range []string{"t.json", "t.yaml"} {
		var b strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&b, `, "k%d": "%s"`, i, strings.Repeat("ä", 60))
		}
		text := "{" + b.String()[2:] + "}"
		doc, problems := document.Parse(name, []byte(text))
		if want := 1 + utf8.RuneCountInString(text[:strings.LastIndex(text, `"k39999"`)]); doc == nil || doc.At("k39999").Column != want {
			t.Errorf("%s: problems %v, the last value is at %v, want column %d", name, problems, doc.At("k39999"), want)
		}
	}
}

// TestLargeObject finds the fields of an object with very many, and compares all of them with those
// that are known, in a time that grows with their number.
func TestLargeObject(t *testing.T) {
	const fields = 60_000
	var b strings.Builder
	for i := range fields {
		fmt.Fprintf(&b, ",\"asert%d\":%d", i, i)
	}
	doc, problems := document.Parse("t.json", []byte(`{"x":{"vars":{"a":1}`+b.String()+`}}`))
	if doc == nil {
		t.Fatal(problems)
	}
	for i, name := range doc.Keys("x")[1:] {
		if got := string(doc.JSON("x", name)); got != fmt.Sprint(i) || doc.At("x", name).Column < 20 {
			t.Fatalf("%s is %s at %v, want %d at its place", name, got, doc.At("x", name), i)
		}
	}
	if doc.Has("x", "asert") || doc.Part("x").At("asert7") != doc.At("x", "asert7") {
		t.Error("a field that is not there is found, or a part of the document has another place")
	}
	if found := doc.CheckPart("#MatrixTest", schema.Warning, "x"); len(found) != fields || found[7].Hint != "did you mean `assert`?" {
		t.Errorf("%d problems, such as %v; want one for each field", len(found), found[:1])
	}
}
