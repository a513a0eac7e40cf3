//go:build unix

package target

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gavel-evals/gavel/controller/config"
)

// TestCommandEndsItsChildren starts children that would live for an hour and
// hold a pipe open: reading it comes to an end only when they are killed.
func TestCommandEndsItsChildren(t *testing.T) {
	tests := []struct {
		name, script string
		cancel       bool
	}{
		{"after the program ended", `sleep 3600 >fifo & echo done`, false},
		{"that hold stdout", `sleep 3600 3>fifo & echo done`, false},
		{"when the call is cancelled", `sleep 3600 >fifo & wait`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			target := openTest(t, config.Target{Provider: "command", Argv: []string{"sh", "-c", tt.script}},
				Env{Dir: dir, Programs: unboxed(t, t.TempDir())})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := target.Respond(ctx, user("Hello"))
				ended <- err
			}()
			// Opening waits for the child, which opens the other end.
			pipe, err := os.Open(filepath.Join(dir, "fifo"))
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			if tt.cancel {
				cancel()
			}
			if err := <-ended; (err != nil) != tt.cancel {
				t.Errorf("got error %v", err)
			}
			if _, err := io.ReadAll(pipe); err != nil {
				t.Error(err)
			}
		})
	}
}
