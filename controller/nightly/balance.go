package nightly

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/controller/ledger/browse"
	"github.com/gavel-evals/gavel/controller/report"
)

// A summary is what the balance needs of a stored report.
type summary struct {
	Nightly    *report.Night `json:"nightly"`
	Remeasured *report.Noise `json:"remeasured"`
}

// page is how many runs are looked at at once.
const page = 100

// balance adds to a night what all nights of the window took, this one included, and
// what pull requests saved by them. If a head has several runs, the one counts that
// saved most.
func (c *Collection) balance(ctx context.Context, night *report.Night) error {
	window := c.Config.Noise.Defaulted().History
	total := report.Balance{Days: int(window.Hours() / 24), Calls: night.Calls, CostUSD: night.CostUSD}
	since, saved := c.Now().Add(-window), map[string]int{}
	for skip := 0; ; skip += page {
		runs, _, err := browse.Runs(ctx, c.Ledger, c.Repository, browse.Page{Skip: skip, Limit: page})
		if err != nil {
			return err
		}
		for _, r := range runs {
			if r.Started.Before(since) {
				runs = nil // they and all after them are too old
				break
			}
			var s summary
			if err := json.Unmarshal(r.Report, &s); err != nil {
				return fmt.Errorf("report of run %s: %w", r.ID, err)
			}
			if n := s.Nightly; n != nil {
				total.Calls += n.Calls
				total.CostUSD = sum(total.CostUSD, n.CostUSD)
			}
			if s.Remeasured != nil {
				head := fmt.Sprint(r.PullRequest, " ", r.Head)
				saved[head] = max(saved[head], s.Remeasured.SavedCalls)
			}
		}
		if len(runs) < page {
			break
		}
	}
	for _, calls := range saved {
		total.SavedCalls += calls
	}
	night.Balance = total
	return nil
}

// sum is nil where one of the costs is not known.
func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	both := *a + *b
	return &both
}
