package main

import (
	"strings"
	"testing"
)

// TestMatrixExample runs the example: assertions in JavaScript and with variables,
// a prompt from a file, and a chat.
func TestMatrixExample(t *testing.T) {
	dir := example(t, "matrix")
	stdout, stderr, code := gavel(t, dir, "run")
	if code != 1 {
		t.Errorf("gavel run ends with %d, want 1\n%s", code, stderr)
	}
	for _, want := range []string{
		"promptfooconfig#switzerland-as-json/plain  0.33", "promptfooconfig#australia/json             0.50",
		"6 cases: 3 passed, 3 failed · 6 run", "tag europe  1.00  2 cases: 2 pass",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output does not have %q:\n%s", want, stdout)
		}
	}
}
