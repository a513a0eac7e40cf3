package configfile_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/gavel-evals/gavel/controller/config/configfile"
	"github.com/gavel-evals/gavel/schema"
)

// TestRolesOfProviders: a role, an alias and the default target may be a provider that a
// promptfooconfig.yaml names itself. A name that no file has is an error.
func TestRolesOfProviders(t *testing.T) {
	for _, tt := range []struct{ text, wrong string }{
		{"version: 1\nroles: {judge: 'openai:a'}\n", ""},
		{"version: 1\nroles: {embedder: 'openai:embedding:e'}\n", ""},
		{"version: 1\ndefault_target: 'openai:a'\n", ""},
		{"version: 1\naliases: {small: 'openai:a'}\n", ""},
		{"version: 1\nroles: {judge: 'openai:b'}\n", `gavel.yaml:2:9: error: unknown target "openai:b"; add it under targets`},
	} {
		fsys := fstest.MapFS{
			"gavel.yaml":           {Data: []byte(tt.text)},
			"promptfooconfig.yaml": {Data: []byte("prompts: [x]\nproviders: ['openai:a', 'openai:embedding:e']\ntests: []\n")},
		}
		_, problems, found, err := configfile.Read(fsys, "gavel.yaml", nil)
		got := ""
		if len(problems) > 0 {
			got = problems[0].String()
		}
		if err != nil || !found || len(problems) > 1 || schema.HasErrors(problems) != (tt.wrong != "") || got != tt.wrong {
			t.Errorf("%s: problems %v (found %v, %v), want %q", tt.text, problems, found, err, tt.wrong)
		}
	}
}

// TestFilesThatAreNotRead: a gavel.yaml that cannot be read as one is a mistake with a
// place and a repair, as it is for a definition.
func TestFilesThatAreNotRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		file *fstest.MapFile
		want string
	}{
		{"a pointer of Git LFS", &fstest.MapFile{Data: []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n")},
			"gavel.yaml:1:1: error: the file cannot be read: it is a pointer of Git LFS, and its content is not in git; take it out of LFS (git lfs untrack), and commit the file itself"},
		{"a folder", &fstest.MapFile{Mode: fs.ModeDir | 0o755},
			"gavel.yaml:1:1: error: the file cannot be read: not a regular file; symlinks and submodules are not followed; make it a plain file of the repository"},
		{"a conflict", &fstest.MapFile{Data: []byte("version: 1\n<<<<<<< HEAD\ngate: {}\n=======\n>>>>>>> topic\n")},
			"gavel.yaml:2:1: error: the merge conflict that begins here is not resolved; keep one of its sides, and remove the lines with the marks"},
	} {
		_, problems, found, err := configfile.Read(fstest.MapFS{"gavel.yaml": tt.file}, "gavel.yaml", nil)
		if err != nil || !found || len(problems) != 1 || problems[0].String() != tt.want {
			t.Errorf("%s: found %v, %v, problems %v, want %s", tt.name, found, err, problems, tt.want)
		}
	}
}
