package main

import (
	"context"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/schema"
)

// affectedSince returns notices about the change since the merge base of the
// selection's Since and HEAD, and a function that reports whether a case may be
// affected by it; nil if it affects none.
func (a *App) affectedSince(ctx context.Context, w *workspace, store *ledger.Ledger, s selection) (affected func(*schema.CaseInfo) bool, notices []report.Notice, err error) {
	s.Base, s.Since, s.Brief, s.Unasked = s.Since, "", true, "it is asked what is affected"
	prepared, err := a.Local(ctx, w, store, s)
	if err != nil {
		return nil, nil, err
	}
	keys := map[string]bool{}
	for _, row := range prepared.Plan.Rows {
		if row.Head != nil && !row.Unaffected() {
			keys[row.Key] = true
		}
	}
	if len(keys) == 0 {
		return nil, nil, nil
	}
	return func(c *schema.CaseInfo) bool { return keys[c.Key] }, prepared.Notices(), nil
}
