//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hiddenTree has files to be hidden next to others, in a folder whose name the
// options of a mount have to quote.
func hiddenTree(t *testing.T) (string, Hidden) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), `a,b:c\d e`)
	for _, tt := range []struct{ name, text string }{
		{".env", "KEY=secret"}, {".git/config", "secret"}, {"modules/one/f", "secret"}, {"modules/two/f", "given"}, {"src/a", "a"}, {"src/b.log", "secret"}, {"plain/f", "f"},
		{"venv/bin/tool", "#!/bin/sh\n"},
	} {
		file := filepath.Join(tree, tt.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(tt.text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("../.env", filepath.Join(tree, "src/link")), os.Symlink("plain", filepath.Join(tree, "way"))); err != nil {
		t.Fatal(err)
	}
	return tree, Hidden{Names: []string{".env", ".git", "gone/long/ago", "modules/one", "src/b.log", "venv"}, Hint: "ask for them"}
}

// TestAbuseHiddenFiles reads hidden and visible files, with mounts and with Landlock.
func TestAbuseHiddenFiles(t *testing.T) {
	for name, box := range boxes(t) {
		t.Run(name, func(t *testing.T) {
			tree, hidden := hiddenTree(t)
			run := func(box *Box, script string) string {
				out, err := box.Run(t.Context(), Program{Argv: []string{"sh", "-c", script}, Tree: tree})
				if err != nil {
					t.Error(err)
				}
				return string(out)
			}
			const read = `for f in .env .git/config modules/one/f src/b.log src/link; do cat $f 2>/dev/null; done; `
			if said := run(box, read); strings.Count(said, "secret") != 5 {
				t.Errorf("with nothing hidden, it reads %q", said)
			}
			box := box.Hiding(hidden)
			script := read + `cat modules/two/f src/a plain/f way/f; ls src >/dev/null && (cd plain && ls); [ -e .env ] && echo there; echo x >"$HOME/x" && cat "$HOME/x"; ls -d "$HOME"/*`
			said := run(box, script)
			want := "givenaff" + "f\n"
			if name != "isolated" {
				want += "there\n" // only reading it is refused
			}
			if !strings.HasPrefix(said, want+"x\n") || strings.Count(said, "/") != strings.Count(box.policy.Scratch, "/")+2 {
				t.Errorf("it says %q, want %q and its own file", said, want)
			}
			if data, err := os.ReadFile(filepath.Join(tree, ".env")); err != nil || string(data) != "KEY=secret" {
				t.Errorf("afterwards the file is %q, %v", data, err)
			}
		})
	}
}

// TestHiddenFilesGivenToo hides files in a tree that is in a folder that may be
// read.
func TestHiddenFilesGivenToo(t *testing.T) {
	for name, box := range boxes(t) {
		tree, hidden := hiddenTree(t)
		box := box.Hiding(hidden)
		box.policy.Read = []string{filepath.Dir(tree), filepath.Join(tree, "nowhere")}
		out, err := box.Run(t.Context(), Program{Argv: []string{"sh", "-c", `cat .env "$PWD/.env"; cat src/a`}, Tree: tree})
		if err != nil || string(out) != "a" {
			t.Errorf("%s: %q, %v, want \"a\"", name, out, err)
		}
	}
}

// TestHiddenFilesAreNamed tells why a program fails: files are hidden.
func TestHiddenFilesAreNamed(t *testing.T) {
	tree, hidden := hiddenTree(t)
	box := isolated(t).Hiding(hidden)
	for _, tt := range []struct{ program, want string }{
		{"cat .env", "cat: exit status 1: cat: .env: No such file or directory; ask for them"},
		{"venv/bin/tool", tree + "/venv/bin/tool is hidden from programs in the sandbox; ask for them"},
	} {
		_, err := box.Run(t.Context(), Program{Argv: strings.Fields(tt.program), Tree: tree})
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.program, err, tt.want)
		}
	}
	off := Box{mode: Off}
	if out, err := off.Hiding(hidden).Run(t.Context(), Program{Argv: []string{"cat", ".env"}, Tree: tree}); err != nil || string(out) != "KEY=secret" {
		t.Errorf("off: %q, %v", out, err)
	}
}

// TestCoverable finds the trees that a mount would take something from.
func TestCoverable(t *testing.T) {
	for _, tt := range []struct {
		tree, scratch string
		want          bool
	}{{"/", "/tmp/x", false}, {t.TempDir(), "/nowhere/x", true}, {"/nowhere", "/nowhere/x", false}} {
		if got := coverable(tt.tree, tt.scratch); got != tt.want {
			t.Errorf("coverable(%s, %s) = %v", tt.tree, tt.scratch, got)
		}
	}
}

// TestAccessTellsTheTruth: access(2) answers a program of root as open(2) does, also in a
// folder that only root may enter.
func TestAccessTellsTheTruth(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("the shell does not call access(2), and python3 is not installed")
	}
	for name, box := range boxes(t) {
		t.Run(name, func(t *testing.T) {
			tree := filepath.Join(t.TempDir(), "own")
			if err := errors.Join(os.Mkdir(tree, 0o700), os.WriteFile(filepath.Join(tree, "f"), []byte("f"), 0o600)); err != nil {
				t.Fatal(err)
			}
			out, err := box.Run(t.Context(), Program{Argv: []string{"python3", "-c", "import os; print(open('f').read(), os.access('f', os.R_OK))"}, Tree: tree})
			if err != nil || string(out) != "f True\n" {
				t.Errorf("the program says %q, %v; want that it can read the file", out, err)
			}
		})
	}
}
