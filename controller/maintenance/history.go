package maintenance

import (
	"context"
	"slices"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
)

// Histories reads the verdicts of cases in the newest runs of a ledger, at most limit.
// A run rejected by keep does not count; nil keeps all. The error is the ledger's, or
// about an unreadable report.
func Histories(ctx context.Context, store *ledger.Ledger, limit int, keep func(ledger.Run) bool) (report.CaseHistory, error) {
	runs, err := store.Runs(ctx, limit)
	if err != nil {
		return nil, err
	}
	out := report.CaseHistory{}
	for _, r := range slices.Backward(runs) { // the newest comes first
		if keep != nil && !keep(r) {
			continue
		}
		frame, err := ledger.RunWithoutCases(ctx, store, r.ID)
		if err != nil {
			return nil, err
		}
		if frame == nil || report.JudgedNothing(frame.Report) { // nil was removed meanwhile
			continue
		}
		full, err := store.Run(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if err := out.Add(report.HistoryRun{ID: r.ID, Head: r.Head, PullRequest: r.PullRequest, Finished: r.Finished, Report: full.Report}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
