package controller

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/remeasure"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/verdict"
	"github.com/gavel-evals/gavel/schema"
	"github.com/gavel-evals/gavel/schema/wildcard"
)

// remeasure distinguishes differences between the sides from noise. j takes further
// measurements; nil takes none. It reports whether no missing measurement is left to
// the next run.
func (e *execution) remeasure(ctx context.Context, started time.Time, j *judging) (complete bool, err error) {
	if err := e.markFlaky(ctx); err != nil {
		return false, err
	}
	c := e.p.comparison()
	if c == nil || e.opts.NotRun != "" {
		return true, nil
	}
	c.Rows = slices.DeleteFunc(c.Rows, func(r remeasure.Row) bool { return e.in.InQuarantine(r.Row) != nil })
	c.Accepted = e.in.Accepted
	c.Head, c.Base, c.Started, c.Power = e.in.Head, e.in.Base, started, e.opts.Power
	if c.Limited = c.Limited && e.in.Gate.Unasked == ""; c.Limited {
		c.Limits = e.in.Limits
	}
	again := &measuringAgain{judging: j, rows: sync.OnceValue(e.rowsAgain)}
	if j != nil {
		c.Measure = again.measure
	}
	e.in.Noise, err = c.Decide(ctx)
	complete = e.in.Noise == nil || e.in.Noise.Complete
	if err != nil || !again.measured.Load() || !e.in.Noise.Stale {
		return complete, err
	}
	return complete, c.BeginHistories(context.WithoutCancel(ctx), e.in.Noise, e.p.req.Now())
}

// markFlaky marks the affected flaky cases in the report.
func (e *execution) markFlaky(ctx context.Context) error {
	rule := e.p.req.Head.Config.Noise.Defaulted().Flaky
	if rule == config.FlakyIgnore || e.opts.NotRun != "" {
		return nil
	}
	e.in.Gate.FailFlaky = rule == config.FlakyFail
	// Known results are reported even if the run was interrupted.
	return remeasure.MarkFlaky(context.WithoutCancel(ctx), e.p.req.Ledger, e.in, e.p.req.HeadTrust, e.p.req.BaseTrust)
}

// collectHistory takes a scheduled run's extra measurements, if the team wants them.
func (e *execution) collectHistory(ctx context.Context, j *judging) (err error) {
	p, cfg := e.p, e.p.req.Head.Config
	if p.req.Before.IsZero() || p.req.Ledger == nil || e.opts.NotRun != "" || !cfg.Noise.Nightly {
		return nil
	}
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if o, known := e.in.Head[r.Head.ID()]; known && r.ControlOf == "" && o.Unrun == "" && o.Result.Verdict.Rank() >= 0 && r.HeadCase != nil {
			jobs = append(jobs, p.headJob(r))
		}
	}
	c := remeasure.Nightly{Ledger: p.req.Ledger, Config: cfg, Repository: e.opts.Repository, Now: p.req.Now, Measure: func(ctx context.Context, jobs []run.Job) ([]run.Outcome, error) {
		outcomes, err := j.again(ctx, []jobBatch{{j.head, jobs}})
		return outcomes[0], err
	}}
	e.in.Nightly, err = c.Run(ctx, jobs)
	return err
}

// comparison returns the comparison without outcomes; nil if nothing is measured again.
func (p *Prepared) comparison() *remeasure.Comparison {
	cfg := p.req.Head.Config
	if p.req.Base == nil || p.req.Ledger == nil || !p.req.Before.IsZero() || cfg.Noise.Confirm == config.ConfirmOff {
		return nil
	}
	return &remeasure.Comparison{
		Rows: p.comparedRows(), HeadConfig: cfg, BaseConfig: p.req.Base.Config, Ledger: p.req.Ledger, Improvements: p.req.Improvements, Push: p.req.Push,
		Limited: p.req.asks(),
		Required: func(key string) bool {
			return slices.ContainsFunc(cfg.Gate.Required, func(glob string) bool { return wildcard.Match(glob, key) })
		},
	}
}

// A measuringAgain takes further measurements of the cases that may run.
type measuringAgain struct {
	*judging
	// rows returns head's rows as they are measured again.
	rows func() map[*schema.Case]plan.Row
	// measured is set by each measurement.
	measured atomic.Bool
}

