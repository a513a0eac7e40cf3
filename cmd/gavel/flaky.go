package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

func flakyCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "flaky [KEY-GLOB|PATH...]",
		Short: "List the cases whose verdicts differ without a change",
		Example: `  gavel flaky
  gavel flaky 'support/**' --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithStored(cmd.Context(), a.WithRead, listing[report.FlakyList]{flakyCases, terminal.Flaky}.of(a, args))
		},
	}
}

// flakyCases returns the flaky cases of the working tree, the most frequently differing
// first.
func flakyCases(ctx context.Context, prepared *controller.Prepared, store *ledger.Ledger) (report.FlakyList, error) {
	scope := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}
	list := report.FlakyList{Cases: []*report.FlakyCase{}}
	var subjects []remeasure.FlakySubject
	for _, r := range prepared.Plan.Rows {
		if r.Head == nil || r.Head.Skip != "" || r.HeadCase == nil {
			continue
		}
		name := r.Key
		if r.Head.PerTarget {
			name += " @ " + r.Target
		}
		subjects = append(subjects, remeasure.FlakySubject{Name: name, Case: r.HeadCase, Digests: r.HeadDigests})
	}
	found, err := remeasure.FindFlaky(ctx, store, scope, subjects)
	if err != nil {
		return list, err
	}
	for i, f := range found {
		list.Examined++
		if f.Measurements < report.Fewest {
			list.Unknown++
		}
		if f.Flaky == nil {
			continue
		}
		if err := remeasure.ExplainFlaky(ctx, store, scope, subjects[i], f.Flaky); err != nil {
			return list, err
		}
		list.Cases = append(list.Cases, f.Flaky)
	}
	slices.SortStableFunc(list.Cases, func(a, b *report.FlakyCase) int { return cmp.Compare(b.Rate, a.Rate) })
	return list, nil
}
