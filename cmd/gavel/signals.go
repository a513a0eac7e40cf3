package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signalContext returns a context that ends at the first interrupt or SIGTERM, so that
// the command can clean up. The second one ends the process.
func signalContext() context.Context {
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
