package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPython: python3 is started where python is missing, as on Debian, for a command, a
// script whose first line names it, and one that gives it arguments.
func TestPython(t *testing.T) {
	box, err := Open(t.Context(), Policy{Accept: Off, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	both, long, none, tree := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(both, "python"), filepath.Join(both, "python3"), filepath.Join(long, "python3")} {
		writeProgram(t, file, "#!/bin/sh\n")
	}
	writeProgram(t, filepath.Join(tree, "env.py"), "#!/usr/bin/env python\n")
	writeProgram(t, filepath.Join(tree, "unbuffered.py"), "#!/usr/bin/env -S python -u\n")
	writeProgram(t, filepath.Join(tree, "old.py"), "#!/usr/local/bin/python\n")
	writeProgram(t, filepath.Join(tree, "two.py"), "#!/usr/bin/env python2\n")
	script := func(name string) string { return filepath.Join(tree, name) }
	for _, tt := range []struct{ argv, path, file, args, problem string }{
		{"python x.py", both, filepath.Join(both, "python"), "python x.py", ""},
		{"python x.py", long, filepath.Join(long, "python3"), "python x.py", ""},
		{"python x.py", none, "", "", "no program python in " + none},
		{"python2 x.py", long, "", "", "no program python2 in " + long},
		{"./env.py a", both, script("env.py"), "./env.py a", ""},
		{"./env.py a", long, filepath.Join(long, "python3"), "python3 " + script("env.py") + " a", ""},
		{"./unbuffered.py a", long, filepath.Join(long, "python3"), "python3 -u " + script("unbuffered.py") + " a", ""},
		{"./old.py", long, filepath.Join(long, "python3"), "python3 " + script("old.py"), ""},
		{".venv/bin/python x.py", long, "", "", ".venv/bin/python is not there"},
		{"./env.py", none, "", "", "no program python"},
		{"./two.py", long, "", "", "no program python2 in " + long},
	} {
		if _, err := os.Stat("/usr/local/bin/python"); err == nil && tt.argv == "./old.py" {
			continue
		}
		file, args, err := box.find(Program{Argv: strings.Fields(tt.argv), Tree: tree, Dir: tree, Env: []string{"PATH=" + tt.path}})
		if file != tt.file || strings.Join(args, " ") != tt.args || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s in %s is %q %q (%v), want %q %q %q", tt.argv, tt.path, file, args, err, tt.file, tt.args, tt.problem)
		}
	}
}

func writeProgram(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
