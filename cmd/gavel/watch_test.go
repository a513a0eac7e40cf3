package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

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

// program is gavel with arguments, which is not started yet.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = append([]string{"gavel"}, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "CI=")
	return cmd
}
