// Command gavel reruns the agent tests that a change can have affected and
// reports their verdicts.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/schema/cuefile"
)

func main() {
	if sandbox.ServeChild() || sqlexec.ServeChild() || cuefile.ServeChild() {
		return
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // most commands end soon: less collecting for half as much memory again
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
