package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/explain"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
)

func (a *app) explainCommand() *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use:   "explain CASE",
		Short: "Show everything that is known about one case",
		Example: `  gavel explain support/level_1/test_refund_window
  gavel explain support/level_1/test_refund_window --base main`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("explain takes the key of one case, such as math/level_1/test_sum")
			}
			return a.withStored(cmd.Context(), a.withPlan, func(ctx context.Context, w *workspace, book *ledger.Ledger) error {
				return a.explain(ctx, w, book, args[0], base)
			})
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "also say what changed since the merge base of this ref and HEAD, such as main")
	return cmd
}

func (a *app) explain(ctx context.Context, w *workspace, book *ledger.Ledger, key, base string) error {
	prepared, err := a.local(ctx, w, book, base, selection{})
	if err != nil {
		return err
	}
	row, err := explain.Find(prepared.Plan, prepared.Problems, key)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	out, err := explain.Of(ctx, book, row)
	if err != nil {
		return err
	}
	if row.Head != nil && row.Head.Dialect == schema.DialectTestcase {
		if out.Identity, err = explain.IdentityAt(ctx, w.repo, row.HeadCase, prepared.Head.Config.Settings()); err != nil {
			return err
		}
	}
	out = controller.Redacted(prepared, out)
	if a.json {
		return a.print(out)
	}
	return out.Write(a.stdout)
}
