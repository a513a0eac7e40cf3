package command_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/command"
	"github.com/gavel-evals/gavel/schema/document"
)

// files are the files of a repository with one program above the suite.
func files(names ...string) fstest.MapFS {
	out := fstest.MapFS{"a/b/suite.yaml": {}}
	for _, name := range names {
		out[name] = &fstest.MapFile{Data: []byte(name)}
	}
	return out
}

// read returns the files of a command that runs in a/b.
func read(files fstest.MapFS, shell bool, argv ...string) command.Program {
	r := command.Reader{Source: document.Source{FS: files}}
	return r.Program(command.Line{Argv: argv, Shell: shell, Dir: "a/b", At: func(word int) schema.Position {
		return schema.Position{File: "a/b/suite.yaml", Line: 1, Column: word + 1}
	}})
}

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		shell bool
		argv  []string
		// want is the command as it is run, the files that it is made of, and the
		// places that were looked at in vain.
		want, made, absent string
		problem            string
	}{
		{"next to the suite", files("a/b/j.py", "a/b/lib.py", "a/b/x.txt"), false, []string{"python", "j.py"}, "python j.py", "a/b/j.py a/b/lib.py a/b/x.txt", "", ""},
		{"in a folder", files("a/b/c/j.py"), false, []string{"python", "./c/j.py"}, "python ./c/j.py", "a/b/c/j.py", "", ""},
		{"from a folder above", files("a/j.py"), false, []string{"python", "../j.py"}, "python ../j.py", "a/j.py", "", ""},
		{"found above", files("j.py"), false, []string{"python", "j.py"}, "python ../../j.py", "j.py", "a/b/j.py a/j.py", "1:2: warning: j.py is not in the folder that the program runs in; j.py is taken; write ../../j.py"},
		{"found above that folder", files("judges/j.py"), false, []string{"python", "../judges/j.py"}, "python ../../judges/j.py", "judges/j.py", "a/judges/j.py", "1:2: warning: ../judges/j.py is not in the folder that the program runs in; judges/j.py is taken; write ../../judges/j.py"},
		{"of a text", files("a/b/j.py"), true, []string{"python j.py | cat"}, "sh -c python j.py | cat", "a/b/j.py", "", ""},
		{"missing", files("a/b/judge.py"), false, []string{"python", "judg.py"}, "python judg.py", "", "a/b/judg.py a/judg.py judg.py", "1:2: error: the file a/b/judg.py does not exist; did you mean `judge.py`?"},
		{"outside", files(), false, []string{"../../../j.py"}, "../../../j.py", "", "", "1:1: error: the path \"../../../j.py\" leaves the repository; name a file inside it"},
		{"a module", files("a/b/judges/j.py", "a/b/judges/lib.py", "a/b/other.py"), false, []string{"python", "-m", "judges.j"}, "python -m judges.j", "a/b/judges/j.py a/b/judges/lib.py", "", ""},
		{"data", files("a/b/j.py", "rules/r.json", "rules/s.json"), false, []string{"python", "j.py", "../../rules/r.json"}, "python j.py ../../rules/r.json", "a/b/j.py rules/r.json", "", ""},
		{"a folder", files("a/b/j.py", "rules/r.json", "rules/more/s.json"), false, []string{"python", "j.py", "../../rules/"}, "python j.py ../../rules/", "a/b/j.py rules/more/s.json rules/r.json", "", ""},
		{"a folder below", files("a/b/c/d/x.txt"), false, []string{"cat", "c/d", "c"}, "cat c/d c", "a/b/c/d/x.txt", "", ""},
		{"a folder of a text", files("a/b/c/x.txt"), true, []string{"ls ./c"}, "sh -c ls ./c", "a/b/c/x.txt", "", ""},
		{"the whole repository", files("a/b/j.py", "x.txt"), false, []string{"ls", "../../"}, "ls ../../", "", "", ""},
		{"a folder as the program", files("a/b/c/x.txt"), false, []string{"./c"}, "./c", "", "", "1:1: error: a/b/c cannot be read: not a regular file; symlinks and submodules are not followed; name a plain file of the repository"},
		{"what it writes", files("a/b/j.py"), false, []string{"python", "j.py", "./report.json", "--out", "../made"}, "python j.py ./report.json --out ../made", "a/b/j.py", "a/b/report.json a/report.json report.json a/made made", ""},
		{"a program that is missing", files(), false, []string{"./made"}, "./made", "", "a/b/made a/made made", "1:1: error: the file a/b/made does not exist; add it or correct the path"},
		{"in the workspace", files(), false, []string{"sh", "{{workspace_path}}/setup.sh"}, "sh {{workspace_path}}/setup.sh", "", "", ""},
		{"in the root", files("j.py", "k.py", "x.txt", "lib/l.py"), false, []string{"python", "../../j.py"}, "python ../../j.py", "j.py k.py", "", ""},
		{"options", files("a/b/-m"), false, []string{"python", "-m", "judge", "/usr/lib/j.py", ".."}, "python -m judge /usr/lib/j.py ..", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := read(tt.files, tt.shell, tt.argv...)
			var made, absent, problems []string
			for _, name := range got.Built.Paths() {
				if made = append(made, name); name == "a/b/suite.yaml" {
					made = made[:len(made)-1] // which the loader knows as a definition
				}
			}
			for _, in := range got.Inputs {
				if in.Absent {
					absent = append(absent, in.File)
				}
			}
			for _, p := range got.Problems {
				problems = append(problems, strings.TrimPrefix(p.String(), "a/b/suite.yaml:"))
			}
			want := []string{tt.want, tt.made, tt.absent, tt.problem}
			if diff := cmp.Diff(want, []string{strings.Join(got.Argv, " "), strings.Join(made, " "), strings.Join(absent, " "), strings.Join(problems, "; ")}); diff != "" {
				t.Errorf("command, files, absent and problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestManyFilesAroundAProgram count all, since it may load each.
func TestManyFilesAroundAProgram(t *testing.T) {
	all := files("a/b/j.py")
	for i := range 300 {
		all[fmt.Sprintf("a/b/deep/m%d.py", i)] = &fstest.MapFile{}
	}
	got := read(all, false, "python", "j.py")
	if len(got.Built.Files) != 302 || len(got.Problems) > 0 {
		t.Errorf("%d files and the problems %v, want the program with 301 others", len(got.Built.Files), got.Problems)
	}
}

func TestFolder(t *testing.T) {
	r := command.Reader{Source: document.Source{FS: files("judges/j.py")}}
	for _, tt := range []struct{ cwd, want string }{
		{"", "a/b"}, {"..", "a"}, {"../../judges", "judges"}, {"/judges", "judges"}, {"/", "."},
		{"../../..", "path-escapes"}, {"nowhere", "missing-file"}, {`..\b`, "path-backslash"}, {"/judges/j.py", "missing-file"}, {"a\x00", "path-escapes"},
	} {
		got, problem := r.Folder("a/b/suite.yaml", tt.cwd)
		if problem != nil {
			got = problem.Rule
		}
		if got != tt.want {
			t.Errorf("%q is %s, want %s", tt.cwd, got, tt.want)
		}
	}
}

// TestFolderAbove finds a folder from the folders above the suite, the nearest first.
func TestFolderAbove(t *testing.T) {
	r := command.Reader{Source: document.Source{FS: files("judges/j.py", "a/near/j.py", "near/j.py")}}
	for _, tt := range []struct{ cwd, want string }{
		{"", "a/b"}, {"./judges", "judges"}, {"a/b", "a/b"}, {"near", "a/near"}, {"../judges", "judges"}, {"../../..", "path-escapes"}, {"nowhere", "missing-file"}, {`..\b`, "path-backslash"},
	} {
		got, problem := r.FolderAbove("a/b/suite.yaml", tt.cwd)
		if problem != nil {
			got = problem.Rule
		}
		if got != tt.want {
			t.Errorf("%q is %s, want %s", tt.cwd, got, tt.want)
		}
	}
}
