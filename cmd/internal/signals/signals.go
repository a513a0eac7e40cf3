// Package signals ends a command in order.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that the first interrupt or SIGTERM ends, so that the
// command puts in order what is running. The second ends the process.
func Context() context.Context {
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-first
		signal.Stop(first)
		cancel()
	}()
	return ctx
}
