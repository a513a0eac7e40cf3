package remeasure

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// nightlyBatch bounds the cases whose histories are in memory at once.
const nightlyBatch = 512

// A Nightly measures the cases of a branch again if their history is too short to spare
// pull requests calls. How often it measures a case depends on the number of stored
// measurements, never on their results.
type Nightly struct {
	Ledger *ledger.Ledger
	// Config is the configuration of the branch. The balance sums up the runs of
	// Repository.
	Config     *config.Config
	Repository string
	Now        func() time.Time
	// Measure runs jobs within the budget, and returns their outcomes in order.
	Measure func(context.Context, []run.Job) ([]run.Outcome, error)
}

// Run measures the cases of the jobs until each has enough measurements for a history,
// the shortest history first. The next night takes the cases that the budget or the end
// of ctx leaves out. Cases without a history are left out: cases without chance, and
// cases that are run again when they fail. The error is the ledger's.
func (c *Nightly) Run(ctx context.Context, jobs []run.Job) (*report.Night, error) {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j run.Job) bool { return !c.remembered(j) })
	night := &report.Night{}
	var spent verdict.Usage
	for n := 0; n < confirm.Enough && !night.Short; n++ {
		due, err := c.due(ctx, jobs, n)
		if err != nil {
			return nil, err
		}
		if len(due) == 0 {
			continue
		}
		outcomes, err := c.Measure(ctx, due)
		if err != nil {
			return nil, err
		}
		for _, o := range outcomes {
			spent = spent.Add(o.Spent)
			switch {
			case o.Stopped || o.Unrun != "":
				night.Short = true // the others have a longer history
			case o.Result.Verdict.Rank() >= 0:
				night.Measurements++
			}
		}
	}
	night.Calls, night.CostUSD = spent.Calls, spent.Cost()
	// Measurements are reported even if the run was interrupted.
	return night, c.balance(context.WithoutCancel(ctx), night)
}

// remembered reports whether a case has a history whose measurements can differ.
func (c *Nightly) remembered(j run.Job) bool {
	if j.Case.Policy.Retry != nil || j.Case.Alternative != nil || j.Scope.Nothing {
		return false
	}
	return NewEstimate(c.Config, j, plan.Stored{}).Chance
}

// due returns the jobs that measure the cases whose history has n measurements.
func (c *Nightly) due(ctx context.Context, jobs []run.Job, n int) ([]run.Job, error) {
	ctx = context.WithoutCancel(ctx)
	now := c.Now()
	since := now.Add(-c.Config.Noise.Defaulted().History)
	var due []run.Job
	for some := range slices.Chunk(jobs, nightlyBatch) {
		digests := make([]string, len(some))
		for i, j := range some {
			digests[i] = j.Digests.J
		}
		begun, err := ledger.HistoriesBegun(ctx, c.Ledger, digests)
		if err != nil {
			return nil, err
		}
		asks := make([]ledger.HistoryAsk, len(some))
		for i, j := range some {
			asks[i] = ledger.HistoryAsk{Case: j.Case, Digests: j.Digests, Since: since, Until: now, Most: confirm.Enough}
			if again := ledger.LastBegun(begun[j.Digests.J], now); again.After(since) {
				asks[i].Since = again
			}
		}
		found, err := ledger.ReadHistories(ctx, c.Ledger, ledger.Scope{Trust: some[0].Scope.Trust}, asks)
		if err != nil {
			return nil, err
		}
		for i, measurements := range found {
			if len(measurements) == n {
				due = append(due, c.further(some[i], measurements))
			}
		}
	}
	return due, nil
}

// further returns the job that adds a measurement to a case. Samples that an interrupted
// night left of it count.
func (c *Nightly) further(j run.Job, measurements []ledger.Measurement) run.Job {
	for _, m := range measurements {
		if after := m.Until.Add(time.Millisecond); after.After(j.Scope.NotBefore) {
			j.Scope.NotBefore = after
		}
	}
	need := NewEstimate(c.Config, j, plan.Stored{})
	j.Purpose, j.Need = plan.Collecting, need.Need()
	return j
}
