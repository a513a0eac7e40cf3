package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/gitrepo"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/examples"
	"github.com/gavel-evals/gavel/reporters/comment"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Judge a small pull request against recorded replies, without any setup",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

// demo makes a repository with a pull request, plans, runs and reports it. The
// gate of the pull request fails on purpose; the demo itself succeeds.
func (a *app) demo(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "gavel-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := demoRepository(ctx, dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	b := *a
	b.dir, b.configFile = dir, "gavel.yaml"
	return b.withLedger(ctx, b.showDemo)
}

// showDemo judges the pull request and prints what it gets.
func (a *app) showDemo(ctx context.Context, w *workspace, book *ledger.Ledger) error {
	prepared, err := a.demoPlan(ctx, w, book)
	if err != nil {
		return err
	}
	_, isTerminal := terminal.Screen(a.stdout)
	opts := terminal.For(a.stdout, a.lookupEnv)
	if !a.json {
		fmt.Fprintf(a.stdout, "A pull request edits a prompt and a shared system prompt, breaks a file, changes\na description, adds, moves and removes a case. This is what has to be judged again:\n\n")
		if err := terminal.Plan(a.stdout, prepared.Plan, opts); err != nil {
			return err
		}
	}
	report, err := a.execute(ctx, prepared, "", controller.Execution{Repository: "octo/demo", PullRequest: 1})
	if err != nil {
		return err
	}
	file := filepath.Join(a.dir, controller.OwnFolder, "comment.md")
	text := comment.Markdown(report, comment.Options{RepositoryURL: "https://github.com/octo/demo"})
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
	_, err = fmt.Fprintf(a.stdout, "\nrepository  %s\ncomment     %s\n\nTry it there: gavel plan --base main, gavel run --base main, gavel explain support/level_1/test_refund_window\n", a.dir, file)
	return err
}

// demoRepository commits the example on main and the pull request on a branch.
func demoRepository(ctx context.Context, dir string) error {
	base, change, err := examples.Domain()
	if err != nil {
		return err
	}
	base[".gitignore"] = []byte(controller.OwnFolder + "/\n")
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return gitrepo.Create(ctx, dir, []gitrepo.Change{
		{Message: "shop assistant with its tests", Write: base, At: start},
		{Branch: "friendlier-support", Message: "friendlier support", Write: change, At: start.Add(24 * time.Hour)},
	})
}

// demoPlan plans the branch against main, both as commits.
func (a *app) demoPlan(ctx context.Context, w *workspace, book *ledger.Ledger) (*controller.Prepared, error) {
	head, err := w.repo.Resolve(ctx, "friendlier-support")
	if err != nil {
		return nil, err
	}
	return controller.PrepareCommits(ctx, controller.Commits{
		Repo: w.repo, Head: head, Base: "main", Ledger: book, ConfigFile: a.configFile, LookupEnv: a.lookupEnv,
	})
}
