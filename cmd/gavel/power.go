package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/reporters/terminal"
)

func powerCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "power [KEY-GLOB|PATH...]",
		Short: "Say what a green comparison of these cases would have shown",
		Example: `  gavel power
  gavel power 'support/**' --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithPlan(cmd.Context(), listing[report.PowerTable]{powerTable, terminal.Power}.of(a, args))
		},
	}
}

// mostReruns is the maximum of noise.samples.
const mostReruns = 24

// powerTable simulates comparisons of the plan's cases, as they are and with each lever.
func powerTable(ctx context.Context, prepared *controller.Prepared, store *ledger.Ledger) (report.PowerTable, error) {
	cfg := prepared.Head().Config
	scope := ledger.Scope{Trust: ledger.Trust{Level: ledger.LevelOperator}}
	cases, err := remeasure.Histories(ctx, store, cfg, prepared.Plan.Rows, scope, time.Now())
	if err != nil {
		return report.PowerTable{}, err
	}
	out := report.PowerTable{Cases: len(cases), Rows: []report.PowerRow{}}
	least := 20
	for _, c := range cases {
		switch {
		case c.Certain:
			out.Certain++
			continue
		case c.Fresh:
			out.Unjudged++
		}
		least = min(least, stored(c))
	}
	if out.Certain == len(cases) {
		return out, nil
	}
	options := remeasure.Options(cfg)
	add := func(name string, o confirm.Options, lever power.Lever) {
		if s := power.Study(ctx, cases, o, lever); s != nil {
			out.Rows = append(out.Rows, report.PowerRow{Name: name, Studied: *s})
		}
	}
	add("as it is", options, power.Lever{})
	for _, n := range []int{confirm.Enough, 20} {
		if least < n {
			add(fmt.Sprintf("%d stored results of each case", n), options, power.Lever{History: n})
		}
	}
	if options.Looks < mostReruns {
		more := options
		more.Looks = mostReruns
		add(fmt.Sprintf("noise.samples: %d", mostReruns), more, power.Lever{})
	}
	add("twice as many such cases", options, power.Lever{Copies: 2})
	return out, ctx.Err()
}

// stored is how many stored results a case has.
func stored(c confirm.Case) int {
	if c.Fresh {
		return 0
	}
	return len(c.Base)
}
