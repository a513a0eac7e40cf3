package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEditor holds how editors receive the place.
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
		lookup := func(name string) (string, bool) {
			v := map[string]string{"VISUAL": tt.visual, "EDITOR": tt.editor}[name]
			return v, v != ""
		}
		opened, err := openEditor(t.Context(), lookup, "a.json", 7)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, opened.(editorProgram).Args); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.visual+tt.editor, diff)
		}
	}
	none := func(string) (string, bool) { return "", false }
	if _, err := openEditor(t.Context(), none, "a.json", 7); err == nil || !strings.Contains(err.Error(), "EDITOR") {
		t.Errorf("without an editor: %v", err)
	}
}
