// Package remeasure measures cases again until it is clear which differences between
// base and head are real. It also estimates the effort of judging a case, lengthens
// histories at night, and finds flaky cases.
//
// A [Comparison] has the cases with their first measurements, and [Comparison.Decide]
// takes the further ones requested by package confirm. Each is stored under its own
// digests before it counts. So an interrupted comparison that is repeated finds its
// measurements in the ledger, takes the others, and has the same result as an
// uninterrupted one.
package remeasure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/power"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
)

// A Row is a case of the plan with the jobs that measure it.
type Row struct {
	*plan.Row
	Head run.Job
	// Base has no case if base cannot be measured again. It is nil if base lacks the
	// case.
	Base *run.Job
}

// A Comparison is a comparison with the means to measure its cases again.
type Comparison struct {
	Rows []Row
	// Head and Base map IDs to the sides' first outcomes. The cost of reruns is added
	// to them, and outcomes of an outage are replaced.
	Head, Base map[string]*report.Outcome
	// HeadConfig decides; base is measured with BaseConfig.
	HeadConfig, BaseConfig *config.Config
	// Limited says that the limits of the gate on scores are asked.
	Limited bool
	// Limits returns the limits on scores, of cases that are known so far by whether they
	// are certain or new; nil if no limit is asked.
	Limits func(*report.NoiseFindings) []confirm.Limit
	// Required reports whether the gate requires a key by name.
	Required func(key string) bool
	// Accepted reports whether a person accepted the outcome of a row at head; nil accepts
	// none.
	Accepted func(*plan.Row) bool
	// Improvements also measures improved cases again.
	Improvements bool
	// Power asks for what a comparison that calls nothing could have seen.
	Power bool
	// Push is the number of this head among the heads of its pull request, from 1; 0
	// outside of pull requests.
	Push   int
	Ledger *ledger.Ledger
	// Apart is the maximum time between the first outcomes of the sides that count as
	// taken at the same time, unless one sample takes longer. Defaults to [run.Apart].
	Apart time.Duration
	// Started is the start of this run's first measurements.
	Started time.Time
	// Measure is nil if nothing is measured: then only stored results count.
	Measure Measure
}

// A Measure runs jobs of both sides at the same time and returns their outcomes in the
// same order. Both are indexed by [confirm.Side].
type Measure func(ctx context.Context, jobs [2][]run.Job) ([2][]run.Outcome, error)

// Decide takes the necessary reruns and classifies the differences. The error is the
// ledger's. If a budget or the end of ctx prevents measurements, the result is
// incomplete.
func (c *Comparison) Decide(ctx context.Context) (*report.NoiseFindings, error) {
	// Stored measurements are read even if the run was interrupted.
	entries, err := c.entries(context.WithoutCancel(ctx))
	if err == nil {
		err = c.addFailures(context.WithoutCancel(ctx), entries)
	}
	if err != nil {
		return nil, err
	}
	cases := make([]confirm.Case, len(entries))
	out := &report.NoiseFindings{Index: map[string]int{}, Samples: make([][]report.NoiseSample, len(entries))}
	out.Findings = make([]confirm.Finding, len(entries))
	for i, e := range entries {
		cases[i] = e.known
		out.Index[e.row.Head.Case.ID()] = i
		out.Findings[i].Certain = e.known.Certain
		if len(e.known.Base) == 0 {
			out.Findings[i].Class = confirm.Added
		}
	}
	options := c.options()
	if c.Limits != nil {
		options.Limits = c.Limits(out)
	}
	d := &decider{Comparison: c, entries: entries, taken: map[confirm.Request]run.Outcome{}}
	d.procedure = confirm.New(cases, options)
	for batch := range d.procedure.Batches() {
		if err := d.measure(ctx, batch); err != nil {
			return nil, err
		}
	}
	out.Result, out.Why, out.SavedCalls = d.procedure.Result(), d.why, c.savedCalls(entries)
	d.finish(out)
	if c.Power && out.Complete && !out.Called() {
		out.Power = power.Estimate(ctx, cases, options)
	}
	return out, nil
}

// options returns the configured options.
func (c *Comparison) options() confirm.Options {
	settings, rule := c.HeadConfig.Noise.Defaulted(), c.HeadConfig.Gate.FailOn
	push := 0
	if settings.Over == config.OverPullRequest {
		push = max(1, c.Push)
	}
	return confirm.Options{
		Push: push, Alpha: settings.Alpha, Looks: settings.Samples, New: confirm.Rule{Runs: settings.NewRuns, Pass: settings.NewPass},
		// The run's budget bounds the calls themselves. A bound here would make the
		// requests depend on the point of an interruption.
		Budget: -1, Improvements: c.Improvements, Scores: c.HeadConfig.Gate.Scores == config.ScoresFail,
		Spare: rule == "" || rule == report.FailOnRegression,
	}
}

// Further returns the digests of a further measurement of a row's case on a side: the
// ordinal-th of the comparison of its sides. They depend only on the plan, so a process
// that plans the same commits derives the same ones.
func Further(row *plan.Row, side confirm.Side, ordinal int) plan.Digests {
	own, other := row.HeadDigests, row.BaseDigests
	if side == confirm.Base {
		own, other = other, own
	}
	against := other.D
	if sharesExecution(row) && row.Repeated {
		against += " anew" // a different measurement than one of the stored transcript
	}
	return own.Bare().Remeasured(against, ordinal, kept(row))
}

