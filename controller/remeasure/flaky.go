package remeasure

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
)

// mostMeasurements bounds the measurements of a case that count. The newest count.
const mostMeasurements = 50

// A FlakySubject is a case whose stored measurements decide whether it is flaky.
type FlakySubject struct {
	// Name is the key of the case, with the target if there are several.
	Name    string
	Case    *schema.Case
	Digests plan.Digests
}

// A FlakyFinding counts the measurements of a subject and reports whether it is flaky.
type FlakyFinding struct {
	// Measurements may be 0 for a subject that has fewer than [report.Fewest].
	Measurements int
	// Flaky is nil if the case is not flaky.
	Flaky *report.FlakyCase
}

// flakyBatch bounds the subjects whose measurements are in memory at once.
const flakyBatch = 512

// FindFlaky classifies the subjects by the measurements that the scope may read, and
// returns the findings in their order. Samples taken because of an outcome do not count,
// and neither do the samples of a model that no longer answers, see [ledger.ReadHistories].
func FindFlaky(ctx context.Context, store *ledger.Ledger, scope ledger.Scope, subjects []FlakySubject) ([]FlakyFinding, error) {
	found := make([]FlakyFinding, 0, len(subjects))
	for some := range slices.Chunk(subjects, flakyBatch) {
		asks := make([]ledger.HistoryAsk, len(some))
		for i, s := range some {
			asks[i] = ledger.HistoryAsk{Case: s.Case, Digests: s.Digests, Until: forever, Most: mostMeasurements, Least: report.Fewest}
		}
		stored, err := ledger.ReadHistories(ctx, store, scope, asks)
		if err != nil {
			return nil, err
		}
		for i, measurements := range stored {
			found = append(found, classifySubject(some[i], measurements))
		}
	}
	return found, nil
}

// classifySubject classifies a subject by its measurements.
func classifySubject(s FlakySubject, measurements []ledger.Measurement) FlakyFinding {
	seen := make([]report.FlakyMeasurement, len(measurements))
	for k, m := range measurements {
		seen[k] = report.FlakyMeasurement{Ordinal: m.Ordinal, At: m.At, Verdict: m.Result.Verdict, Score: m.Result.Score, Reason: m.Result.Reason}
	}
	out := FlakyFinding{Measurements: len(seen), Flaky: report.ClassifyFlaky(seen)}
	if c := out.Flaky; c != nil {
		c.Name, c.Digest, c.Model = s.Name, s.Digests.D, measurements[len(measurements)-1].Model
	}
	return out
}

// forever is later than any sample.
var forever = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// ExplainFlaky adds to a flaky case the cost of its samples and the reply of the
// measurement that disagrees.
func ExplainFlaky(ctx context.Context, store *ledger.Ledger, scope ledger.Scope, s FlakySubject, c *report.FlakyCase) error {
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

// MarkFlaky notes the flaky cases among those that the change affects in the input of a
// report, by their measurements at base, or at head if there is no base.
func MarkFlaky(ctx context.Context, store *ledger.Ledger, in *report.Input, trust, baseTrust ledger.Trust) error {
	if store == nil {
		return nil
	}
	var subjects [2][]FlakySubject
	var ids [2][]string
	for i := range in.Plan.Rows {
		r := &in.Plan.Rows[i]
		if r.Head == nil || len(r.Reasons) == 0 || r.Asked {
			continue
		}
		s, side := FlakySubject{Name: r.Key, Case: r.HeadCase, Digests: r.HeadDigests}, 1
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
		found, err := FindFlaky(ctx, store, ledger.Scope{Trust: by}, subjects[side])
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
