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
	return historiesWithErrors(ctx, store, limit, keep, nil)
}

// HistoriesWithErrors is Histories of all runs, with the cases whose last run ended in an
// error.
func HistoriesWithErrors(ctx context.Context, store *ledger.Ledger, limit int) (report.CaseHistory, report.CaseErrors, error) {
	errors := report.CaseErrors{}
	out, err := historiesWithErrors(ctx, store, limit, nil, errors)
	return out, errors, err
}

func historiesWithErrors(ctx context.Context, store *ledger.Ledger, limit int, keep func(ledger.Run) bool, errors report.CaseErrors) (report.CaseHistory, error) {
	runs, err := store.Runs(ctx, limit)
	if err != nil {
		return nil, err
	}
	out := report.CaseHistory{}
	for _, r := range slices.Backward(runs) { // the newest comes first
		if keep != nil && !keep(r) {
			continue
		}
		text, err := ledger.ReportWithoutCases(ctx, store, r.ID)
		if err != nil {
			return nil, err
		}
		if text == nil || report.JudgedNothing(text) { // nil was removed meanwhile
			continue
		}
		full, err := store.Run(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if err := out.AddWithErrors(report.HistoryRun{ID: r.ID, Head: r.Head, PullRequest: r.PullRequest, Finished: r.Finished, Report: full.Report}, errors); err != nil {
			return nil, err
		}
	}
	return out, nil
}
