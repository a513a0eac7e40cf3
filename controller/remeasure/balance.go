package remeasure

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
)

// A storedNight is the part of a stored report that the balance needs.
type storedNight struct {
	Nightly    *report.Night `json:"nightly"`
	Remeasured *report.Noise `json:"remeasured"`
}

// balancePage is the number of runs read at once.
const balancePage = 100

// balance computes the cost of all nights of the window, including this one, and the
// calls that they saved pull requests. If a head has several runs, the one with the
// largest savings counts.
func (c *Nightly) balance(ctx context.Context, night *report.Night) error {
	window := c.Config.Noise.Defaulted().History
	total := report.Balance{Days: int(window.Hours() / 24), Calls: night.Calls, CostUSD: night.CostUSD}
	since, saved := c.Now().Add(-window), map[string]int{}
	for skip := 0; ; skip += balancePage {
		runs, _, err := ledger.PageRuns(ctx, c.Ledger, c.Repository, ledger.RunPage{Skip: skip, Limit: balancePage})
		if err != nil {
			return err
		}
		for _, r := range runs {
			if r.Started.Before(since) {
				runs = nil // they and all after them are too old
				break
			}
			var s storedNight
			if err := json.Unmarshal(r.Report, &s); err != nil {
				return fmt.Errorf("report of run %s: %w", r.ID, err)
			}
			if n := s.Nightly; n != nil {
				total.Calls += n.Calls
				total.CostUSD = sumCosts(total.CostUSD, n.CostUSD)
			}
			if s.Remeasured != nil {
				head := fmt.Sprint(r.PullRequest, " ", r.Head)
				saved[head] = max(saved[head], s.Remeasured.SavedCalls)
			}
		}
		if len(runs) < balancePage {
			break
		}
	}
	for _, calls := range saved {
		total.SavedCalls += calls
	}
	night.Balance = total
	return nil
}

// sumCosts adds two costs. It returns nil if one of them is unknown.
func sumCosts(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	both := *a + *b
	return &both
}
