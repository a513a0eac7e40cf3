package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/suggest"
)

// The results that --only knows.
const (
	onlyFailed = "failed" // its verdict is fail
	onlyErrors = "errors" // it could not be judged, or was not run
	onlyFlaky  = "flaky"  // the same definition had another verdict
)

var onlyResults = []string{onlyFailed, onlyErrors, onlyFlaky}

// mostRecalled bounds the number of runs searched for the last one.
const mostRecalled = 5000

// recallPage is how many runs are read at once to find the last one.
const recallPage = 50

// lastResults returns the cases with one of the results in the newest run of a checkout that is
// stored without a repository, as a working tree's runs are. The error is a [*SelectionMistake]
// if a word is unknown or there is no run, else the ledger's.
func lastResults(ctx context.Context, store *ledger.Ledger, head Checkout, ways []string) (func(*schema.CaseInfo) bool, error) {
	for _, way := range ways {
		if !slices.Contains(onlyResults, way) {
			hint := cmp.Or(suggest.DidYouMean(way, onlyResults), "write one of "+strings.Join(onlyResults, ", "))
			return nil, mistake("--only %q is not known; %s", way, hint)
		}
	}
	id, err := lastRun(ctx, store, head)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, mistake("--only: no run of the working tree is stored yet; start gavel run first")
	}
	run, err := store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	report, err := report.Decode(run.Report)
	if err != nil {
		return nil, fmt.Errorf("read the report of run %s: %w", run.ID, err)
	}
	keys := map[string]bool{}
	for i := range report.Cases {
		if row := &report.Cases[i]; slices.ContainsFunc(ways, func(way string) bool { return rowEnded(row, way) }) {
			keys[row.Key] = true
		}
	}
	return func(c *schema.CaseInfo) bool { return keys[c.Key] }, nil
}

// lastRun returns the id of the newest run of a checkout's branch, or of any other branch if
// this one has none: linked working trees share a ledger, and a new branch begins with the
// results of the one before. It returns "" if there is none.
func lastRun(ctx context.Context, store *ledger.Ledger, head Checkout) (newest string, err error) {
	for skip := 0; skip < mostRecalled; skip += recallPage {
		runs, _, err := ledger.PageRuns(ctx, store, "", ledger.RunPage{Skip: skip, Limit: recallPage})
		if err != nil {
			return "", err
		}
		for _, r := range runs {
			if r.Head != head.Commit || r.Repository != "" {
				continue
			}
			of, err := report.Decode(r.Report)
			if err != nil {
				return "", fmt.Errorf("read the report of run %s: %w", r.ID, err)
			}
			if of.Branch == head.Branch {
				return r.ID, nil
			}
			newest = cmp.Or(newest, r.ID)
		}
		if len(runs) < recallPage {
			break
		}
	}
	return newest, nil
}

func rowEnded(row *report.Row, way string) bool {
	switch way {
	case onlyFailed:
		return row.Verdict != nil && *row.Verdict == verdict.Fail
	case onlyErrors:
		return row.Error != nil && !row.Invalid()
	}
	return row.Class != nil && *row.Class == report.Flaky
}
