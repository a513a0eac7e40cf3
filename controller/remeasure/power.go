package remeasure

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// Histories returns the active cases of a plan, as if a change affected all of them: each
// with what is stored of it now. One without a stored result would be measured at base. The
// error is the ledger's.
func Histories(ctx context.Context, store *ledger.Ledger, cfg *config.Config, rows []plan.Row, scope ledger.Scope, now time.Time) ([]confirm.Case, error) {
	var cases []confirm.Case
	var asks []ledger.HistoryAsk
	since := now.Add(-cfg.Noise.Defaulted().History)
	for i := range rows {
		row := &rows[i]
		if !active(row.Head) || row.HeadCase == nil {
			continue
		}
		cases = append(cases, confirm.Case{
			Weight: row.Head.Weight, Conversation: report.Cluster(row, cfg.Noise.Cluster),
			Certain: Deterministic(cfg, row.HeadCase, row.Target, true),
		})
		asks = append(asks, ledger.HistoryAsk{Case: row.HeadCase, Digests: row.HeadDigests, Since: since, Until: now})
	}
	found, err := ledger.ReadHistories(ctx, store, scope, asks)
	if err != nil {
		return nil, err
	}
	for i := range cases {
		c := &cases[i]
		for _, m := range found[i] {
			c.Base = append(c.Base, outcome("", m.Result))
		}
		if len(c.Base) == 0 {
			c.Fresh, c.Base = true, []confirm.Outcome{{Verdict: verdict.Error}}
		}
	}
	return cases, nil
}

// Options returns the options with which a configuration compares two sides.
func Options(cfg *config.Config) confirm.Options {
	c := Comparison{HeadConfig: cfg}
	return c.options()
}
