package controller

import (
	"context"
	"slices"

	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/evaluate"
	"github.com/gavel-evals/gavel/controller/progress"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A jobBatch is cases of one side.
type jobBatch struct {
	base bool
	jobs []run.Job
}

// side is what a batch is of in messages.
func (b jobBatch) side() string { return progress.Step{Base: b.base}.Side() }

// makeBatches puts what the plan leaves to be judged into batches: head's cases,
// whose verdicts decide, and then those of base that they are compared with.
// Questions that both sides share go first at base, whose samples head may
// always read, while base may not read what a stranger's head has stored. Where
// nothing may be run there is no batch.
func (e *execution) makeBatches(ctx context.Context) error {
	if e.opts.NotRun != "" {
		return nil
	}
	p := e.p
	if p.req.Invocation != nil && len(p.reuseSince) > 0 {
		if err := p.req.Invocation.Begin(ctx); err != nil {
			return err
		}
	}
	e.withhold()
	head := slices.DeleteFunc(p.headJobs(), p.lacksVerdict(e.in.Head))
	base := slices.DeleteFunc(p.baseJobs(e.in.Base), p.lacksVerdict(e.in.Head))
	askedAtBase := slices.DeleteFunc(p.askedAtBase(), p.lacksVerdict(e.in.Head))
	p.setNeeds(head, base)
	p.setNeeds(nil, askedAtBase)
	if e.host.Breakers == nil {
		e.host.Breakers = &limit.Breakers{}
	}
	e.limiters, e.head = &limit.Limiters{}, e.rosterOf(p.req.Head)
	if p.req.Base != nil {
		e.base = e.rosterOf(*p.req.Base)
	}
	alike, others := split(base, head)
	affected, asked := p.withoutAsked(head)
	// A budget is for what is affected: the cases for which the gate alone asks come last.
	e.left = []jobBatch{{true, alike}, {false, affected}, {true, others}, {true, askedAtBase}, {false, asked}}
	e.progress = progress.Step{Total: len(head) + len(base) + len(askedAtBase), Held: e.limiters.Held}
	e.budget = budget.New(budget.Config{
		Budget: p.req.Head.Config.Budget, Now: p.req.Now,
		Repository: p.req.HeadTrust.Repository, PullRequest: p.req.HeadTrust.PullRequest,
	})
	if e.opts.Observe != nil && e.progress.Total > 0 {
		e.opts.Observe(e.progress)
	}
	return nil
}

func (e *execution) rosterOf(c Checkout) *run.Roster {
	return run.NewRoster(c.Config, func(t config.Target) (target.Target, error) { return e.host.Open(t, c) })
}

// nextBatch returns the batch that is due, and false where none is left. A case of
// base that head has no verdict for is left out.
func (e *execution) nextBatch() (jobBatch, bool) {
	for len(e.left) > 0 {
		b := e.left[0]
		if e.left = e.left[1:]; b.base {
			jobs := slices.DeleteFunc(b.jobs, e.p.lacksVerdict(e.in.Head))
			e.progress.Total -= len(b.jobs) - len(jobs)
			b.jobs = jobs
		}
		if len(b.jobs) > 0 {
			return b, true
		}
	}
	return jobBatch{}, false
}

// runConfig is that of the run of a batch, with its targets opened.
func (e *execution) runConfig(b jobBatch) (run.Config, error) {
	side, names := e.p.req.Head, e.head
	keep := e.p.keepTranscript(e.in.Base)
	if e.opts.Results {
		keep = func(run.Job, verdict.Result) bool { return true }
	}
	if b.base {
		side, names = *e.p.req.Base, e.base
		keep = func(run.Job, verdict.Result) bool { return false } // a report shows head's
	}
	targets, err := names.Targets(b.jobs)
	if err != nil {
		return run.Config{}, err
	}
	var programs evaluate.Programs
	if e.host.Programs != nil {
		programs = e.host.Programs(side)
	}
	return run.Config{
		Ledger: e.p.req.Ledger, Trust: e.p.trust(side), Programs: programs, Targets: targets, Roles: side.Config.Roles.Targets(),
		Budget: e.budget, Revision: revision(side.Commit), Scrub: e.p.Scrub(), Record: e.host.Record, Observe: e.observe(b.base, false),
		Keep: keep, Control: e.opts.Control, Breakers: e.host.Breakers, Limiters: e.limiters, Now: e.p.req.Now,
	}, nil
}

// judgeFunc returns what judges a batch: the host's function, or [run.Run].
func (e *execution) judgeFunc(b jobBatch) func(context.Context, run.Config, []run.Job) ([]run.Outcome, error) {
	if e.host.Judge == nil {
		return run.Run
	}
	return func(ctx context.Context, cfg run.Config, jobs []run.Job) ([]run.Outcome, error) {
		return e.host.Judge(ctx, b.side(), cfg, jobs)
	}
}

// observe returns what reports the cases of one side that have ended, or that have
// been measured again. Then both sides are measured at the same time.
func (e *execution) observe(base, again bool) func(run.Event) {
	hide := e.p.redact()
	return func(ev run.Event) {
		if e.opts.Observe == nil || ev.Outcome == nil {
			return
		}
		e.observing.Lock()
		defer e.observing.Unlock()
		if again {
			e.progress.Again++
		} else {
			e.progress.Done++
		}
		e.progress.Outcome, e.progress.Base = redact.Apply(ev.Outcome, hide), base
		e.opts.Observe(e.progress)
	}
}

// collect keeps the outcomes of a batch, which are in the order of its jobs.
func (e *execution) collect(b jobBatch, outcomes []run.Outcome) {
	into := e.in.Head
	if b.base {
		into = e.in.Base
	} else {
		e.unfinished = e.unfinished || slices.ContainsFunc(outcomes, func(o run.Outcome) bool { return o.Stopped || o.Unrun != "" })
	}
	for i, o := range outcomes {
		out := report.Outcome{Result: o.Result, Usage: o.Spent, Duration: o.Duration, Unrun: o.Unrun}
		if o.Stopped {
			out.Unrun = o.Result.Reason
		}
		if len(o.Transcripts) > 0 {
			out.Transcript = &o.Transcripts[0]
		}
		into[b.jobs[i].Case.ID()] = out
		if o.Unrecorded {
			e.unrecorded(o.Key)
		}
	}
}

// keepTranscript reports whether the report may show how the verdict on a job of head
// came about. It shows no case that passes, except one that base has under the
// same digests with another verdict: such a case of base is known by now.
func (p *Prepared) keepTranscript(base map[string]report.Outcome) func(run.Job, verdict.Result) bool {
	other := map[string]bool{}
	for _, r := range p.Plan.Rows {
		if r.Base == nil || r.BaseDigests.D != r.HeadDigests.D {
			continue
		}
		if was, known := base[r.Base.ID()]; known && was.Result.Verdict != verdict.Pass {
			other[r.HeadDigests.D] = true
		}
	}
	return func(j run.Job, result verdict.Result) bool {
		return other[j.Digests.D] || result.Verdict != verdict.Pass
	}
}
