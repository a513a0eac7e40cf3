package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gavel-evals/gavel/cmd/internal/version"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/gitrepo/listing"
	"github.com/gavel-evals/gavel/controller/ownfolder"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/run/limit"
	picked "github.com/gavel-evals/gavel/controller/selection"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/schema"
)

// The exit codes that scripts rely on.
const (
	exitPass        = 0
	exitGate        = 1
	exitUsage       = 2 // or invalid definitions
	exitInternal    = 3
	exitInterrupted = 130
)

// defaultConfig is where the configuration is unless --config says otherwise.
const defaultConfig = "gavel.yaml"

// An app holds what the commands share: the outside world and the flags that
// every command has.
type app struct {
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	// program is how the command line was called, and dir where, unless --dir
	// says otherwise.
	program, dir string
	// now and wait pace the writes to a forge; nil means the real clock.
	now  func() time.Time
	wait func(ctx context.Context, d time.Duration) error
	// after returns a channel that fires once a time is over; nil means the real clock.
	after func(time.Duration) <-chan time.Time

	// open opens a target; nil means target.New.
	open func(config.Target, target.Env) (target.Target, error)
	// breakers remember for the life of the process which endpoints are down.
	breakers *limit.Breakers

	// secrets are those that are known; nothing that is printed has them.
	secrets *redact.Values

	json, strict                 bool
	configFile, ledgerFile, into string
	// sandbox is what the commands that run programs are allowed.
	sandbox sandboxFlags
}

// exitError ends the command with a code. A nil err says that everything was
// said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// errInterrupted ends a command that somebody stopped.
var errInterrupted = &exitError{code: exitInterrupted}

// usageError is a mistake in how the command was called or configured.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitOf ends the command with a code after everything was said.
func exitOf(code int) error {
	if code == exitPass {
		return nil
	}
	return &exitError{code: code}
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gavel: find the working directory:", err)
		return exitInternal
	}
	a := &app{stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, dir: dir, program: os.Args[0], breakers: &limit.Breakers{}}
	return a.command(ctx, args)
}

// command runs one command line and gives its exit code.
func (a *app) command(ctx context.Context, args []string) int {
	a.secrets = &redact.Values{}
	a.secrets.Add(a.env("GITHUB_TOKEN"))
	a.stdout, a.stderr = redact.Writer{W: a.stdout, Hide: a.secrets.Text}, redact.Writer{W: a.stderr, Hide: a.secrets.Text}
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitPass
	case ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "gavel: interrupted")
		return exitInterrupted
	case errors.Is(err, controller.ErrUnconfigured), errors.Is(err, ownfolder.ErrCommitted), errors.Is(err, listing.ErrTooMany),
		errors.As(err, new(*picked.Mistake)):
		fmt.Fprintln(a.stderr, "gavel:", err)
		return exitUsage
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(a.stderr, "gavel:", exit.err)
		}
		return exit.code
	}
	fmt.Fprintln(a.stderr, "gavel:", err)
	return exitInternal
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gavel",
		Short: "GitOps for agent evals: rerun the tests that a change can have affected",
		Example: `  gavel demo                   see a pull request judged, without any setup
  gavel plan --base main       which cases would run, and why
  gavel run --base main        run them and compare with main
  gavel watch                  do so with every file that is saved`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) {
			a.dir = a.path(a.into)
			if a.ledgerFile != "" {
				a.ledgerFile = a.path(a.ledgerFile)
			}
		},
		Version:       version.This().String(),
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.into, "dir", "C", "", "folder to work in as if gavel were started there, such as ../shop (default: here)")
	flags.BoolVar(&a.json, "json", false, "print one JSON document on stdout instead of text")
	flags.BoolVar(&a.strict, "strict", false, "treat warnings and notes as errors")
	flags.StringVar(&a.configFile, "config", defaultConfig, "configuration, relative to the repository root, such as ci/gavel.yaml")
	flags.StringVar(&a.ledgerFile, "ledger", "", "ledger file, such as /var/cache/gavel.db (default: .gavel/ledger.db in the repository root)")
	root.AddCommand(
		a.validateCommand(), a.planCommand(), a.runCommand(), a.watchCommand(), a.explainCommand(), a.ledgerCommand(),
		a.prCommand(), a.serveCommand(), a.schemaCommand(), a.demoCommand(), a.versionCommand(),
	)
	root.SetVersionTemplate("{{.Version}}")
	root.SetHelpCommand(helpCommand(root))
	describe(root, "gavel")
	return root
}

// help has a file for each command that its one line does not say all about.
//
//go:embed help
var help embed.FS

// describe returns a command and those below it the text of its file, which has
// the command's name.
func describe(cmd *cobra.Command, name string) {
	if text, err := help.ReadFile("help/" + name + ".txt"); err == nil {
		cmd.Long = string(text)
	}
	for _, below := range cmd.Commands() {
		describe(below, strings.TrimPrefix(name+"_"+below.Name(), "gavel_"))
	}
}

// helpCommand prints the same as --help, and refuses unknown commands.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Print the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if len(rest) > 0 || err != nil {
				return oneOfItsCommands(found, append(rest, args...))
			}
			return found.Help()
		},
	}
}

// oneOfItsCommands refuses the name of a command that does not exist.
func oneOfItsCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	path := cmd.CommandPath()
	return usageError("unknown command %q; %s", path+" "+args[0], strings.TrimSpace(schema.DidYouMean(args[0], names)+" "+path+" --help lists all"))
}

// flagError is a mistake in a flag, with the one that may be meant where there
// is none of that name.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if hint := schema.DidYouMean("--"+unknown.GetSpecifiedName(), names); hint != "" {
			return usageError("%w; %s", err, hint)
		}
	}
	return usageError("%w; see %s --help", err, cmd.CommandPath())
}

// path is that of a file which is named on the command line.
func (a *app) path(file string) string {
	if filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(a.dir, file)
}

// noArgs refuses arguments with the exit code of a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%s takes no argument, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// print writes the documented JSON shape of a result.
func (a *app) print(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
