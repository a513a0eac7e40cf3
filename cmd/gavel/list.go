package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema"
)

func listCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:        "list [KEY-GLOB|PATH...]",
		SuggestFor: []string{"ls", "cases", "tests"},
		Short:      "List the cases with their files, targets and last verdicts",
		Example: `  gavel list
  gavel list test_definitions/refund.yaml
  gavel list 'support/**' --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s := selection{}
			s.Keys = args
			return a.WithStored(cmd.Context(), a.WithPlan, func(ctx context.Context, w *workspace, store *ledger.Ledger) error {
				return listCases(ctx, a, w, store, s)
			})
		},
	}
}

// listCases prints the cases of the working tree. Definitions that are invalid make it
// fail, since their cases are not in the list.
func listCases(ctx context.Context, a *App, w *workspace, store *ledger.Ledger, s selection) error {
	prepared, err := a.Local(ctx, w, store, s)
	if err != nil {
		return err
	}
	if err := a.PrintProblems(w.Files, prepared.Problems); err != nil {
		return err
	}
	history, errors, err := maintenance.HistoriesWithErrors(ctx, store, report.HistoryRuns)
	if err != nil {
		return err
	}
	list := controller.Redacted(prepared, report.NewCaseList(prepared.Plan, history, errors))
	if a.JSON {
		err = a.Print(list)
	} else {
		err = terminal.Cases(a.Stdout, list, terminal.OptionsFor(a.Stdout, a.LookupEnv))
	}
	if said := elsewhere(w.Files, prepared.Head().Config); said != "" && len(s.Keys) == 0 {
		a.Note(said)
	}
	if err == nil && schema.HasErrors(prepared.Problems) {
		return exitOf(ExitUsage)
	}
	return err
}
