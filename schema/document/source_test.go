package document_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/document"
)

func TestRead(t *testing.T) {
	files := fstest.MapFS{
		"tests/math/prompt.md":     {Data: []byte("nearest")},
		"tests/shared.md":          {Data: []byte("above")},
		"top.md":                   {Data: []byte("top")},
		"tests/math/link.md":       {Data: []byte("top.md"), Mode: fs.ModeSymlink},
		"tests/math/module/a.md":   {Data: []byte("a")},
		"tests/math/cafe\u0301.md": {Data: []byte("x")},
		"tests/math/large.md":      {Data: []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n")},
		"tests/math/long.md":       {Data: []byte(strings.Repeat("x", 100))},
		"tests/math/merged.md":     {Data: []byte("Be kind.\n<<<<<<< HEAD\nBe brief.\n=======\nBe long.\n>>>>>>> topic\n")},
		"tests/math/marks.md":      {Data: []byte("A conflict begins with <<<<<<< and ends with >>>>>>>.\n=======\n")},
	}
	for _, tt := range []struct {
		name, path string
		want       string   // the file
		absent     []string // inputs that were looked for
		problem    string
	}{
		{"next to it", "prompt.md", "tests/math/prompt.md", nil, ""},
		{"next to it with a dot", "./prompt.md", "tests/math/prompt.md", nil, ""},
		{"root", "/top.md", "top.md", nil, ""},
		{"up", "../shared.md", "tests/shared.md", nil, ""},
		{
			"in a folder above", "shared.md", "tests/shared.md", []string{"tests/math/shared.md"},
			"tests/math/a.yaml:3:7: warning: shared.md is not next to this file; using tests/shared.md; write the path from the file's own folder, or /tests/shared.md",
		},
		{
			"up in a folder above", "../top.md", "top.md", []string{"tests/top.md"},
			"tests/math/a.yaml:3:7: warning: ../top.md is not next to this file; using top.md; write the path from the file's own folder, or /top.md",
		},
		{
			"up and missing", "../nowhere.md", "", []string{"tests/nowhere.md", "nowhere.md"},
			"tests/math/a.yaml:3:7: error: the file tests/nowhere.md does not exist; add it or correct the path",
		},
		{
			"an unresolved merge", "merged.md", "tests/math/merged.md", nil,
			"tests/math/a.yaml:3:7: warning: tests/math/merged.md has a merge conflict that is not resolved, from line 2 on; keep one of its sides, and remove the lines with the marks",
		},
		{"marks within lines", "marks.md", "tests/math/marks.md", nil, ""},
		{
			"missing", "promt.md", "", []string{"tests/math/promt.md", "tests/promt.md", "promt.md"},
			"tests/math/a.yaml:3:7: error: the file tests/math/promt.md does not exist; did you mean `prompt.md`?",
		},
		{
			"missing at the root", "/nowhere/x.md", "", []string{"nowhere/x.md"},
			"tests/math/a.yaml:3:7: error: the file nowhere/x.md does not exist; add it or correct the path",
		},
		{
			"escaping", "../../../etc/passwd", "", nil,
			`tests/math/a.yaml:3:7: error: the path "../../../etc/passwd" leaves the repository; name a file inside it; a leading / means the repository root`,
		},
		{
			"escaping from the root", "/../etc/passwd", "", nil,
			`tests/math/a.yaml:3:7: error: the path "/../etc/passwd" leaves the repository; name a file inside it; a leading / means the repository root`,
		},
		{
			"a folder", "module", "", nil,
			"tests/math/a.yaml:3:7: error: tests/math/module cannot be read: not a regular file; symlinks and submodules are not followed; name a plain file of the repository",
		},
		{
			"a pointer of Git LFS", "large.md", "", nil,
			"tests/math/a.yaml:3:7: error: tests/math/large.md cannot be read: it is a pointer of Git LFS, and its content is not in git; take it out of LFS (git lfs untrack), and commit the file itself",
		},
		{
			"too large", "long.md", "", nil,
			"tests/math/a.yaml:3:7: error: tests/math/long.md cannot be read: it has 100 bytes and may have 99; shorten it, or split it into several files and name each",
		},
		{
			"of Windows", `.\fixtures\a.md`, "", nil,
			`tests/math/a.yaml:3:7: error: the path ".\\fixtures\\a.md" has a backslash, which separates no folders here; write ./fixtures/a.md`,
		},
		{
			"made of other characters", "caf\u00e9.md", "", []string{"tests/math/caf\u00e9.md", "tests/caf\u00e9.md", "caf\u00e9.md"},
			"tests/math/a.yaml:3:7: error: the file tests/math/caf\u00e9.md does not exist; the name of the file that looks like it is made of other characters: write it as \"cafe\\u0301.md\"",
		},
		{
			"nul", "a\x00b", "", nil,
			"tests/math/a.yaml:3:7: error: the path \"a\\x00b\" leaves the repository; name a file inside it; a leading / means the repository root",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := document.Source{FS: files, Root: "tests", KeyRoot: "tests"}
			got := src.Read(document.Reference{
				At: schema.Position{File: "tests/math/a.yaml", Line: 3, Column: 7}, Path: tt.path, Role: "prompt", Most: 99,
			})
			if got.File.Path != tt.want || got.Found() != (tt.want != "") {
				t.Errorf("found %q, want %q", got.File.Path, tt.want)
			}
			var absent, problems []string
			for _, in := range got.Inputs {
				if in.Absent {
					absent = append(absent, in.File)
				}
			}
			for _, p := range got.Problems {
				problems = append(problems, p.String())
			}
			if diff := cmp.Diff(tt.absent, absent); diff != "" {
				t.Errorf("absent inputs (-want +got):\n%s", diff)
			}
			if got := strings.Join(problems, "\n"); got != tt.problem {
				t.Errorf("problems:\n%s\nwant:\n%s", got, tt.problem)
			}
		})
	}
}

