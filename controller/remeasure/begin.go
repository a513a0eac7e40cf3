package remeasure

import (
	"context"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/report"
)

// BeginHistories restarts the histories of the compared cases at a time. It is called
// if base was found to differ from its stored results.
func (c *Comparison) BeginHistories(ctx context.Context, found *report.NoiseFindings, at time.Time) error {
	var digests []string
	for _, r := range c.Rows {
		if found.Finding(r.Row) != nil && r.Row.BaseDigests.J != "" {
			digests = append(digests, r.Row.BaseDigests.J)
		}
	}
	return ledger.BeginHistories(ctx, c.Ledger, digests, at)
}
