package cli

import (
	"context"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/schema"
)

// affectedSince returns whether a case is one that the change since the merge base of
// the selection's Since and HEAD can have affected; nil where it affects none.
func (a *App) affectedSince(ctx context.Context, w *Workspace, store *ledger.Ledger, s Selection) (func(*schema.CaseInfo) bool, error) {
	s.Base, s.Since, s.Brief, s.Unasked = s.Since, "", true, "it is asked what is affected"
	prepared, err := a.Local(ctx, w, store, s)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, row := range prepared.Plan.Rows {
		if row.Head != nil && !row.Unaffected() {
			keys[row.Key] = true
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return func(c *schema.CaseInfo) bool { return keys[c.Key] }, nil
}
