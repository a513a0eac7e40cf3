package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// The exit codes that scripts rely on.
const (
	ExitPass        = 0
	ExitGate        = 1
	ExitUsage       = 2 // or invalid definitions
	ExitInternal    = 3
	ExitInterrupted = 130
)

// defaultConfig is the default path of the configuration.
const defaultConfig = "gavel.yaml"

// An App holds the common state of all commands: the outside world and the global
// flags.
type App struct {
	// Stdin is read by interactive commands; nil without a person.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	// Program is the program's name on the command line, and Dir the working folder;
	// --dir overrides it.
	Program, Dir string
	// Clock paces what talks to a forge. Defaults to the machine's.
	Clock clock.Clock

	// Notices carries notices; nil connects to public addresses only.
	Notices http.RoundTripper

	// Open opens a target; nil means target.New.
	Open func(config.Target, target.Env) (target.Target, error)
	// Breakers remember failed endpoints for the life of the process.
	Breakers *limit.Breakers

	// Tracer traces judging; nil traces nothing.
	Tracer *tracing.Tracer

	// Remote judges the jobs of a plan in other processes; nil judges them in this one.
	Remote Remote

	// Secrets are the known secrets, which are never printed.
	Secrets *redact.Values

	// anyHome accepts a database with the local runs of another repository.
	anyHome bool

	JSON, Strict bool
	// Verbose makes reports list passing cases, too.
	Verbose                bool
	ConfigFile, LedgerFile string
	// Sandbox has the permissions of programs.
	Sandbox Sandbox
}

// A Remote judges as [controller.Judge] does. opts have the ID of the run.
type Remote func(ctx context.Context, p *controller.Prepared, opts controller.RunOptions, sides []run.Side) ([][]run.Outcome, error)

// exitError ends the command with a code. A nil err means that everything has been
// reported.
type exitError struct {
	Code int
	Err  error
}

// Error returns the message of Err, empty if everything has been reported.
func (e *exitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *exitError) Unwrap() error { return e.Err }

// errInterrupted ends an interrupted command.
var errInterrupted = &exitError{Code: ExitInterrupted}

// usageError is a mistake in the command line or the configuration.
func usageError(format string, args ...any) error {
	return &exitError{ExitUsage, fmt.Errorf(format, args...)}
}

// exitOf ends the command with a code after everything has been reported.
func exitOf(code int) error {
	if code == ExitPass {
		return nil
	}
	return &exitError{Code: code}
}

// oneOfItsCommands refuses an unknown command.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	path := cmd.CommandPath()
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, args[0]) {
			return usageError("unknown command %q; did you mean %s?", path+" "+args[0], c.CommandPath())
		}
		names = append(names, c.Name())
	}
	return usageError("unknown command %q; %s", path+" "+args[0], strings.TrimSpace(suggest.DidYouMean(args[0], names)+" "+path+" --help lists all"))
}

// Path resolves a file named on the command line.
func (a *App) Path(file string) string {
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(a.Dir, file)
}

// noArgs refuses arguments with the exit code of a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%s takes no argument, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
