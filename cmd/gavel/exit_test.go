package main

import "github.com/gavel-evals/gavel/cmd/internal/cli"

// The exit codes as the tests name them.
const (
	exitPass        = cli.ExitPass
	exitGate        = cli.ExitGate
	exitUsage       = cli.ExitUsage
	exitInternal    = cli.ExitInternal
	exitInterrupted = cli.ExitInterrupted
)