func TestKey(t *testing.T) {
	src := document.Source{KeyRoot: "tests"}
	if got := src.Key("tests/a/b.yaml", "x"); got != "a/b#x" {
		t.Errorf("key %q", got)
	}
	if got := src.Key("tests/a/b.c.json", ""); got != "a/b.c" {
		t.Errorf("key %q", got)
	}
	src.KeyRoot = "."
	if got := src.Key("tests/a.json", ""); got != "tests/a" {
		t.Errorf("key below the repository root %q", got)
	}
}

func TestLines(t *testing.T) {
	doc, problems := document.Parse("x.jsonl", []byte("{\"id\": \"a\"}\n\n  {\"id\": \"b\", \"n\": {\"é\": 1, \"k\": [7]}}\r\n"))
	if doc == nil || doc.Items() != 2 || !doc.IsList() {
		t.Fatalf("not two lines: %v", problems)
	}
	if got := doc.Part(1).Text("id"); got != "b" {
		t.Errorf("the second line has the id %q", got)
	}
	if at := doc.Part(1, "n").At("k", 0).String(); at != "x.jsonl:3:35" {
		t.Errorf("the item in the third line is at %s", at)
	}
	if string(doc.Part(1, "n").JSON()) != `{"k":[7],"é":1}` || doc.Part(2) != nil || doc.Part(1, "x") != nil {
		t.Error("a part differs from the file's content at its position")
	}
	doc, problems = document.Parse("x.jsonl", []byte("{}\n{\"a\": 1,}\n{\"b\": 1, \"b\": 2}\n"))
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"x.jsonl:2:8: error: not valid JSON: trailing comma before }; remove it",
		"x.jsonl:3:10: error: duplicate key \"b\"; the first is in line 3; remove one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if doc.Items() != 2 || len(doc.Part(0).Check("#Level", schema.Warning)) != 0 || !schema.HasErrors(doc.CheckPart("#Level", schema.Warning, 1)) {
		t.Error("of the lines that can be read, the first is right and the second is not")
	}
}

// TestUTF16 is one mistake, however many lines there are.
func TestUTF16(t *testing.T) {
	for _, text := range []string{"\xff\xfe{\x00\n\x00}\x00\n\x00", "\xfe\xff\x00{\x00\n\x00}", "{\x00\n\x00}\x00"} {
		for _, file := range []string{"x.json", "x.jsonl", "x.yaml", "x.cue"} {
			doc, problems := document.Parse(file, []byte(text))
			if doc != nil || len(problems) != 1 || problems[0].String() != file+":1:1: error: the file is not UTF-8 but UTF-16; save it as UTF-8" {
				t.Errorf("%q in %s: %v", text, file, problems)
			}
		}
	}
}

// TestNameOfBytes holds that a file is not asked for by a name that no file
// system of ours takes.
func TestNameOfBytes(t *testing.T) {
	_, problems := document.Open(fstest.MapFS{}, "bad\xff.yaml")
	if len(problems) != 1 || problems[0].String() != "bad\xff.yaml:1:1: error: the name of the file is not valid UTF-8; rename it" {
		t.Errorf("got %v", problems)
	}
}

// TestOneValueOverLines is one mistake, however many lines there are.
func TestOneValueOverLines(t *testing.T) {
	doc, problems := document.Parse("x.jsonl", []byte("{\n  \"id\": \"a\",\n  \"input\": \"b\"\n}\n"))
	want := "x.jsonl:1:1: error: the file is one JSON value over several lines; write each case into a line of its own, or name the file .json"
	if doc != nil || len(problems) != 1 || problems[0].String() != want {
		t.Errorf("got %v, want %s", problems, want)
	}
}

// TestPartIsChecked holds that the part of a list is checked by CUE itself,
// with places that count code points.
func TestPartIsChecked(t *testing.T) {
	doc, _ := document.Parse("x.jsonl", []byte("{}\n{\"id\": \"é\", \"name\": \"n\", \"prompt\": 5}\n"))
	got := doc.Part(1).Check("#Test", schema.Warning)
	if len(got) != 1 || got[0].Position.String() != "x.jsonl:2:36" {
		t.Errorf("problems: %v", got)
	}
}
