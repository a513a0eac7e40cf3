package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if ServeChild() || serveAttack() {
		return
	}
	os.Exit(m.Run())
}

// isolated opens a sandbox that keeps programs from everything. If none is available
// the test is skipped, except when everything is checked, or the kernel supports it.
func isolated(t *testing.T) *Box {
	t.Helper()
	box, err := Open(t.Context(), Policy{Scratch: t.TempDir()})
	var unavailable *Unavailable
	if errors.As(err, &unavailable) && os.Getenv("CI") == "" && !kernelIsolates() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// shell runs a script in a tree of its own.
func shell(ctx context.Context, t *testing.T, box *Box, script string, limits Limits) (string, error) {
	t.Helper()
	out, err := box.Run(ctx, Program{Argv: []string{"sh", "-c", script}, Tree: t.TempDir(), Limits: limits})
	return string(out), err
}

func TestRun(t *testing.T) {
	t.Setenv("GAVEL_TEST_SECRET", "must not be seen")
	box := isolated(t)
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "data"), []byte("42"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := `read line; echo "$line $(cat data) $GAVEL_TEST_SECRET$NAMED"; echo x > "$HOME/f" && cat "$TMPDIR/f"; echo $PATH`
	out, err := box.Run(t.Context(), Program{
		Argv: []string{"sh", "-c", script}, Tree: tree, Stdin: []byte("hello\n"), Env: []string{"NAMED=n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("hello 42 n\nx\n"+minimalPath+"\n", string(out)); diff != "" {
		t.Error(diff)
	}
	left, err := os.ReadDir(box.policy.Scratch)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v in the scratch folder (%v)", left, err)
	}
}

func TestFailures(t *testing.T) {
	box := isolated(t)
	for _, tt := range []struct{ name, script, want string }{
		{"exit", `echo broken >&2; exit 3`, "sh: exit status 3: broken"},
		{"silent exit", `exit 4`, "sh: exit status 4: nothing on stderr"},
		{"signal", `kill -9 $$`, "sh: signal: killed: nothing on stderr"},
		{"other signal", `kill -TERM $$; sleep 60`, "sh: signal: terminated"},
		{"control characters", `printf 'a\033[2Jb\n\377c' >&2; exit 1`, "a [2Jb \uFFFDc"},
		{"much on stderr", `i=0; while [ $i -lt 3000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`, "line 2999"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := shell(t.Context(), t, box, tt.script, Limits{})
			var failure *Failure
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// TestFind names the missing means before anything is started.
func TestFind(t *testing.T) {
	outside, elsewhere := t.TempDir(), t.TempDir()
	tree := t.TempDir()
	for _, tt := range []struct{ name, text string }{
		{tree + "/plain", ""}, {tree + "/sh", "#!/bin/sh\n"}, {tree + "/env", "#!/usr/bin/env sh\n"}, {tree + "/split", "#!/usr/bin/env -S A=1 sh -e\n"},
		{tree + "/gone", "#!/no/such/python -u\n"}, {tree + "/unknown", "#!/usr/bin/env no-such-python\n"},
		{tree + "/far", "#!" + outside + "/tool\n"}, {outside + "/tool", ""}, {elsewhere + "/tool", ""},
	} {
		if err := os.WriteFile(tt.name, []byte(tt.text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(tree+"/data", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside+"/tool", tree+"/link"); err != nil {
		t.Fatal(err)
	}
	box := &Box{mode: Isolated, policy: Policy{Path: []string{elsewhere}}}
	for _, tt := range []struct{ program, want, problem string }{
		{"./plain", tree + "/plain", ""},
		{"./sh", tree + "/sh", ""},
		{"./env", tree + "/env", ""},
		{"./split", tree + "/split", ""},
		{"tool", elsewhere + "/tool", ""},
		{"plain", "", "no program plain in " + elsewhere + ":" + minimalPath},
		{"./data", "", "./data is not there or cannot be executed"},
		{"./gone", "", "the interpreter of ./gone: /no/such/python is not there"},
		{"./unknown", "", "the interpreter of ./unknown: no program no-such-python in"},
		{"./far", "", "the interpreter of ./far: " + outside + "/tool is outside of the folders"},
		{outside + "/tool", "", "the operator may add " + outside},
		{"./link", "", outside + "/tool is outside of the folders"},
		{"", "", "argv is empty"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			p, err := box.complete(Program{Argv: []string{tt.program}, Tree: tree})
			found := ""
			if err == nil {
				found, _, err = box.find(p)
			}
			if found != tt.want || tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("got %q, %v", found, err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		policy Policy
		want   string
	}{
		{Policy{Accept: "isolate"}, "did you mean `isolated`?"},
		{Policy{Read: []string{"relative"}}, `the folder "relative" is not absolute`},
	} {
		if _, err := Open(t.Context(), tt.policy); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(%v) = %v, want %s", tt.policy, err, tt.want)
		}
	}
	off, err := Open(t.Context(), Policy{Accept: Off})
	if err != nil || off.Mode() != Off {
		t.Errorf("Open = %v, %v", off, err)
	}
}

// TestOff has only an environment, a folder and limits of its own.
func TestOff(t *testing.T) {
	t.Setenv("GAVEL_TEST_SECRET", "must not be seen")
	box, err := Open(t.Context(), Policy{Accept: Off, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	out, err := box.Run(t.Context(), Program{
		Argv: []string{"sh", "-c", `pwd; echo "$HOME" "$TMPDIR" "$GAVEL_TEST_SECRET"; chmod 0 "$HOME"`}, Tree: tree,
	})
	home := box.policy.Scratch + "/gavel-scratch-"
	if said := string(out); err != nil || !strings.HasPrefix(said, tree+"\n"+home) || strings.Contains(said, "must not") {
		t.Errorf("got %s, %v", out, err)
	}
	if left, err := os.ReadDir(box.policy.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left %v in the scratch folder (%v)", left, err)
	}
	if _, err := shell(t.Context(), t, box, "yes", Limits{Output: 1 << 20}); err == nil || !strings.Contains(err.Error(), "stdout is longer than 1 MiB") {
		t.Errorf("error %v, want too much output", err)
	}
}

// TestUntil: a program is ended with the line after which nobody needs more, whatever it
// would do then, and that is a success. A last line without its end is not shown.
func TestUntil(t *testing.T) {
	off, err := Open(t.Context(), Policy{Accept: Off, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, box := range []*Box{isolated(t), off} {
		for script, want := range map[string]string{
			"echo a; echo b; echo c; sleep 60":           "a\nb\n",
			"echo a; echo b; exit 3":                     "a\nb\n",
			"printf 'a\\nb\\nc\\nd'; sleep 60":           "a\nb\n",
			"echo a; printf b":                           "a\nb",
			"printf a; sleep .1; echo; echo b; sleep 60": "a\nb\n",
		} {
			seen := ""
			out, err := box.Run(t.Context(), Program{Argv: []string{"sh", "-c", script}, Tree: t.TempDir(), Until: func(line []byte) bool {
				seen += string(line)
				return string(line) == "b\n"
			}})
			if err != nil || string(out) != want || seen != strings.TrimSuffix(want, "\nb")+map[bool]string{true: "\n"}[want == "a\nb"] {
				t.Errorf("%s prints %q, was shown as %q, %v", script, out, seen, err)
			}
		}
	}
}
