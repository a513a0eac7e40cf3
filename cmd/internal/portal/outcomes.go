package portal

import (
	"context"
	"fmt"
	"sync"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
)

// An outcome is the part of a run that lists show.
type outcome struct {
	Gate, Reason, When string
	Score              *float64
}

// mostOutcomes is how many are remembered.
const mostOutcomes = 20_000

// outcomes remembers the outcomes of runs, which do not change. It is safe for
// concurrent use.
type outcomes struct {
	ledger *ledger.Ledger

	mu    sync.Mutex
	known map[string]*outcome // guarded by mu; by run
}

// load returns the outcome of a run, or nil if the run is no longer stored.
func (o *outcomes) load(ctx context.Context, run string) (*outcome, error) {
	o.mu.Lock()
	found := o.known[run]
	o.mu.Unlock()
	if found != nil || run == "" {
		return found, nil
	}
	stored, err := ledger.RunWithoutCases(ctx, o.ledger, run)
	if err != nil || stored == nil {
		return nil, err
	}
	rep, err := report.Decode(stored.Report)
	if err != nil {
		return nil, fmt.Errorf("report of run %s: %w", run, err)
	}
	found = &outcome{Gate: rep.Gate.Result, Reason: rep.Gate.Reason, Score: rep.Summary.Score, When: stored.Finished.UTC().Format("2006-01-02 15:04")}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil || len(o.known) >= mostOutcomes {
		o.known = map[string]*outcome{}
	}
	o.known[run] = found
	return found, nil
}
