package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/safefile"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

func demoCommand(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Judge a small pull request against recorded replies, without any setup",
		Args:  noArgs,
		Example: `  gavel demo
  gavel demo --json | jq '.gate'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a) },
	}
	a.Sandbox.Bind(cmd)
	return cmd
}

// runDemo creates a repository with a pull request, plans, runs and reports it. The
// pull request's gate fails on purpose; the demo itself succeeds.
func runDemo(ctx context.Context, a *App) error {
	dir, err := os.MkdirTemp("", "gavel-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := createDemo(ctx, dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	b := *a
	b.Program, b.Dir, b.ConfigFile = demoProgram(a.Program, a.Dir), dir, defaultConfig
	if a.LedgerFile == "" && a.Env(databaseVariable) != "" {
		// The team's database is for its own runs, and what the demo suggests reads the demo's.
		b.LedgerFile = filepath.Join(dir, usualLedger)
		b.Program += " --ledger " + b.LedgerFile
	}
	b.anyHome = true
	return b.WithLedger(ctx, func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
		return showDemo(ctx, &b, w, store)
	})
}

// showDemo judges main in its merged state and then the pull request, and prints its
// report.
func showDemo(ctx context.Context, a *App, w *workspace, store *ledger.Ledger) error {
	stage := controller.CommitSides{Repo: w.Repo, Ledger: store, ConfigFile: a.ConfigFile, LookupEnv: a.LookupEnv}
	merged, err := planDemo(ctx, stage, "main", "")
	if err != nil {
		return err
	}
	before, err := a.Execute(ctx, merged, controller.RunOptions{Repository: Repository})
	if err != nil {
		return err
	}
	prepared, err := planDemo(ctx, stage, Branch, "main")
	if err != nil {
		return err
	}
	_, isTerminal := terminal.Screen(a.Stdout)
	opts := terminal.OptionsFor(a.Stdout, a.LookupEnv)
	if !a.JSON {
		fmt.Fprint(a.Stdout, demoOpening(before))
		if err := errors.Join(
			terminal.Problems(a.Stdout, prepared.Problems, terminal.Source(w.Files), opts),
			terminal.Plan(a.Stdout, prepared.Plan, prepared.Estimate().Estimate, prepared.Notices(), opts),
		); err != nil {
			return err
		}
	}
	report, err := a.Execute(ctx, prepared, controller.RunOptions{Repository: Repository, PullRequest: 1})
	if err != nil {
		return err
	}
	file := filepath.Join(a.Dir, gitrepo.OwnFolder, "comment.md")
	text := comment.Markdown(report, comment.Options{RepositoryURL: Page})
	if err := safefile.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	switch {
	case a.JSON:
		return a.Print(report)
	case isTerminal:
		fmt.Fprintln(a.Stdout, "\nAnd this is the report on the pull request:")
		fmt.Fprintln(a.Stdout)
		err = terminal.Report(a.Stdout, report, opts)
	default:
		_, err = fmt.Fprintf(a.Stdout, "\nAnd this is the comment on the pull request:\n\n%s\n", text)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.Stdout, demoEnding(a.Program, a.Dir, file))
	return err
}
