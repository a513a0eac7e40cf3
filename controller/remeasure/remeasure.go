// Package remeasure measures cases again until it is clear which differences between
// base and head are real. It also estimates what judging a case takes, lengthens
// histories by night, and finds flaky cases.
//
// A [Comparison] has the cases with what their first measurements showed, and
// [Comparison.Decide] asks for further ones as package confirm says. Each of them is
// stored under digests of its own before it counts. So a comparison that ends early
// and is made again finds its measurements in the ledger, asks for the others, and
// comes to the same result as one that did not end.
package remeasure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
)

// A Row is a case of the plan with the jobs that measure it.
type Row struct {
	*plan.Row
	Head run.Job
	// Base has no case where base cannot be measured again. It is nil where base does
	// not have the case.
	Base *run.Job
}

// A Comparison is what is compared, and what measuring it again takes.
type Comparison struct {
	Rows []Row
	// Head and Base are the first outcomes by the ID at the side. The cost of
	// measuring again is added to them, and outcomes of an outage are replaced.
	Head, Base map[string]report.Outcome
	// HeadConfig decides; BaseConfig is what base is measured with.
	HeadConfig, BaseConfig *config.Config
	// Required reports whether the gate asks for a key by name.
	Required func(key string) bool
	// Improvements asks for cases that got better, too.
	Improvements bool
	Ledger       *ledger.Ledger
	// Started is when the first measurements of this run began.
	Started time.Time
	// Measure is nil where nothing is measured: then only what is stored counts.
	Measure Measure
}

// A Measure runs jobs of a side and returns their outcomes in the same order. The
// sides are measured at the same time.
type Measure func(ctx context.Context, side confirm.Side, jobs []run.Job) ([]run.Outcome, error)

// Decide measures what has to be measured again and says what the differences are.
// The error is the ledger's. Where a budget or the end of ctx keeps measurements
// from being made, the result is not complete.
func (c *Comparison) Decide(ctx context.Context) (*report.NoiseFindings, error) {
	// Stored measurements are read even if the run was interrupted.
	entries, err := c.entries(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	cases := make([]confirm.Case, len(entries))
	out := &report.NoiseFindings{Index: map[string]int{}, Samples: make([][]report.NoiseSample, len(entries))}
	for i, e := range entries {
		cases[i] = e.known
		out.Index[e.row.Head.Case.ID()] = i
	}
	d := &decider{Comparison: c, entries: entries, taken: map[confirm.Request]run.Outcome{}}
	d.procedure = confirm.New(cases, c.options())
	for batch := range d.procedure.Batches() {
		if err := d.measure(ctx, batch); err != nil {
			return nil, err
		}
	}
	out.Result, out.Why, out.SavedCalls = d.procedure.Result(), d.why, c.savedCalls(entries)
	d.finish(out)
	return out, nil
}

// options are those that the configuration sets.
func (c *Comparison) options() confirm.Options {
	settings := c.HeadConfig.Noise.Defaulted()
	return confirm.Options{
		Alpha: settings.Alpha, Looks: settings.Samples, New: confirm.Rule{Runs: settings.NewRuns, Pass: settings.NewPass},
		// The run's budget bounds the calls themselves. A bound here would make what is
		// asked depend on where the run was interrupted.
		Budget: -1, Improvements: c.Improvements, Scores: c.HeadConfig.Gate.Scores == config.ScoresFail,
	}
}

// Further returns the digests under which a further measurement of a row's case at a side
// is stored: the ordinal-th of the comparison of its sides. They depend on the plan
// alone, so that a process that plans the same commits derives the same ones.
func Further(row *plan.Row, side confirm.Side, ordinal int) plan.Digests {
	own, other := row.HeadDigests, row.BaseDigests
	if side == confirm.Base {
		own, other = other, own
	}
	against := other.D
	if sharesExecution(row) && row.Repeated {
		against += " anew" // which is another measurement than one of the stored transcript
	}
	return own.Bare().Remeasured(against, ordinal, kept(row))
}

// sharesExecution reports whether the sides of a row execute the same and judge or decide
// it differently.
func sharesExecution(row *plan.Row) bool {
	return active(row.Base) && row.HeadDigests.E == row.BaseDigests.E && row.HeadDigests.D != row.BaseDigests.D
}

// kept says what a further measurement of a row's case keeps: the transcript, where both
// sides judge the same one differently.
func kept(row *plan.Row) plan.Kept {
	return plan.Kept(sharesExecution(row) && !row.Repeated)
}

// Executes reports whether a further measurement of a row's case executes it, and does not
// judge a stored transcript again.
func Executes(row *plan.Row) bool { return kept(row) == plan.KeptNothing }

// A decider is a comparison that is being decided.
type decider struct {
	*Comparison
	entries   []*entry
	procedure *confirm.Procedure
	// taken are the outcomes of what was asked, and why what kept one from being
	// taken.
	taken map[confirm.Request]run.Outcome
	why   string
}

// measure records the outcomes of a batch: those that are stored, and those of the
// measurements that are made now.
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
	if d.Measure == nil {
		return nil
	}
	var outcomes [2][]run.Outcome
	var group errgroup.Group
	for side, places := range due {
		if len(places) == 0 {
			continue
		}
		group.Go(func() error {
			mine := make([]run.Job, len(places))
			for i, at := range places {
				mine[i] = jobs[at]
			}
			var err error
			if outcomes[side], err = d.Measure(ctx, confirm.Side(side), mine); err != nil {
				return fmt.Errorf("measure %s again: %w", confirm.Side(side), err)
			}
			return nil
		})
	}
	err = group.Wait()
	// Nobody measures any more who could read what this changes.
	for side, some := range outcomes {
		for i, o := range some {
			d.record(batch[due[side][i]], o)
		}
	}
	return err
}

// stored are the decisions that the ledger has on the jobs, nil for the others.
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

// record notes an outcome. One that a budget or an interruption left out is none.
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
		d.procedure.Record(r, outcome(e.job(r.Side).Target, o.Result, nil))
	}
}

// job is the job that measures what is asked for. Where the first outcome is an error,
// which is not stored, the case itself is measured: a run that goes on later finds
// it, and counts from there.
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

// need is what a measurement of a row at a side takes.
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

// finish lists what was measured, and puts what an outage spoiled right.
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
