package load

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

func TestGavelignore(t *testing.T) {
	texts := seed()
	texts["test_definitions/math/level_1/broken.json"] = "{"
	texts["test_definitions/math/level_1/kept.json"] = "{"
	texts["test_definitions/drafts/one.json"] = "{}"
	texts[".gavelignore"] = "# not ready\ndrafts/\n/test_definitions/math/level_1/*\n!kept.json\n*.yaml\n"
	texts["test_definitions/sql/level_1/more.yaml"] = "\t"
	res := loadAll(t, texts)
	if len(res.Problems) != 1 || res.Problems[0].File != "test_definitions/math/level_1/kept.json" {
		t.Errorf("problems %v", res.Problems)
	}
	if len(res.Cases) != 4 {
		t.Errorf("%d cases, want those outside level 1 of math", len(res.Cases))
	}
}

func TestExcluded(t *testing.T) {
	for _, tt := range []struct {
		rule, name string
		folder     bool
		want       bool
	}{
		{"drafts/**", "drafts/a/b.json", false, true},
		{"drafts/**", "other/drafts/b.json", false, false},
		{"**/drafts/*.json", "a/b/drafts/c.json", false, true},
		{`\!odd.json`, "x/!odd.json", false, true},
		{`\#odd.json`, "#odd.json", false, true},
		{"/a.json", "x/a.json", false, false},
		{"a.json", "x/a.json", false, true},
		{"folder/", "x/folder", false, false},
		{"folder/", "x/folder", true, true},
		{"*.yaml\n!keep.yaml", "x/keep.yaml", false, false},
		{`\*.json`, "a.json", false, false},
		{`\*.json`, "x/*.json", false, true},
		{`a\*.json`, "ab.json", false, false},
		{"[!a-c].json", "x/d.json", false, true},
		{"[!a-c].json", "x/a.json", false, false},
		{"\ufeffa.json\r", "x/a.json", false, true},
		{`a.json\ `, "a.json", false, false},
		{`a.json\ `, "a.json ", false, true},
		{"a.json  ", "a.json", false, true},
		{"# a.json", "a.json", false, false},
	} {
		rules, err := wildcard.ReadIgnore(fsOf(map[string]string{wildcard.IgnoreFile: tt.rule + "\n"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Exclude(wildcard.Path{Name: tt.name, IsFolder: tt.folder}); got != tt.want {
			t.Errorf("%q excludes %s: %v, want %v", tt.rule, tt.name, got, tt.want)
		}
	}
}

// TestIgnoredDefinitions holds that a definitions folder in an excluded one is not read
// either, with a message.
func TestIgnoredDefinitions(t *testing.T) {
	files := fsOf(map[string]string{
		"packages/old/tests/a.yaml": "name: [\n", "packages/new/tests/a.yaml": "name: x\n", ".gavelignore": "/packages/old/\n",
	})
	with := schema.Settings{Definitions: []string{"packages/old/tests", "packages/new/tests"}}
	want := "packages/old/tests:1:1: warning: the definitions folder is excluded by .gavelignore, and nothing in it is read; correct .gavelignore, or definitions: in gavel.yaml"
	for _, given := range [][]string{nil, {"packages/old/tests/a.yaml", "packages/new/tests/a.yaml"}} {
		res, err := Load(t.Context(), files, Options{Settings: with, Files: given})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Problems) != 1 || res.Problems[0].String() != want || len(res.Cases) != 1 {
			t.Errorf("%v: %d cases, %v", given, len(res.Cases), res.Problems)
		}
	}
}

// TestIgnoreFileThatCannotBeRead is a problem of that file, and all is loaded.
func TestIgnoreFileThatCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		file *fstest.MapFile
	}{
		{"link", &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("elsewhere")}}, {"large", &fstest.MapFile{Data: make([]byte, schema.MaxFile+1)}},
		{"long pattern", &fstest.MapFile{Data: append([]byte("a\n"), make([]byte, wildcard.MaxPattern)...)}},
	} {
		files := greetings(1)
		files[wildcard.IgnoreFile] = tt.file
		res, err := Load(t.Context(), noLinks{files}, Options{Settings: oneFolder})
		if err != nil || len(res.Cases) != 1 || len(res.Problems) != 1 || res.Problems[0].File != wildcard.IgnoreFile || res.Problems[0].Severity != schema.Error {
			t.Errorf("%s: Load = %+v, %v; want the case and one error of %s", tt.name, res, err, wildcard.IgnoreFile)
		}
	}
}

// noLinks follows no link, as the files of a commit do not.
type noLinks struct{ fstest.MapFS }

func (n noLinks) Stat(name string) (fs.FileInfo, error) { return n.Lstat(name) }
