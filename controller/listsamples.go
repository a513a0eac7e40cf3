package controller

import (
	"context"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
)

// listSamples adds the result of each of several samples to head's outcomes, for files
// of results whose format lists them, and for cases with a control, which are compared by
// their samples.
func (e *execution) listSamples(ctx context.Context) error {
	if e.p.req.Ledger == nil {
		return nil
	}
	lifted := map[string]bool{}
	for _, r := range e.in.Controls {
		lifted[r.CaseID()], lifted[r.Head.ID()] = true, true
	}
	var rows []plan.Row
	for _, r := range e.p.Plan.Rows {
		lists := r.Head != nil && (e.opts.Results && r.Head.Traits().ListsSamples || lifted[r.Head.ID()])
		if !lists {
			continue
		}
		if out := e.outcomeOf(r); out != nil && out.Result.Samples > 1 {
			rows = append(rows, r)
		}
	}
	cases, err := casesOfRows(ctx, e.p.req.Head, rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		c := cases[r.Head.ID()]
		if c == nil {
			continue
		}
		stored, err := ledger.LoadCase(ctx, e.p.req.Ledger, e.p.headScope(e.p.scopeKeyOf(r)), r.HeadDigests.E, r.HeadDigests.J)
		if err != nil {
			return err
		}
		out := e.outcomeOf(r)
		out.Samples = decideSamples(c, stored, out.Result.Samples)
	}
	return nil
}

// outcomeOf returns the outcome of a row of head, from the side at which it was judged; nil
// without one.
func (e *execution) outcomeOf(r plan.Row) *report.Outcome {
	id := r.Head.ID()
	if out, atHead := e.in.Head[id]; atHead || r.ControlOf == "" {
		return out
	}
	return e.in.Base[id]
}
