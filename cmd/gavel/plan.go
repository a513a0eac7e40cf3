package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters/document"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

func (a *app) planCommand() *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "plan [KEY-GLOB...]",
		Short: "Print which cases would be judged, and why, without a call",
		Example: `  gavel plan
  gavel plan --base main
  gavel plan --base origin/main --domain support --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Keys, s.dueOnly, s.brief = args, true, true
			return a.withPlan(cmd.Context(), func(ctx context.Context, w *workspace, book *ledger.Ledger) error {
				return a.plan(ctx, w, book, s)
			})
		},
	}
	s.bind(cmd)
	return cmd
}

func (a *app) plan(ctx context.Context, w *workspace, book *ledger.Ledger, s selection) error {
	// The JSON form has a row for every case; the text counts the rest.
	s.affectedOnly = !a.json
	prepared, err := a.local(ctx, w, book, s.base, s)
	if err != nil {
		return err
	}
	if err := a.printProblems(w.files, prepared.Problems); err != nil {
		return err
	}
	estimate := prepared.Estimate().Estimate
	if a.json {
		return a.print(document.NewPlan(prepared.Plan, estimate))
	}
	return terminal.Plan(a.stdout, prepared.Plan, estimate, terminal.For(a.stdout, a.lookupEnv))
}
