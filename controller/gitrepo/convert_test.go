package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-evals/gavel/controller/gitrepo/gittest"
)

// TestChangedAsGitAdds compares the changed files with what git adds, for each place that may
// say how line ends are stored: of files written after git's index, and of ones that were
// committed before the place said so. git reads these only if its index is not newer.
func TestChangedAsGitAdds(t *testing.T) {
	unix, dos, mixed := "one\ntwo\n", "one\r\ntwo\r\n", "one\ntwo\r\n"
	// name: committed and in the working tree
	contents := map[string][2]string{
		"same.txt":      {unix, unix},
		"dos.txt":       {unix, dos},
		"mixed.txt":     {unix, mixed},
		"edited.txt":    {unix, "one\r\nthree\r\n"},
		"wasdos.txt":    {dos, dos},
		"wasdos2.txt":   {dos, unix},
		"lone.txt":      {"one\ntwo\rthree\n", "one\r\ntwo\rthree\r\n"},
		"zero.txt":      {"one\x00\ntwo\n", "one\x00\r\ntwo\r\n"},
		"control.txt":   {"\x01\x02\x03\n", "\x01\x02\x03\r\n"},
		"dosend.txt":    {"one\n\x1a", "one\r\n\x1a"},
		"double.txt":    {"one\r\ntwo\n", "one\r\r\ntwo\r\n"},
		"a/b/deep.txt":  {unix, dos},
		"a/data.json":   {unix, dos},
		"data.json":     {unix, dos},
		"a/b/c/deep.md": {unix, dos},
		"new.txt":       {"", dos},
	}
	for _, tt := range []struct {
		name                        string
		system, global, xdg, local  string
		attributes, deep, info, own string // of the root, of a/b, of the clone, of the user
		env                         map[string]string
	}{
		{name: "nothing"},
		{name: "system true", system: "true"},
		{name: "system input", system: "input"},
		{name: "global true", global: "true"},
		{name: "global input", global: "Input"},
		{name: "global yes", global: "yes"},
		{name: "global 0", global: "0"},
		{name: "xdg true", xdg: "true"},
		{name: "global over xdg", xdg: "true", global: "false"},
		{name: "global over system", system: "true", global: "false"},
		{name: "local over global", global: "true", local: "false"},
		{name: "local true over global", global: "false", local: "true"},
		{name: "no system", system: "true", env: map[string]string{"GIT_CONFIG_NOSYSTEM": "1"}},
		{name: "text", attributes: "*.txt text\n"},
		{name: "auto", attributes: "* text=auto\n"},
		{name: "crlf as text", attributes: "*.txt crlf\n*.md crlf=input\n*.json -crlf\n"},
		{name: "auto with an end", attributes: "* text=auto eol=crlf\n*.md eol=lf\n"},
		{name: "eol alone", attributes: "*.txt eol=crlf\n*.json eol=lf\n"},
		{name: "unset under autocrlf", global: "true", attributes: "*.txt -text\n"},
		{name: "unspecified under autocrlf", global: "true", attributes: "* -text\n*.txt !text\n"},
		{name: "binary under autocrlf", global: "true", attributes: "*.txt binary\n"},
		{name: "macro", attributes: "[attr]words text eol=lf\n*.txt words\n*.json words -text\n"},
		{name: "deeper wins", attributes: "* -text\n", deep: "*.txt text\n"},
		{name: "clone wins", attributes: "* text\n", deep: "* text\n", info: "* -text\n"},
		{name: "of the user", own: "* text\n"},
		{name: "of the user, loses", own: "* text\n", attributes: "*.txt -text\n"},
		{name: "paths", attributes: "/data.json text\na/**/deep.* text\n"},
		{name: "pattern with a class", attributes: "[!d]*.txt text\n\"data.json\" text\na/b/ text\n"},
		{name: "a comment and an unknown value", attributes: "# * text\n*.txt text=perhaps\n", global: "true"},
	} {
		for _, files := range []string{"touched", "not touched", "older than the index"} {
			t.Run(tt.name+", "+files, func(t *testing.T) {
				touched := files == "touched"
				home := t.TempDir()
				t.Setenv("HOME", home)
				t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
				t.Setenv("GIT_CONFIG_SYSTEM", filepath.Join(home, "system"))
				for name, value := range tt.env {
					t.Setenv(name, value)
				}
				dir := t.TempDir()
				gittest.Run(t, dir, "init", "-q", "-b", "main")
				gittest.Run(t, dir, "config", "user.name", "Ada")
				gittest.Run(t, dir, "config", "user.email", "ada@example.com")
				committed, working := map[string]string{}, map[string]string{}
				for name, text := range contents {
					if text[0] != "" {
						committed[name] = text[0]
					}
					working[name] = text[1]
				}
				put(t, dir, committed)
				gittest.Run(t, dir, "add", ".")
				gittest.Run(t, dir, "commit", "-qm", "first")
				commit := gittest.Resolve(t, dir, "HEAD")
				config := func(value string) string { return "[user]\n\tname = Ada\n[core]\n\tautocrlf = " + value + "\n" }
				for name, value := range map[string]string{"system": tt.system, ".gitconfig": tt.global, "xdg/git/config": tt.xdg} {
					if value != "" {
						put(t, home, map[string]string{name: config(value)})
					}
				}
				if tt.local != "" {
					gittest.Run(t, dir, "config", "core.autocrlf", tt.local)
				}
				for name, text := range map[string]string{".gitattributes": tt.attributes, "a/b/.gitattributes": tt.deep, ".git/info/attributes": tt.info} {
					if text != "" {
						put(t, dir, map[string]string{name: text})
					}
				}
				if tt.own != "" {
					put(t, home, map[string]string{"xdg/git/attributes": tt.own})
				}
				if touched {
					put(t, dir, working)
				}
				setTime := func(name string, since time.Duration) {
					at := time.Now().Add(since)
					if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
						t.Fatal(err)
					}
				}
				switch files {
				case "touched":
					for name := range working {
						setTime(name, 2*time.Second) // git has not seen it
					}
				case "not touched":
					setTime(".git/index", -time.Hour)
				default:
					setTime(".git/index", time.Hour)
				}
				r, err := Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				got, err := r.ChangedWork(t.Context(), commit, []string{"."})
				if err != nil {
					t.Fatal(err)
				}
				found, err := r.DifferencesAt(t.Context(), commit, []string{"."})
				if err != nil {
					t.Fatal(err)
				}
				// Without git add, the status takes a file for changed whose size is another one.
				ownGit(t, dir, "add", "-A")
				want := strings.Fields(ownGit(t, dir, "diff", "--cached", "--name-only", "--no-renames"))
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("changed:\n%s\ngit adds:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				// It reads every file, whatever git's index says.
				if files != "older than the index" && len(found) != len(want) {
					t.Errorf("DifferencesAt has %d files, want %d", len(found), len(want))
				}
			})
		}
	}
}

// ownGit runs git with the test's configuration.
func ownGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stderr = dir, t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}
