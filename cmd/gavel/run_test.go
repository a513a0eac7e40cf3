package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnInterruptedRun reports, and keeps its answers; the next one asks for the rest.
func TestAnInterruptedRun(t *testing.T) {
	p := newProject(t)
	run := func() (text string, code int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p.mu.Lock()
		p.cancel = cancel
		p.mu.Unlock()
		var out bytes.Buffer
		a := &App{Stdout: &out, Stderr: &out, LookupEnv: func(string) (string, bool) { return "", false }, Dir: p.folder}
		code = execute(ctx, a, []string{"run"})
		return out.String(), code
	}
	p.patience = 1
	text, code := run()
	if asked := p.calls(); code != exitInterrupted || len(asked) != 2 || !strings.Contains(text, "gate undetermined") {
		t.Errorf("exit code %d after %q:\n%s", code, asked, text)
	}

	p.patience = 0
	text, code = run()
	if asked := p.calls(); code != exitPass || len(asked) != 1 || !strings.Contains(text, "2 cases: 2 passed") {
		t.Errorf("exit code %d after %q:\n%s", code, asked, text)
	}
	_, code = run()
	if diff := cmp.Diff([]string(nil), p.calls()); diff != "" || code != exitPass {
		t.Errorf("exit code %d (-want +got):\n%s", code, diff)
	}
}
