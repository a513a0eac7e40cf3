package controller

import (
	"context"
	"fmt"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/target"
)

// recordStored passes stored replies of cases that are not judged in this run to
// Record, so that a recording covers the whole report. Judged cases record their own
// replies.
func (e *execution) recordStored(ctx context.Context) error {
	if e.opts.Recorder == nil || e.opts.NotRun != "" {
		return nil
	}
	err := e.recordJobs(ctx, e.p.req.Head, e.p.storedJobs())
	if err != nil || e.p.req.Base == nil {
		return err
	}
	return e.recordJobs(ctx, *e.p.req.Base, e.p.comparedJobs(e.in.Base))
}

func (e *execution) recordJobs(ctx context.Context, c Checkout, jobs []run.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	targets := map[string]run.Target{} // nobody is called
	for name, cfg := range c.Config.Targets {
		targets[name] = run.Target{Config: cfg}
	}
	unrecorded, err := run.RecordStored(ctx, run.Config{
		Ledger: e.p.req.Ledger, Trust: e.p.trust(c), Targets: targets, Roles: c.Config.Roles.Targets(), Record: e.recorder(), Clock: clock.Funcs{NowFunc: e.p.req.Now},
	}, jobs)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("record stored replies: %w", err)
	}
	e.unrecorded(unrecorded...)
	return nil
}

// recorder records replies; nil records nothing.
func (e *execution) recorder() func(name, requestDigest string, req target.Request, reply target.Reply) {
	if e.opts.Recorder == nil {
		return nil
	}
	return e.opts.Recorder.Record
}

// unrecorded reports cases with a stored reply that could not be recorded.
func (e *execution) unrecorded(keys ...string) {
	for _, key := range keys {
		if e.opts.Recorder != nil {
			e.opts.Recorder.Unrecorded(key)
		}
	}
}

// storedJobs returns head's cases with a stored verdict.
func (p *Prepared) storedJobs() []run.Job {
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if _, stored := p.headStored[r.HeadDigests.D]; !stored || r.Action != plan.Reuse || r.HeadCase == nil || r.Head.Skip != "" {
			continue
		}
		jobs = append(jobs, run.Job{Case: r.HeadCase, Digests: r.HeadDigests, Target: r.Target, Scope: p.headScope(p.scopeKeyOf(r)), Selection: r.HeadDigests.Selection(), Kept: r.HeadDigests.Kept()})
	}
	return jobs
}

// comparedJobs returns the cases of base that head is compared with and that had a
// stored verdict before the run.
func (p *Prepared) comparedJobs(known map[string]*report.Outcome) []run.Job {
	var jobs []run.Job
	for _, r := range p.Plan.Rows {
		if r.Head == nil || r.BaseCase == nil || r.Base.Skip != "" || len(r.Reasons) == 0 {
			continue
		}
		if o, ok := known[r.Base.ID()]; !ok || !o.Reused {
			continue
		}
		name := p.baseTarget(r)
		jobs = append(jobs, run.Job{Case: r.BaseCase, Digests: r.BaseDigests, Target: name, Scope: p.readScope(p.req.BaseTrust, p.req.Base.Config, name), Selection: r.BaseDigests.Selection(), Kept: r.BaseDigests.Kept()})
	}
	return jobs
}

// baseTarget returns the target of a case at base.
func (p *Prepared) baseTarget(r plan.Row) string {
	if r.Base.Target == "" {
		return p.req.Base.Config.DefaultTarget
	}
	return r.Base.Target
}
