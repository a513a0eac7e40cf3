package document_test

import (
	"os"
	"strings"
	"testing"

	"cuelang.org/go/cue/format"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/document"
)

// TestMain answers as the child that evaluates .cue files.
func TestMain(m *testing.M) {
	if cueeval.ServeChild() {
		return
	}
	os.Exit(m.Run())
}

// TestParseCUE takes the value of a .cue file like the JSON of the same
// dialect, with the places of the .cue file.
func TestParseCUE(t *testing.T) {
	src := `#Test: {name: string, weight: *2 | number, ...}
#Test & {
	id:      "a"
	name:    "A \(1+2)"
	prompt:  "What?"
	expcted: {keywords: ["x"]}
}
`
	doc, problems := document.Parse("math/level_1/a.cue", []byte(src))
	if doc == nil {
		t.Fatal(problems)
	}
	if got, want := string(doc.JSON()), `{"expcted":{"keywords":["x"]},"id":"a","name":"A 3","prompt":"What?","weight":2}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	problems = doc.Check("#Test", schema.Error)
	if len(problems) != 1 || problems[0].Position != (schema.Position{File: "math/level_1/a.cue", Line: 6, Column: 2}) || problems[0].Hint != "did you mean `expected`?" {
		t.Errorf("got %v", problems)
	}
	doc, problems = document.Parse("a.cue", []byte("a: b\n"))
	if doc != nil || len(problems) != 1 || problems[0].Rule != "cue-reference" || problems[0].Line != 1 || problems[0].Column != 4 {
		t.Errorf("got %v, %v", doc, problems)
	}
}

// TestSchemasAreReadable holds that the files that gavel schema prints are
// formatted as CUE is, and that a comment on a field is apart from the
// field before it.
func TestSchemasAreReadable(t *testing.T) {
	for name, text := range schema.Sources() {
		formatted, err := format.Source([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if string(formatted) != text {
			t.Errorf("%s is not as cue fmt writes it", name)
		}
		before := ""
		for i, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			isField := before != "" && !strings.HasPrefix(before, "//") && !strings.HasPrefix(before, "@") && !strings.HasSuffix(before, "{")
			if strings.HasPrefix(line, "//") && isField {
				t.Errorf("%s:%d: the comment has no air above it", name, i+1)
			}
			before = line
		}
	}
}
