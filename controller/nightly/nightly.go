// Package nightly measures the cases of a branch further where their history is too
// short to spare pull requests calls, and says what that cost and what it saved.
//
// Most callers want [Collection.Run]. How often a case is measured depends on how many
// measurements its history has, and never on what they showed.
package nightly

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/history"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// batch is of how many cases the histories are in memory at once.
const batch = 512

// A Collection has what it takes to measure cases further.
type Collection struct {
	Ledger *ledger.Ledger
	// Config is that of the branch, and Repository the one whose runs are looked at
	// for what the histories saved.
	Config     *config.Config
	Repository string
	Now        func() time.Time
	// Measure runs jobs within the budget, and returns their outcomes in order.
	Measure func(context.Context, []run.Job) ([]run.Outcome, error)
}

// Run measures the cases of the jobs until each has as many measurements as make a
// history, those with the shortest history first. Cases that the budget or the end of
// ctx leaves out are left to the next night. Cases that have no history, since nothing
// in them is left to chance or since they are run again when they fail, are left out.
// The error is the ledger's.
func (c *Collection) Run(ctx context.Context, jobs []run.Job) (*report.Night, error) {
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

// remembered reports whether package history has measurements of a case, and they can
// differ.
func (c *Collection) remembered(j run.Job) bool {
	if j.Case.Policy.Retry != nil || j.Case.Alternative != nil || j.Scope.Nothing {
		return false
	}
	return remeasure.NewEstimate(c.Config, j, plan.Stored{}).Chance
}

// due are the jobs that measure the cases whose history has so many measurements.
func (c *Collection) due(ctx context.Context, jobs []run.Job, n int) ([]run.Job, error) {
	ctx = context.WithoutCancel(ctx)
	now := c.Now()
	since := now.Add(-c.Config.Noise.Defaulted().History)
	var due []run.Job
	for some := range slices.Chunk(jobs, batch) {
		digests := make([]string, len(some))
		for i, j := range some {
			digests[i] = j.Digests.J
		}
		begun, err := history.Begun(ctx, c.Ledger, digests)
		if err != nil {
			return nil, err
		}
		asks := make([]history.Ask, len(some))
		for i, j := range some {
			asks[i] = history.Ask{Case: j.Case, Digests: j.Digests, Since: since, Until: now, Most: confirm.Enough}
			if again := history.Last(begun[j.Digests.J], now); again.After(since) {
				asks[i].Since = again
			}
		}
		found, err := history.Read(ctx, c.Ledger, ledger.Scope{Trust: some[0].Scope.Trust}, asks)
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

// further is the job that adds to the measurements of a case. The samples that an
// interrupted night left of one count.
func (c *Collection) further(j run.Job, measurements []history.Measurement) run.Job {
	for _, m := range measurements {
		if after := m.Until.Add(time.Millisecond); after.After(j.Scope.NotBefore) {
			j.Scope.NotBefore = after
		}
	}
	need := remeasure.NewEstimate(c.Config, j, plan.Stored{})
	j.Purpose, j.Need = plan.Collecting, need.Need()
	return j
}
