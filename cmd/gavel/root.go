package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger/postgres"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/schema/document"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/tracing"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// commandLine runs gavel with the arguments of this process and returns the exit code.
func commandLine(ctx context.Context, args []string) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gavel: find the working directory:", err)
		return ExitInternal
	}
	a := &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Dir: dir, Program: os.Args[0], Breakers: &limit.Breakers{}}
	return execute(ctx, a, args)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, a *App, args []string) int {
	a.Secrets = &redact.Values{}
	a.Secrets.Add(a.Env("GITHUB_TOKEN"))
	a.Stdout, a.Stderr = redact.Writer{W: a.Stdout, Hide: a.Secrets.Text}, redact.Writer{W: a.Stderr, Hide: a.Secrets.Text}
	end, err := traces(a)
	if err != nil {
		fmt.Fprintln(a.Stderr, "gavel:", err)
		return ExitUsage
	}
	defer end()
	root := rootCommand(a)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if found, rest, unknown := root.Find(args); cmd == root && (unknown != nil || len(rest) > 0 && !strings.HasPrefix(rest[0], "-")) {
			return oneOfItsCommands(found, rest) // its flags are unknown, too
		}
		return flagError(cmd, err)
	})
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	var exit *exitError
	var unopened *target.OpenError
	switch {
	case err == nil:
		return ExitPass
	case ctx.Err() != nil:
		fmt.Fprintln(a.Stderr, "gavel: interrupted")
		return ExitInterrupted
	case errors.Is(err, run.ErrUnconfigured), errors.Is(err, gitrepo.ErrOwnFolderCommitted), errors.Is(err, gitrepo.ErrTooMany),
		errors.As(err, new(*controller.SelectionMistake)), errors.Is(err, fs.ErrPermission):
		fmt.Fprintln(a.Stderr, "gavel:", err)
		return ExitUsage
	case errors.As(err, &unopened):
		fmt.Fprintln(a.Stderr, "gavel:", unopened)
		return ExitUsage
	case errors.As(err, &exit):
		if exit.Err != nil {
			fmt.Fprintln(a.Stderr, "gavel:", exit.Err)
		}
		return exit.Code
	}
	fmt.Fprintln(a.Stderr, "gavel:", err)
	return ExitInternal
}

// lastSpans bounds the program's final wait for a collector of traces.
const lastSpans = 3 * time.Second

// traces starts tracing the command, if the environment requests it. end sends the
// rest.
func traces(a *App) (end func(), err error) {
	a.Tracer, err = tracing.Open(tracing.Config{
		LookupEnv: a.LookupEnv, Service: "gavel", Version: thisVersion().Version,
		Failed: func(err error) {
			if err != nil {
				fmt.Fprintln(a.Stderr, "gavel:", err)
			}
		},
	})
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
		defer cancel()
		a.Tracer.Close(ctx)
	}, err
}

// rootCommand returns gavel with all of its commands.
func rootCommand(a *App) *cobra.Command {
	var into string
	root := &cobra.Command{
		Use:   "gavel",
		Short: "GitOps for agent evals: rerun the tests that a change can have affected",
		Example: `  gavel demo                   see a pull request judged, without any setup
  gavel init                   write gavel.yaml and the first tests
  gavel plan --base main       which cases would run, and why
  gavel run --base main        run them and compare with main
  gavel watch                  do so with every file that is saved`,
		Args: oneOfItsCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseEmpty(cmd, args); err != nil {
				return err
			}
			a.Dir = a.Path(into)
			if a.LedgerFile != "" && !postgres.IsURL(a.LedgerFile) {
				a.LedgerFile = a.Path(a.LedgerFile)
			}
			return nil
		},
		Version:       thisVersion().String(),
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	flags := root.PersistentFlags()
	flags.StringVarP(&into, "dir", "C", "", "folder to work in as if gavel were started there, such as ../shop (default: here)")
	flags.BoolVar(&a.JSON, "json", false, "print one JSON document on stdout instead of text")
	flags.BoolVar(&a.Strict, "strict", false, "treat warnings and notes as errors")
	flags.StringVar(&a.ConfigFile, "config", defaultConfig, "configuration, relative to the repository root, such as ci/gavel.yaml")
	flags.StringVar(&a.LedgerFile, "ledger", "", "ledger file, such as /var/cache/gavel.db (default: the PostgreSQL database of "+databaseVariable+", else .gavel/ledger.db in the root of the repository's main working tree)")
	root.AddCommand(
		initCommand(a), newCommand(a), tryCommand(a), importCommand(a), exportCommand(a),
		validateCommand(a), listCommand(a), planCommand(a), runCommand(a), watchCommand(a), explainCommand(a), statusCommand(a), historyCommand(a), flakyCommand(a), powerCommand(a), diffCommand(a), uiCommand(a), ledgerCommand(a),
		prCommand(a), serveCommand(a), workerCommand(a), schemaCommand(a), demoCommand(a), manCommand(a), versionCommand(a),
	)
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "run", "list", "plan", "watch", "explain", "history", "flaky", "power":
			a.Complete(cmd)
		case "schema":
			cmd.ValidArgsFunction = completeWords(document.Formats())
		}
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SetHelpCommand(helpCommand(root))
	root.SetHelpFunc(Help(root.HelpFunc()))
	describe(root, "gavel")
	return root
}

// help has a file for each command that needs more than its one-line description.
//
//go:embed help
var help embed.FS

// describe adds the help file of its name to a command, and does the same for its
// subcommands.
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

// flagError is a mistake in a flag, with a similar name if it does not exist.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if hint := suggest.DidYouMean("--"+unknown.GetSpecifiedName(), names); hint != "" {
			return usageError("%w; %s", err, hint)
		}
	}
	return usageError("%w; see %s --help", err, cmd.CommandPath())
}