// sharesExecution reports whether the sides of a row have the same execution and differ
// in judging or deciding.
func sharesExecution(row *plan.Row) bool {
	return active(row.Base) && row.HeadDigests.E == row.BaseDigests.E && row.HeadDigests.D != row.BaseDigests.D
}

// kept returns the part that a further measurement of a row's case keeps: the
// transcript, if both sides judge the same one differently.
func kept(row *plan.Row) plan.Kept {
	return plan.Kept(sharesExecution(row) && !row.Repeated)
}

// Executes reports whether a further measurement of a row's case executes it, and does not
// judge a stored transcript again.
func Executes(row *plan.Row) bool { return kept(row) == plan.KeptNothing }

// A decider decides a comparison.
type decider struct {
	*Comparison
	entries   []*entry
	procedure *confirm.Procedure
	// taken are the outcomes of the requests, and why is the reason for a missing one.
	taken map[confirm.Request]run.Outcome
	why   string
}

// measure records the outcomes of a batch: the stored ones, and the outcomes of
// the measurements that it takes now.
func (d *decider) measure(ctx context.Context, batch []confirm.Request) error {
	jobs := make([]run.Job, len(batch))
	for i, r := range batch {
		jobs[i] = d.job(r)
	}
	stored, err := d.stored(context.WithoutCancel(ctx), jobs)
	if err != nil {
		return err
	}
	var due [2][]int
	for i, r := range batch {
		if found := stored[i]; found != nil {
			d.record(r, run.Outcome{Result: found.Result})
		} else {
			due[r.Side] = append(due[r.Side], i)
		}
	}
	if d.Measure == nil || len(due[confirm.Head])+len(due[confirm.Base]) == 0 {
		return nil
	}
	var missing [2][]run.Job
	for side, places := range due {
		for _, at := range places {
			missing[side] = append(missing[side], jobs[at])
		}
	}
	outcomes, err := d.Measure(ctx, missing)
	if err != nil {
		err = fmt.Errorf("measure again: %w", err)
	}
	// Nobody measures any more who could read these changes.
	for side, some := range outcomes {
		for i, o := range some {
			d.record(batch[due[side][i]], o)
		}
	}
	return err
}

// stored returns the ledger's decisions on the jobs, nil for missing ones.
func (c *Comparison) stored(ctx context.Context, jobs []run.Job) ([]*ledger.Decision, error) {
	places := map[ledger.Scope][]int{}
	for i, j := range jobs {
		places[j.Scope] = append(places[j.Scope], i)
	}
	out := make([]*ledger.Decision, len(jobs))
	for scope, of := range places {
		digests := make([]string, len(of))
		for i, at := range of {
			digests[i] = jobs[at].Digests.D
		}
		found, err := c.Ledger.Decided(ctx, scope, digests)
		if err != nil {
			return nil, err
		}
		for i, at := range of {
			out[at] = found[digests[i]]
		}
	}
	return out, nil
}

// record records an outcome. One that a budget or an interruption left out does not
// count.
func (d *decider) record(r confirm.Request, o run.Outcome) {
	e := d.entries[r.Case]
	e.spend(d.Comparison, r.Side, o)
	switch {
	case o.Stopped:
		d.why = o.Result.Reason
	case o.Unrun != "":
		d.why = o.Unrun
	default:
		d.taken[r] = o
		d.procedure.Record(r, outcome(e.job(r.Side).Target, o.Result))
	}
}

// job returns the job of a request. If the first outcome is an error, which is not
// stored, the case itself is measured: a continued run finds it, and counts from there.
func (d *decider) job(r confirm.Request) run.Job {
	e := d.entries[r.Case]
	job := e.job(r.Side)
	ordinal := r.Ordinal
	if e.failed(r.Side) {
		ordinal--
	}
	switch {
	case ordinal < 0 && r.Side == confirm.Base:
		job = *e.row.Base
	case ordinal < 0:
		job = e.row.Head
	default:
		job.Digests, job.Again = Further(e.row.Row, r.Side, ordinal), ordinal+1
	}
	need := d.need(e.row, r.Side, kept(e.row.Row))
	job.Need = need.Need()
	return job
}

// need returns the effort of measuring a row on a side.
func (c *Comparison) need(row *Row, side confirm.Side, kept plan.Kept) Estimate {
	cfg, job, known := c.HeadConfig, row.Head, plan.Stored{}
	if side == confirm.Base {
		cfg, job = c.BaseConfig, *row.Base
	}
	if kept == plan.KeptTranscript {
		known.Executed = job.Case.Samples()
	}
	return NewEstimate(cfg, job, known)
}

// finish lists the measurements, and replaces outcomes spoiled by an outage.
func (d *decider) finish(out *report.NoiseFindings) {
	requests := slices.SortedFunc(maps.Keys(d.taken), func(a, b confirm.Request) int {
		return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(b.Side, a.Side))
	})
	for _, r := range requests {
		o := d.taken[r]
		out.Samples[r.Case] = append(out.Samples[r.Case], report.NoiseSample{Side: r.Side.String(), Verdict: o.Result.Verdict, Score: o.Result.Score})
		if r.Ordinal == 0 && out.Result.Findings[r.Case].Retaken[r.Side] {
			d.entries[r.Case].replace(d.Comparison, r.Side, o)
		}
	}
}
