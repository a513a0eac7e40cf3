package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/demo"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ownfolder"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Judge a small pull request against recorded replies, without any setup",
		Args:  noArgs,
		Example: `  gavel demo
  gavel demo --json | jq '.gate'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
	a.sandbox.bind(cmd)
	return cmd
}

// demo makes a repository with a pull request, plans, runs and reports it. The
// gate of the pull request fails on purpose; the demo itself succeeds.
func (a *app) demo(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "gavel-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := demo.Create(ctx, dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	b := *a
	b.program, b.dir, b.configFile = demo.Program(a.program, a.dir), dir, defaultConfig
	return b.withLedger(ctx, b.showDemo)
}

// showDemo judges main, as it was when it was merged, and then the pull
// request, and prints what that gets.
func (a *app) showDemo(ctx context.Context, w *workspace, book *ledger.Ledger) error {
	stage := controller.Commits{Repo: w.repo, Ledger: book, ConfigFile: a.configFile, LookupEnv: a.lookupEnv}
	merged, err := demo.Plan(ctx, stage, "main", "")
	if err != nil {
		return err
	}
	before, err := a.execute(ctx, merged, "", controller.Execution{Repository: demo.Repository})
	if err != nil {
		return err
	}
	prepared, err := demo.Plan(ctx, stage, demo.Branch, "main")
	if err != nil {
		return err
	}
	_, isTerminal := terminal.Screen(a.stdout)
	opts := terminal.For(a.stdout, a.lookupEnv)
	if !a.json {
		fmt.Fprint(a.stdout, demo.Opening(before))
		if err := errors.Join(
			terminal.Problems(a.stdout, prepared.Problems, terminal.Source(w.files), opts),
			terminal.Plan(a.stdout, prepared.Plan, prepared.Estimate().Estimate, opts),
		); err != nil {
			return err
		}
	}
	report, err := a.execute(ctx, prepared, "", controller.Execution{Repository: demo.Repository, PullRequest: 1})
	if err != nil {
		return err
	}
	file := filepath.Join(a.dir, ownfolder.Name, "comment.md")
	text := comment.Markdown(report, comment.Options{RepositoryURL: demo.Page})
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	switch {
	case a.json:
		return a.print(report)
	case isTerminal:
		fmt.Fprintln(a.stdout, "\nAnd this is what the pull request is told:")
		fmt.Fprintln(a.stdout)
		err = terminal.Report(a.stdout, report, opts)
	default:
		_, err = fmt.Fprintf(a.stdout, "\nAnd this is the comment on the pull request:\n\n%s\n", text)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.stdout, demo.Ending(a.program, a.dir, file))
	return err
}
