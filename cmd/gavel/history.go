package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/maintenance"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/terminal"
	"github.com/gavel-evals/gavel/schema/suggest"
)

func historyCommand(a *App) *cobra.Command {
	runs, since := report.HistoryRuns, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "history [CASE]",
		Short: "Show how cases were judged in earlier runs",
		Example: `  gavel history
  gavel history support/level_1/test_refund_window
  gavel history --since 14d`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("history takes the key of one case, such as math/level_1/test_sum, or none for all cases")
			}
			if runs < 1 {
				return usageError("--runs %d: write 1 or more", runs)
			}
			return a.WithStored(cmd.Context(), a.WithRead, func(ctx context.Context, _ *workspace, store *ledger.Ledger) error {
				oldest := time.Now().Add(-since)
				h, err := maintenance.Histories(ctx, store, runs, func(r ledger.Run) bool { return since == 0 || r.Finished.After(oldest) })
				if err != nil {
					return err
				}
				if len(args) == 0 {
					return printHistories(a, h)
				}
				return printHistory(a, h, args[0])
			})
		},
	}
	cmd.Flags().IntVar(&runs, "runs", runs, "how many of the newest runs to read, such as 200")
	durationVar(cmd.Flags(), &since, "since", "only runs that ended within this time, such as 14d (default: all of the newest runs)")
	return cmd
}

// A historyDocument is the output of --json.
type historyDocument struct {
	Cases []historyCase `json:"cases"`
}

type historyCase struct {
	// Name is the key of the case, with the target if there are several.
	Name       string                 `json:"name"`
	Judgements []report.PastJudgement `json:"judgements"`
}

func printHistories(a *App, h report.CaseHistory) error {
	if !a.JSON {
		return terminal.Histories(a.Stdout, h, terminal.OptionsFor(a.Stdout, a.LookupEnv))
	}
	out := historyDocument{Cases: []historyCase{}}
	for _, name := range h.Names() {
		out.Cases = append(out.Cases, historyCase{name, h[name]})
	}
	return a.Print(out)
}

func printHistory(a *App, h report.CaseHistory, name string) error {
	found, ok := h[name]
	if !ok {
		hint := suggest.Case(name, h.Names())
		if hint == "" {
			hint = "gavel history lists the cases that were"
		}
		return usageError("case %q was not judged in these runs; %s", name, hint)
	}
	if a.JSON {
		return a.Print(historyDocument{Cases: []historyCase{{name, found}}})
	}
	return terminal.History(a.Stdout, name, found, terminal.OptionsFor(a.Stdout, a.LookupEnv))
}
