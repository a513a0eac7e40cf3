// Command gavel reruns the agent tests that a change can have affected and
// reports their verdicts.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gavel-evals/gavel/cmd/internal/collector"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/controller/serve/trial"
	"github.com/gavel-evals/gavel/schema/cuefile"
)

func main() {
	if served() {
		return
	}
	if os.Getenv("GOGC") == "" {
		collector.Pace()
	}
	os.Exit(Main(signalled(), os.Args[1:]))
}

// served reports whether this process was started by a part of gavel as its child,
// and has done what it was started for.
func served() bool {
	return sandbox.ServeChild() || sqlexec.ServeChild() || cuefile.ServeChild() || trial.ServeChild(trial.Examine)
}

// signalled is a context that the first interrupt or SIGTERM ends, so that what
// is under way is put in order. The second ends the process.
func signalled() context.Context {
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
