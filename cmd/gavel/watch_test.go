package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// await waits until a file, which a command in the background writes, matches
// a pattern: await FILE PATTERN.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await file pattern")
	}
	pattern := regexp.MustCompile("(?m)" + args[1])
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		text := ts.ReadFile(args[0])
		if pattern.MatchString(text) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%s never matched %q:\n%s", args[0], args[1], text)
		case <-tick.C:
		}
	}
}

// TestEditor holds how editors are told the place.
func TestEditor(t *testing.T) {
	for _, tt := range []struct {
		visual, editor string
		want           []string
	}{
		{"", "vim", []string{"vim", "+7", "a.json"}},
		{"nano -w", "vim", []string{"nano", "-w", "+7", "a.json"}},
		{"", "code --wait", []string{"code", "--wait", "--goto", "a.json:7"}},
		{"", "code -w -g", []string{"code", "-w", "-g", "a.json:7"}},
		{"", "/usr/bin/hx", []string{"/usr/bin/hx", "a.json:7"}},
	} {
		a := &app{lookupEnv: func(name string) (string, bool) {
			v := map[string]string{"VISUAL": tt.visual, "EDITOR": tt.editor}[name]
			return v, v != ""
		}}
		program, err := a.editor(t.Context(), "a.json", 7)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, program.(editing).Args); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.visual+tt.editor, diff)
		}
	}
	a := &app{lookupEnv: func(string) (string, bool) { return "", false }}
	if _, err := a.editor(t.Context(), "a.json", 7); err == nil || !strings.Contains(err.Error(), "EDITOR") {
		t.Errorf("without an editor: %v", err)
	}
}
