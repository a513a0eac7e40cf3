package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPython: python3 is started where python is missing, as on Debian.
func TestPython(t *testing.T) {
	both, long, none := t.TempDir(), t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(both, "python"), filepath.Join(both, "python3"), filepath.Join(long, "python3")} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, path, want, problem string }{
		{"python", both, filepath.Join(both, "python"), ""},
		{"python", long, filepath.Join(long, "python3"), ""},
		{"python", none, "", "no program python in " + none},
		{"python2", long, "", "no program python2 in " + long},
	} {
		got, err := lookUp(tt.name, "/", tt.path)
		if got != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s in %s is %q (%v), want %q %q", tt.name, tt.path, got, err, tt.want, tt.problem)
		}
	}
}
