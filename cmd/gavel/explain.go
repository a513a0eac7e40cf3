package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/cmd/internal/cli"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
)

func explainCommand(a *cli.App) *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use:   "explain CASE",
		Short: "Show everything that is known about one case",
		Example: `  gavel explain support/level_1/test_refund_window
  gavel explain test_definitions/refund.yaml
  gavel explain support/level_1/test_refund_window --base main`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("explain takes the key of one case, such as math/level_1/test_sum")
			}
			return a.WithStored(cmd.Context(), a.WithPlan, func(ctx context.Context, w *cli.Workspace, book *ledger.Ledger) error {
				return explainCase(ctx, a, explained{w, book, args[0], base})
			})
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "also say what changed since the merge base of this ref and HEAD, such as main")
	return cmd
}

// An explained is the case that is asked about.
type explained struct {
	*cli.Workspace
	book      *ledger.Ledger
	key, base string
}

func explainCase(ctx context.Context, a *cli.App, e explained) error {
	prepared, err := a.Local(ctx, e.Workspace, e.book, cli.Selection{Base: e.base})
	if err != nil {
		return err
	}
	named, folder := a.Named(e.Workspace, []string{e.key})
	row, err := explain.Find(prepared.Plan, prepared.Problems, named[0], folder)
	if err != nil {
		return cli.UsageError("%w", err)
	}
	out, err := explain.Of(ctx, e.book, row)
	if err != nil {
		return err
	}
	if row.Head != nil && row.Head.Dialect == schema.DialectTestcase {
		if out.Identity, err = explain.IdentityAt(ctx, e.Repo, row.HeadCase, prepared.Head().Config.Settings()); err != nil {
			return err
		}
	}
	out = controller.Redacted(prepared, out)
	if a.JSON {
		return a.Print(out)
	}
	return out.Write(a.Stdout)
}
