// Command gavel reruns the agent tests that a change can have affected and
// reports their verdicts.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/schema/cuefile"
)

func main() {
	if sandbox.ServeChild() || sqlexec.ServeChild() || cuefile.ServeChild() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
