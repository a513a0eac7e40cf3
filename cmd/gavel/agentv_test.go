package main

import (
	"strings"
	"testing"
)

// TestAgentVExample runs the example: a suite as AgentV 5 writes it.
func TestAgentVExample(t *testing.T) {
	dir := example(t, "agentv")
	stdout, stderr, code := gavel(t, dir, "run", "--verbose")
	if code != exitPass {
		t.Errorf("gavel run ends with %d, want %d\n%s", code, exitPass, stderr)
	}
	for _, want := range []string{"support.eval#return-window", "support.eval#order-state", "support.eval#refund-unpaid", "3 cases: 3 passed, 0 failed"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output does not have %q:\n%s", want, stdout)
		}
	}
}