// rowsAgain returns head's rows as they are measured again; nil if none is withheld.
func (e *execution) rowsAgain() map[*schema.Case]plan.Row {
	if e.opts.Withhold == nil {
		return nil
	}
	rows := make(map[*schema.Case]plan.Row, len(e.p.Plan.Rows))
	for _, r := range e.p.Plan.Rows {
		if again, compared := measuredAgain(r); compared {
			rows[r.HeadCase] = again
		}
	}
	return rows
}

// measure implements [remeasure.Measure]. A case that must not be judged is not
// measured again either, even with a stored verdict.
func (m *measuringAgain) measure(ctx context.Context, jobs [2][]run.Job) (outcomes [2][]run.Outcome, err error) {
	var places [2][]int // of the jobs that are measured
	for side, all := range jobs {
		outcomes[side] = make([]run.Outcome, len(all))
		for i, job := range all {
			if why := m.withheld(confirm.Side(side), job.Case); why != "" {
				outcomes[side][i] = run.Outcome{Key: job.Case.Key, Unrun: why, Result: verdict.Result{Verdict: verdict.Error, Reason: why}}
				continue
			}
			places[side] = append(places[side], i)
		}
	}
	places, both := m.e.p.pairsFirst(jobs, places)
	var batches []jobBatch
	var sides []int
	for side, of := range []*side{confirm.Head: m.head, confirm.Base: m.base} {
		b := jobBatch{side: of}
		for _, i := range places[side] {
			b.jobs = append(b.jobs, jobs[side][i])
		}
		if len(b.jobs) > 0 {
			batches, sides = append(batches, b), append(sides, side)
		}
	}
	if len(batches) == 0 {
		return outcomes, nil
	}
	if both > 0 {
		run.Pair(batches[0].jobs[:both], batches[1].jobs[:both])
	}
	m.measured.Store(true)
	measured, err := m.again(ctx, batches)
	for n, side := range sides {
		for i, o := range measured[n] {
			outcomes[side][places[side][i]] = o
		}
	}
	return outcomes, err
}

// pairsFirst reorders the places of both sides' jobs: first jobs of the same cases, in
// the same order, then the others. It returns the number of the former.
func (p *Prepared) pairsFirst(jobs [2][]run.Job, places [2][]int) (ordered [2][]int, both int) {
	left := map[*schema.Case][]int{}
	for _, i := range places[confirm.Base] {
		c := jobs[confirm.Base][i].Case
		left[c] = append(left[c], i)
	}
	rows := p.rowsByHead()
	var alone [2][]int
	for _, i := range places[confirm.Head] {
		other := rows[jobs[confirm.Head][i].Case.ID()].BaseCase
		if len(left[other]) == 0 {
			alone[confirm.Head] = append(alone[confirm.Head], i)
			continue
		}
		ordered[confirm.Head] = append(ordered[confirm.Head], i)
		ordered[confirm.Base] = append(ordered[confirm.Base], left[other][0])
		left[other] = left[other][1:]
	}
	for _, i := range places[confirm.Base] {
		if slices.Contains(left[jobs[confirm.Base][i].Case], i) {
			alone[confirm.Base] = append(alone[confirm.Base], i)
		}
	}
	both = len(ordered[confirm.Head])
	for side := range ordered {
		ordered[side] = append(ordered[side], alone[side]...)
	}
	return ordered, both
}

// withheld returns the reason why a case of head is not measured again; empty if it is.
func (m *measuringAgain) withheld(is confirm.Side, c *schema.Case) string {
	if is == confirm.Base {
		return ""
	}
	row, there := m.rows()[c]
	if !there {
		return ""
	}
	return m.e.opts.Withhold(row)
}

// comparedRows returns head's cases with the data for measuring them again.
func (p *Prepared) comparedRows() []remeasure.Row {
	base := p.requirement(*p.req.Base)
	rows := make([]remeasure.Row, 0, len(p.Plan.Rows))
	for i := range p.Plan.Rows {
		r := &p.Plan.Rows[i]
		if r.Head == nil || r.HeadCase == nil || r.Asked || r.ControlOf != "" {
			continue
		}
		row := remeasure.Row{Row: r, Head: p.headJob(*r)}
		if r.Base != nil {
			job := p.baseJob(*r)
			row.Base = &job
			judgedOnly := r.BaseDigests.E == r.HeadDigests.E && !r.Repeated
			t := p.req.Base.Config.Targets[row.Base.Target]
			if !measurable(t) && !t.Unversioned() && !judgedOnly || p.rebuiltFor(*r) != "" || base.Missing(r.BaseCase, row.Base.Target) != "" {
				row.Base.Case = nil
			}
		}
		rows = append(rows, row)
	}
	return rows
}
