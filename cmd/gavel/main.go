// Command gavel reruns the agent tests that a change can have affected and
// reports their verdicts.
package main

import (
	"os"

	"github.com/gavel-evals/gavel/cmd/internal/collector"
	"github.com/gavel-evals/gavel/controller/evaluate/sandbox"
	"github.com/gavel-evals/gavel/controller/evaluate/sqlexec"
	"github.com/gavel-evals/gavel/controller/serve/trial"
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

// served reports whether this process was started by a part of gavel as its child,
// and has done what it was started for.
func served() bool {
	return sandbox.ServeChild() || sqlexec.ServeChild() || interpreter.ServeChild() || cueeval.ServeChild() || trial.ServeChild(JudgeApart)
}
