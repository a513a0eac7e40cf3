// Package flakiness finds in a ledger which cases are flaky.
//
// Most callers want [Find]. Samples that were taken because of an outcome, and those of
// a model that answers no more, do not count, see package history.
package flakiness

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/ledger/history"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// Most is how many measurements of a case count, the newest ones.
const Most = 50

// A Subject is a case of which measurements may be stored.
type Subject struct {
	// Name is the key of the case, with the target where there are several.
	Name    string
	Case    *schema.Case
	Digests plan.Digests
}

// A Finding says how often a subject was measured, and whether it is flaky.
type Finding struct {
	Measurements int
	// Flaky is nil for a case that is not.
	Flaky *report.FlakyCase
}

// batch is of how many subjects the measurements are in memory at once.
const batch = 512

// Find returns what the scope may know of the subjects, in their order.
func Find(ctx context.Context, store *ledger.Ledger, scope ledger.Scope, subjects []Subject) ([]Finding, error) {
	found := make([]Finding, 0, len(subjects))
	for some := range slices.Chunk(subjects, batch) {
		asks := make([]history.Ask, len(some))
		for i, s := range some {
			asks[i] = history.Ask{Case: s.Case, Digests: s.Digests, Until: forever, Most: Most}
		}
		stored, err := history.Read(ctx, store, scope, asks)
		if err != nil {
			return nil, err
		}
		for i, measurements := range stored {
			found = append(found, find(some[i], measurements))
		}
	}
	return found, nil
}

// find returns what the measurements of a subject show.
func find(s Subject, measurements []history.Measurement) Finding {
	seen := make([]report.FlakyMeasurement, len(measurements))
	for k, m := range measurements {
		seen[k] = report.FlakyMeasurement{Ordinal: m.Ordinal, At: m.At, Verdict: m.Result.Verdict, Score: m.Result.Score, Reason: m.Result.Reason}
	}
	out := Finding{Measurements: len(seen), Flaky: report.ClassifyFlaky(seen)}
	if c := out.Flaky; c != nil {
		c.Name, c.Digest, c.Model = s.Name, s.Digests.D, measurements[len(measurements)-1].Model
	}
	return out
}

// forever is later than any sample.
var forever = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Explain adds to a flaky case what its samples took, and what the target replied where
// the case disagrees.
func Explain(ctx context.Context, store *ledger.Ledger, scope ledger.Scope, s Subject, c *report.FlakyCase) error {
	executions, _, err := store.Executions(ctx, scope, s.Digests.E)
	if err != nil {
		return err
	}
	judged, err := store.Judgements(ctx, scope, s.Digests.J)
	if err != nil {
		return err
	}
	var spent verdict.Usage
	for _, x := range executions {
		spent = spent.Add(x.Usage).Add(x.Transcript.Simulated)
		if x.Ordinal == c.Disagrees.Ordinal {
			c.Disagrees.Reply = x.Transcript.Final()
		}
	}
	for _, j := range judged {
		spent = spent.Add(j.Usage)
	}
	c.Cost = &report.FlakyCost{Samples: len(executions), Calls: spent.Calls, Tokens: spent.InputTokens + spent.OutputTokens, CostUSD: spent.Cost()}
	return nil
}

// Mark notes in the input of a report which of the cases that the change affects are
// flaky: at base, or at head where there is no base.
func Mark(ctx context.Context, store *ledger.Ledger, in *report.Input, trust, baseTrust ledger.Trust) error {
	if store == nil {
		return nil
	}
	var subjects [2][]Subject
	var ids [2][]string
	for i := range in.Plan.Rows {
		r := &in.Plan.Rows[i]
		if r.Head == nil || len(r.Reasons) == 0 || r.Asked {
			continue
		}
		s, side := Subject{Name: r.Key, Case: r.HeadCase, Digests: r.HeadDigests}, 1
		if r.BaseCase != nil {
			s.Case, s.Digests, side = r.BaseCase, r.BaseDigests, 0
		}
		if r.Head.PerTarget {
			s.Name += " @ " + r.Target
		}
		if s.Case != nil {
			subjects[side], ids[side] = append(subjects[side], s), append(ids[side], r.Head.ID())
		}
	}
	in.Flaky = map[string]*report.FlakyCase{}
	for side, by := range [2]ledger.Trust{baseTrust, trust} {
		found, err := Find(ctx, store, ledger.Scope{Trust: by}, subjects[side])
		if err != nil {
			return err
		}
		for i, f := range found {
			if f.Flaky != nil {
				in.Flaky[ids[side][i]] = f.Flaky
			}
		}
	}
	return nil
}
