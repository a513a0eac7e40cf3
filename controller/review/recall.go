package review

import (
	"context"
	"fmt"
	"strings"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
)

// Recalled bounds the runs that are searched for a report.
const Recalled = 5000

// Newest reads the ledger's newest report of a pull request's head, or nil. repository
// is as [Config] knows it.
func Newest(ctx context.Context, store *ledger.Ledger, repository string, number int, head string) (*report.Report, error) {
	runs, err := store.Runs(ctx, Recalled)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if r.PullRequest == number && r.Head == head && strings.EqualFold(r.Repository, repository) {
			return Stored(ctx, store, r.ID)
		}
	}
	return nil, nil
}

// Stored reads the report of a run.
func Stored(ctx context.Context, store *ledger.Ledger, id string) (*report.Report, error) {
	run, err := store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	report, err := report.Decode(run.Report)
	if err != nil {
		return nil, fmt.Errorf("read the report of run %s: %w", id, err)
	}
	return report, nil
}
