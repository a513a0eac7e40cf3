package main

import (
	"context"
	"io/fs"

	"github.com/gavel-evals/gavel/cmd/internal/editor"
	"github.com/gavel-evals/gavel/controller"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/schema"
)

// forecastPrepare plans the selected cases of files; nil selects all. It returns nil if
// the configuration has errors.
type forecastPrepare func(ctx context.Context, files fs.FS, selected func(*schema.CaseInfo) bool) (*controller.Prepared, error)

// mostNamed bounds the cases named in a forecast.
const mostNamed = 50

// makeForecast returns the cases that are judged differently after a change of files,
// and the cost of judging them. It is nil if nothing can be planned.
func makeForecast(ctx context.Context, before, after fs.FS, prepare forecastPrepare) (*editor.Forecast, error) {
	old, err := prepare(ctx, before, nil)
	if old == nil || err != nil {
		return nil, err
	}
	now, err := prepare(ctx, after, nil)
	if now == nil || err != nil {
		return nil, err
	}
	type id struct{ key, target string }
	was := map[id]plan.Digests{}
	for _, row := range old.Plan.Rows {
		was[id{row.Key, row.Target}] = row.HeadDigests
	}
	out, affected := &editor.Forecast{}, map[string]bool{}
	for _, row := range now.Plan.Rows {
		known, ok := was[id{row.Key, row.Target}]
		if ok && known.D == row.HeadDigests.D || row.Action == plan.Reuse || row.Action == plan.Skip {
			continue
		}
		affected[row.Key] = true
		switch why := "new"; {
		case len(out.Cases) == mostNamed:
			out.Cases = append(out.Cases, "and more")
		case len(out.Cases) < mostNamed:
			if ok {
				why = "changed"
			}
			out.Cases = append(out.Cases, row.Key+": "+string(row.Action)+", "+why)
		}
	}
	if len(affected) == 0 {
		return out, nil
	}
	due, err := prepare(ctx, after, func(c *schema.CaseInfo) bool { return affected[c.Key] })
	if due == nil || err != nil {
		return nil, err
	}
	out.Estimate = due.Estimate().String()
	return out, nil
}

// digestsOf returns the decision digests of the cases of a plan by name. There are none without
// a plan, as when the configuration has errors.
func digestsOf(planned *controller.Prepared) map[string]string {
	out := map[string]string{}
	if planned == nil {
		return out
	}
	for _, row := range planned.Plan.Rows {
		if row.Head == nil {
			continue
		}
		name := row.Key
		if row.Head.PerTarget {
			name += " @ " + row.Target
		}
		out[name] = row.HeadDigests.D
	}
	return out
}
