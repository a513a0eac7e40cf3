package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/load"
)

// casesOfRows maps the rows' IDs at head to their cases. Cases that planning did not
// keep are loaded; a case may be missing if its file has changed meanwhile.
func casesOfRows(ctx context.Context, head Checkout, rows []plan.Row) (map[string]*schema.Case, error) {
	cases := map[string]*schema.Case{}
	var files []string
	for _, r := range rows {
		if cases[r.Head.ID()] = r.HeadCase; r.HeadCase == nil {
			files = append(files, r.Head.Origin.File) // the definition, for a row that is not kept
		}
	}
	if len(files) == 0 {
		return cases, nil
	}
	slices.Sort(files)
	opts := head.loading()
	opts.Files = slices.Compact(files)
	loaded, err := load.Load(ctx, head.FS, opts)
	if err != nil {
		return nil, fmt.Errorf("load the cases whose samples are listed: %w", err)
	}
	for _, c := range loaded.Cases {
		if known, asked := cases[c.ID()]; asked && known == nil {
			cases[c.ID()] = c
		}
	}
	return cases, nil
}

// decideSamples decides on the first n stored samples of a case, each as if it were the
// only one.
func decideSamples(c *schema.Case, stored ledger.StoredCase, n int) []report.Sample {
	var out []report.Sample
	for _, j := range stored.Judgements[:min(n, len(stored.Judgements))] {
		one := verdict.DecideCase(c, []verdict.Sample{j.Sample})
		sample := report.Sample{Score: one.Score, Verdict: one.Verdict, Evaluators: one.Evaluators}
		for _, x := range stored.Executions {
			if x.Ordinal == j.Sample.Ordinal {
				sample.Usage, sample.Latency, sample.Effort = x.Transcript.Usage, x.Transcript.Latency, &verdict.Effort{Samples: 1}
				sample.Effort.Add(&x.Transcript, max(len(c.Drive.Messages), x.Transcript.Written))
			}
		}
		out = append(out, sample)
	}
	return out
}
