package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/reporters"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

func planCommand(a *App) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "plan [KEY-GLOB|PATH...]",
		Short: "Print which cases would be judged, and why, without a call",
		Example: `  gavel plan
  gavel plan --base main
  gavel plan --base origin/main --domain support --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Keys, s.DueOnly, s.Brief = args, true, true
			return a.WithPlan(cmd.Context(), func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
				return planCases(ctx, a, w, store, s)
			})
		},
	}
	s.Bind(cmd)
	s.BindLift(cmd)
	a.Sandbox.BindMode(cmd, "sandbox that a run would have: isolated, partial or off, whose verdicts of programs are stored apart")
	return cmd
}

// planCases prints the plan. Definitions that are invalid make it fail: their cases are not
// judged.
func planCases(ctx context.Context, a *App, w *workspace, store *ledger.Ledger, s selection) error {
	// The JSON form has a row for every case; the text counts the rest.
	s.AffectedOnly = !a.JSON
	prepared, err := a.Local(ctx, w, store, s)
	if err != nil {
		return err
	}
	if err := a.PrintProblems(w.Files, prepared.Problems); err != nil {
		return err
	}
	estimate := prepared.Estimate().Estimate
	if a.JSON {
		err = a.Print(reporters.NewPlan(prepared.Plan, estimate, prepared.Notices()...))
	} else {
		err = terminal.Plan(a.Stdout, prepared.Plan, estimate, prepared.Notices(), terminal.OptionsFor(a.Stdout, a.LookupEnv))
	}
	if err == nil && schema.HasErrors(prepared.Problems) {
		return exitOf(ExitUsage)
	}
	return err
}
