package evalcase

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

func repository() fstest.MapFS {
	return fstest.MapFS{
		"a/suite.yaml":         {Data: []byte("execution: {target: bot}\ntests:\n- {id: x, input: y}\n- cases.jsonl\n- file://more/*.yaml\n- ./cases/\n")},
		"a/cases.jsonl":        {Data: []byte(`{"id": "b", "criteria": "c"}`)},
		"a/more/one.yaml":      {Data: []byte("tests: [{id: d, criteria: e}]\n")},
		"a/more/suite.yaml":    {Data: []byte("name: own\ntests: [{id: d, input: x, criteria: e}]\n")},
		"a/cases/f/case.yaml":  {Data: []byte("criteria: g\ninput: h\n")},
		"a/cases/n/case.yaml":  {Data: []byte("id: named\ncriteria: g\ninput: h\n")},
		"a/cases/n/notes.yaml": {Data: []byte("criteria: g\n")},
		"a/other.jsonl":        {Data: []byte(`{"id": "b", "criteria": "c"}`)},
		"a/one.yaml":           {Data: []byte("prompts: [x]\ntests: other.yaml\n")},
		"a/other.yaml":         {Data: []byte("- {id: o, criteria: p}\n")},
		"a/notes.yaml":         {Data: []byte("- cases.jsonl\n- tests are elsewhere\n")},
		"b/cases.jsonl":        {Data: []byte(`{"id": "b", "criteria": "c"}`)},
	}
}

// TestFragmentSuite finds the suite that has the tests of a file, and none for a file that says more than
// tests, or that nothing names.
func TestFragmentSuite(t *testing.T) {
	files := repository()
	find := NewFragmentFinder(files)
	got := map[string]string{}
	for name := range files {
		doc, _ := document.Open(files, name)
		if suite := find.Suite(doc); suite != "" {
			got[name] = suite
		}
		if find.Named(name) != got[name] {
			t.Errorf("%s is remembered with the suite %q, want %q", name, find.Named(name), got[name])
		}
	}
	want := map[string]string{
		"a/cases.jsonl": "a/suite.yaml", "a/more/one.yaml": "a/suite.yaml", "a/other.yaml": "a/one.yaml",
		"a/cases/f/case.yaml": "a/suite.yaml", "a/cases/n/case.yaml": "a/suite.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the suites of files (-want +got):\n%s", diff)
	}
	var none *FragmentFinder
	if none.Named("a/cases.jsonl") != "" {
		t.Error("a finder that is nil knows a file")
	}
}

// TestExpandFragment: a glob and a folder expand to files, and the name of a file to
// itself.
func TestExpandFragment(t *testing.T) {
	for _, tt := range []struct{ name, want, folder string }{
		{"file://more/*.yaml", "/a/more/one.yaml /a/more/suite.yaml", "a/more"},
		{"./cases/", "/a/cases/f/case.yaml /a/cases/n/case.yaml", "a/cases"},
		{"/a/cases", "/a/cases/f/case.yaml /a/cases/n/case.yaml", "a/cases"},
		{"**/case.yaml", "/a/cases/f/case.yaml /a/cases/n/case.yaml", "a"},
		{"none/*.yaml", "", "a/none"},
		{"{more,../a}/{one,other}.yaml", "/a/more/one.yaml /a/one.yaml /a/other.yaml", "a/more a/more a a"},
		{"more", "", "a/more"},
	} {
		got, ok := expandFragment(document.Source{FS: repository()}, schema.Position{File: "a/suite.yaml"}, tt.name)
		if !ok || strings.Join(got.Files, " ") != tt.want || strings.Join(got.Folders, " ") != tt.folder {
			t.Errorf("%s stands for %v, %v; want %s, which are looked for in %s", tt.name, got, ok, tt.want, tt.folder)
		}
	}
	for _, name := range []string{"cases.jsonl", "gone", "../../x"} {
		if got, ok := expandFragment(document.Source{FS: repository()}, schema.Position{File: "a/suite.yaml"}, name); ok {
			t.Errorf("%s stands for %v, want for itself", name, got)
		}
	}
}

// TestFragmentThatLeaves: a pattern that leaves the repository, or means too many names, is an error.
func TestFragmentThatLeaves(t *testing.T) {
	for name, want := range map[string]string{"../../*.yaml": "leaves the repository", "{more,../../x}/*.yaml": "leaves the repository", strings.Repeat("{a,b}", 9): "mean too many names"} {
		got, _ := expandFragment(document.Source{FS: repository()}, schema.Position{File: "a/suite.yaml"}, name)
		if len(got.Files) > 0 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Message, want) {
			t.Errorf("%s stands for %v, want an error that it %s", name, got, want)
		}
	}
}

// TestFragmentCase: a test in a folder of its own has the name of the folder.
func TestFragmentCase(t *testing.T) {
	for _, tt := range []struct{ file, want string }{{"a/cases/f/case.yaml", "f"}, {"a/cases/n/case.yaml", "named"}, {"a/cases/n/notes.yaml", ""}} {
		doc, problems := document.Open(repository(), tt.file)
		if doc == nil {
			t.Fatal(problems)
		}
		if got := fragmentCase(doc); got.Text("id") != tt.want || got.Text("criteria") != "g" || got.At("criteria").File != tt.file {
			t.Errorf("%s has the id %q and criteria at %s", tt.file, got.Text("id"), got.At("criteria"))
		}
	}
}

// FuzzFragmentFinder reads any file as a suite: it ends, and names no file outside of the repository.
func FuzzFragmentFinder(f *testing.F) {
	f.Add("tests: cases.jsonl\n", "cases.jsonl")
	f.Add("tests:\n- ../../../etc/*.yaml\n- {include: x}\n- 5\n", "../..")
	f.Add("tests: [a.yaml, **/b.yaml]\n", "**/[")
	f.Fuzz(func(t *testing.T, text, name string) {
		files := repository()
		files["a/fuzz.yaml"] = &fstest.MapFile{Data: []byte(text)}
		doc, _ := document.Open(files, "a/cases.jsonl")
		NewFragmentFinder(files).Suite(doc)
		if set, ok := expandFragment(document.Source{FS: files}, schema.Position{File: "a/fuzz.yaml"}, name); ok {
			for _, file := range set.Files {
				if _, known := files[strings.TrimPrefix(file, "/")]; !known {
					t.Errorf("%q stands for %s, which is no file of the repository", name, file)
				}
			}
		}
	})
}
