// Command gavel reruns the agent tests that a change can have affected and
// reports their verdicts.
package main

import (
	"os"

	"github.com/gavel-evals/gavel/cmd/internal/collector"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/controller/serve/crashguard"
	"github.com/gavel-evals/gavel/schema/cuefile/cueeval"
	"github.com/gavel-evals/gavel/schema/javascript/interpreter"
)

func main() {
	collector.Resume()
	if served() {
		return
	}
	if os.Getenv("GOGC") == "" {
		collector.Pace()
	}
	os.Exit(commandLine(signalContext(), os.Args[1:]))
}

// served reports whether a part of gavel started this process as its child, and it has
// done its work.
func served() bool {
	return sandbox.ServeChild() || sqlexec.ServeChild() || interpreter.ServeChild() || cueeval.ServeChild() || crashguard.ServeChild(JudgeApart)
}
