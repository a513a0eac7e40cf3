package maintenance

import (
	"context"
	"fmt"

	"github.com/gavel-evals/gavel/controller/ledger"
)

// A CollectResult is the result of a garbage collection.
type CollectResult struct {
	Removed ledger.Removed `json:"removed"`
	// BytesBefore and Bytes are sizes of the file.
	BytesBefore int64 `json:"bytes_before"`
	Bytes       int64 `json:"bytes"`
	DryRun      bool  `json:"dry_run"`
}

// Collect removes old entries that are not needed.
func Collect(ctx context.Context, store *ledger.Ledger, c ledger.Collection) (CollectResult, error) {
	out := CollectResult{DryRun: c.DryRun}
	before, err := store.Counts(ctx)
	if err != nil {
		return out, err
	}
	if out.Removed, err = store.Collect(ctx, c); err != nil {
		return out, err
	}
	after, err := store.Counts(ctx)
	out.BytesBefore, out.Bytes = before.Bytes+before.Free, after.Bytes+after.Free
	return out, err
}

// Text describes the removed entries.
func (c CollectResult) Text() string {
	verb, r := "removed", c.Removed
	if c.DryRun {
		verb = "would be removed"
	}
	return fmt.Sprintf("%s: %s, %s, %s, %s and %s; %s, before %s\n", verb, count(r.Verdicts, "verdict"), count(r.Samples, "sample"),
		count(r.Judgements, "judgement"), count(r.Calls, "call"), count(r.Runs, "run"), size(c.Bytes), size(c.BytesBefore))
}
