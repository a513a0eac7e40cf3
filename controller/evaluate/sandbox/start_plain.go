package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"time"
)

// drain bounds the wait for output of the program's children after it ended.
const drain = 500 * time.Millisecond

// startPlain runs the program without restrictions, in its own process group.
func startPlain(ctx context.Context, r *runningProgram) string {
	cmd := exec.CommandContext(ctx, r.file, r.Argv[1:]...)
	cmd.Dir, cmd.Env = r.Dir, r.Env
	cmd.Stdin = bytes.NewReader(r.Stdin)
	cmd.Stdout, cmd.Stderr = r.outputs()
	cmd.WaitDelay = drain
	ownGroup(cmd)
	err := cmd.Start()
	if err == nil {
		watched, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w := watcher{runningProgram: r, load: func() (int64, int) { return 0, 0 }, held: func() int64 { return 0 }}
			w.watch(watched)
		}()
		err = cmd.Wait()
		endGroup(cmd)
		stop()
		<-done
	}
	// A child that keeps stdout open does not spoil the output.
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return ""
	}
	return err.Error()
}
