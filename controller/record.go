package controller

import (
	"context"
	"fmt"

	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
)

// recordStored hands the stored replies of cases that are not judged in this run to
// Record, so that a recording has what the whole report rests on. Those that
// are judged tell of theirs themselves.
func (p *Prepared) recordStored(ctx context.Context, e RunOptions, in *report.Input) error {
	if e.Record == nil {
		return nil
	}
	err := p.recordStoredSide(ctx, e, p.Head, p.storedJobs())
	if err != nil || p.Base == nil {
		return err
	}
	return p.recordStoredSide(ctx, e, *p.Base, p.comparedJobs(in.Base))
}

func (p *Prepared) recordStoredSide(ctx context.Context, e RunOptions, s Checkout, jobs []run.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	targets := map[string]run.Target{} // nobody is called
	for name, cfg := range s.Config.Targets {
		targets[name] = run.Target{Config: cfg}
	}
	untold, err := run.RecordStored(ctx, run.Config{
		Ledger: p.Ledger, Trust: p.trust(s), Targets: targets, Roles: s.Config.Roles.Targets(), Record: e.Record, Now: p.Now,
	}, jobs)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("record what is stored: %w", err)
	}
	e.unrecorded(untold...)
	return nil
}

// unrecorded says of which cases a stored reply could not be recorded.
func (e *RunOptions) unrecorded(keys ...string) {
	for _, key := range keys {
		if e.Unrecorded != nil {
			e.Unrecorded(key)
		}
	}
}

// storedJobs are the cases of head that have a stored verdict.
func (p *Prepared) storedJobs() []run.Job {
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if _, stored := p.headStored[r.HeadDigests.D]; !stored || r.Action != plan.Reuse || r.HeadCase == nil || r.Head.Skip != "" {
			continue
		}
		jobs = append(jobs, run.Job{Case: r.HeadCase, Digests: r.HeadDigests, Target: r.Target, Scope: p.headScope(p.scopeKeyOf(r))})
	}
	return jobs
}

// comparedJobs are the cases of base that head's are compared with and that had a
// stored verdict before the run.
func (p *Prepared) comparedJobs(known map[string]report.Outcome) []run.Job {
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if r.Head == nil || r.BaseCase == nil || r.Base.Skip != "" || len(r.Reasons) == 0 {
			continue
		}
		if o, ok := known[r.Base.ID()]; !ok || !o.Reused {
			continue
		}
		name := p.baseTarget(r)
		jobs = append(jobs, run.Job{Case: r.BaseCase, Digests: r.BaseDigests, Target: name, Scope: p.readScope(p.BaseTrust, p.Base.Config, name)})
	}
	return jobs
}

// baseTarget is the target of a case at base.
func (p *Prepared) baseTarget(r plan.Row) string {
	if r.Base.Target == "" {
		return p.Base.Config.DefaultTarget
	}
	return r.Base.Target
}
