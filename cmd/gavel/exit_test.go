package main

// The exit codes as the tests name them.
const (
	exitPass        = ExitPass
	exitGate        = ExitGate
	exitUsage       = ExitUsage
	exitInternal    = ExitInternal
	exitInterrupted = ExitInterrupted
)
