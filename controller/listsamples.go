package controller

import (
	"context"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
)

// listSamples adds the result of each of several samples to head's outcomes, for files
// of results whose format lists them.
func (e *execution) listSamples(ctx context.Context) error {
	if !e.opts.Results || e.p.req.Ledger == nil {
		return nil
	}
	var rows []plan.Row
	for _, r := range e.p.Plan.Rows {
		if r.Head != nil && r.Head.Traits().ListsSamples && e.in.Head[r.Head.ID()].Result.Samples > 1 {
			rows = append(rows, r)
		}
	}
	cases, err := casesOfRows(ctx, e.p.req.Head, rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		out, c := e.in.Head[r.Head.ID()], cases[r.Head.ID()]
		if c == nil {
			continue
		}
		stored, err := ledger.LoadCase(ctx, e.p.req.Ledger, e.p.headScope(e.p.scopeKeyOf(r)), r.HeadDigests.E, r.HeadDigests.J)
		if err != nil {
			return err
		}
		out.Samples = decideSamples(c, stored, out.Result.Samples)
		e.in.Head[r.Head.ID()] = out
	}
	return nil
}
