package document_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/cuefile"
	"github.com/gavel-evals/gavel/schema/document"
)

// constraints compiles one file of constraints.
func constraints(t *testing.T, text string) *document.Constraints {
	t.Helper()
	s, problems := document.NewConstraints([]schema.ConstraintFile{{File: "schema/team.cue", Text: text}}, cuefile.NewBudget())
	if len(problems) > 0 {
		t.Fatalf("%s gives %v", text, problems)
	}
	return s
}

func lines(problems []schema.Problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return strings.Join(all, "\n")
}

// TestConstraints holds values against constraints: the message about each, and its
// place.
func TestConstraints(t *testing.T) {
	team := constraints(t, `#Testcase: {
	// nobody waits for so many turns
	max_turns?: <=20
	owner:      string
	tags?: [...=~"^[a-z]+$"]
}
#Promptval: iterations?: >=3 | error("once is not enough")
`)
	for _, tt := range []struct{ def, text, want string }{
		{"#Testcase", `{"name": "A", "owner": "me", "max_turns": 20}`, ""},
		{"#Testcase", "{\"name\": \"A\", \"owner\": \"me\",\n \"max_turns\": 21}", "a.json:2:2: error: nobody waits for so many turns; see schema/team.cue:3:14"},
		{"#Testcase", `{"name": "A"}`, "a.json:1:1: error: the field `owner` is missing; add \"owner\": …, which schema/team.cue:4:2 demands"},
		{"#Testcase", `{"name": "A", "owner": "me", "tags": ["fine", "Not"]}`, "a.json:1:47: error: `tags`: invalid value \"Not\" (out of bound =~\"^[a-z]+$\"); see schema/team.cue:5:13"},
		{"#Promptval", `{"iterations": 1}`, "a.json:1:2: error: once is not enough; see schema/team.cue:7:32"},
		{"#Evalcase", `{"id": "a"}`, ""}, // nothing is demanded
	} {
		doc, problems := document.Parse("a.json", []byte(tt.text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := lines(team.Check(doc, tt.def, nil)); got != tt.want {
			t.Errorf("%s: %s\ngives %q,\nwant  %q", tt.def, tt.text, got, tt.want)
		}
	}
	if got := team.Adds("#Testcase"); !slices.Equal(got, []string{"owner"}) {
		t.Errorf("the added fields are %v, want owner", got)
	}
}

// TestNothingIsDemanded where there are no files.
func TestNothingIsDemanded(t *testing.T) {
	var none *document.Constraints
	doc, _ := document.Parse("a.json", []byte(`{"name": "A"}`))
	if got := none.Check(doc, "#Testcase", nil); got != nil || none.Adds("#Testcase") != nil || none.Overrun() != nil {
		t.Errorf("no constraints say %v", got)
	}
}

// TestNewConstraints has files that cannot be used.
func TestNewConstraints(t *testing.T) {
	many := make([]schema.ConstraintFile, 51)
	for i := range many {
		many[i].File = fmt.Sprintf("schema/%d.cue", i)
	}
	one := func(text string) []schema.ConstraintFile {
		return []schema.ConstraintFile{{File: "schema/team.cue", Text: text}}
	}
	for _, tt := range []struct {
		name  string
		files []schema.ConstraintFile
		want  string
	}{
		{"51 files", many, "schema/50.cue:1:1: error: there are more than 50 files of constraints; put several into one"},
		{"a link", []schema.ConstraintFile{{File: "schema/a.cue", Unreadable: "it is a link"}}, "schema/a.cue:1:1: error: the file cannot be read: it is a link; make it a plain file of the repository"},
		{"a misspelt definition", one("#TestCase: tags: _"), "schema/team.cue:1:1: error: unknown definition `#TestCase`; did you mean `#Testcase`?"},
		{"a misspelt field", one("#Testcase: tgas: _"), "schema/team.cue:1:12: error: `#Testcase` has no field `tgas`; did you mean `tags`?"},
		{"a field that may not be added", one("#Rubric: colour: string"), "unknown definition `#Rubric`"},
		{"an own definition that nothing uses", one("#Ours: string"), "nothing refers to it: it constrains nothing"},
		{"two that contradict each other", one("#Testcase: name: 5"), "schema/team.cue:1:"},
	} {
		got, problems := document.NewConstraints(tt.files, cuefile.NewBudget())
		if text := lines(problems); !strings.Contains(text, tt.want) || got != nil {
			t.Errorf("%s: the problems are %q, want %q", tt.name, text, tt.want)
		}
	}
}

// TestReadConstraints finds the files next to the definitions, in the order of their names.
func TestReadConstraints(t *testing.T) {
	files := fstest.MapFS{
		"tests/schema/b.cue":        {Data: []byte("b")},
		"tests/schema/a.cue":        {Data: []byte("a")},
		"tests/schema/.hidden.cue":  {},
		"tests/schema/notes.md":     {},
		"tests/schema/below/c.cue":  {},
		"elsewhere/schema/d.cue":    {},
		"more/schema/large.cue":     {Data: make([]byte, 64<<20)},
		"more/level_1/schema/e.cue": {},
	}
	var got []string
	found, err := document.ReadConstraints(files, []string{"tests", "missing", "more"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		text := f.Text
		if f.Unreadable != "" {
			text = "unreadable"
		}
		got = append(got, f.File+" "+text)
	}
	if want := []string{"tests/schema/a.cue a", "tests/schema/b.cue b", "more/schema/large.cue unreadable"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
}

// TestReadConstraintsOfAnUnreadableFolder: demands that cannot be read are never taken for
// none.
func TestReadConstraintsOfAnUnreadableFolder(t *testing.T) {
	files := fstest.MapFS{"tests/schema/a.cue": {Data: []byte("a")}, "plain/schema": {Data: []byte("a file")}}
	for _, tt := range []struct {
		name, unreadable, fault string
		err                     error
	}{
		{"a folder without permission", "tests/schema", "", fs.ErrPermission},
		{"too many open files", "", "tests/schema", syscall.EMFILE},
		{"a disk error", "", "tests/schema", syscall.EIO},
	} {
		found, err := document.ReadConstraints(failing{files, "tests/schema", tt.err}, []string{"plain", "tests", "missing"})
		switch {
		case tt.fault != "" && (!errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("%s: %v, %v", tt.name, found, err)
		case tt.fault == "" && (err != nil || len(found) != 1 || found[0].File != tt.unreadable || found[0].Unreadable == ""):
			t.Errorf("%s: %v, %v", tt.name, found, err)
		}
	}
}

// failing does not list a folder.
type failing struct {
	fstest.MapFS
	folder string
	err    error
}

func (f failing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == f.folder {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: f.err}
	}
	return f.MapFS.ReadDir(name)
}
