package controller

import (
	"context"
	"slices"

	"github.com/gavel-evals/gavel/controller/evaluate/evalcase"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/budget"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A judging is what a plan leaves to be judged, in batches: head's cases, whose
// verdicts decide, and then those of base that they are compared with. What both
// sides ask alike goes first at base, whose samples head may always read, while
// base may not read what a stranger's head has stored.
type judging struct {
	p  *Prepared
	e  RunOptions
	in *report.Input
	// budget is that of both sides: both are judged because of head. The
	// configuration that decides for head says what it is.
	budget *budget.Budget
	// left are the batches that are still to be judged.
	left     []jobBatch
	progress Progress
}

// A jobBatch is cases of one side.
type jobBatch struct {
	base bool
	jobs []run.Job
}

// side is what a batch is of in messages.
func (b jobBatch) side() string { return Progress{Base: b.base}.Side() }

func (p *Prepared) newJudging(ctx context.Context, e RunOptions, in *report.Input) (*judging, error) {
	if p.Invocation != nil && len(p.reuseSince) > 0 {
		if err := p.Invocation.begin(ctx); err != nil {
			return nil, err
		}
	}
	p.withhold(e, in)
	head := slices.DeleteFunc(p.headJobs(), p.lacksVerdict(in.Head))
	base := slices.DeleteFunc(p.baseJobs(in.Base), p.lacksVerdict(in.Head))
	p.setNeeds(head, base)
	if e.Breakers == nil {
		e.Breakers = &limit.Breakers{}
	}
	alike, others := split(base, head)
	j := &judging{
		p: p, e: e, in: in, left: []jobBatch{{true, alike}, {false, head}, {true, others}},
		progress: Progress{Total: len(head) + len(base)},
		budget: budget.New(budget.Config{
			Budget: p.Head.Config.Budget, Now: p.Now,
			Repository: p.HeadTrust.Repository, PullRequest: p.HeadTrust.PullRequest,
		}),
	}
	if e.Observe != nil && j.progress.Total > 0 {
		e.Observe(j.progress)
	}
	return j, nil
}

// next returns the batch that is due, and false where none is left. A case of
// base that head has no verdict for is left out.
func (j *judging) next() (jobBatch, bool) {
	for len(j.left) > 0 {
		b := j.left[0]
		if j.left = j.left[1:]; len(j.left) == 0 {
			jobs := slices.DeleteFunc(b.jobs, j.p.lacksVerdict(j.in.Head))
			j.progress.Total -= len(b.jobs) - len(jobs)
			b.jobs = jobs
		}
		if len(b.jobs) > 0 {
			return b, true
		}
	}
	return jobBatch{}, false
}

// config is that of the run of a batch, with its targets opened.
func (j *judging) config(b jobBatch) (run.Config, error) {
	side := j.p.Head
	keep := j.p.keepTranscript(j.in.Base)
	if b.base {
		side = *j.p.Base
		keep = func(run.Job, verdict.Result) bool { return false } // a report shows head's
	}
	targets, err := openTargets(j.e, side, b.jobs)
	if err != nil {
		return run.Config{}, err
	}
	var programs evalcase.Programs
	if j.e.Programs != nil {
		programs = j.e.Programs(side)
	}
	return run.Config{
		Ledger: j.p.Ledger, Trust: j.p.trust(side), Programs: programs, Targets: targets, Roles: side.Config.Roles.Targets(),
		Budget: j.budget, Revision: revision(side.Commit), Scrub: j.e.Scrub, Record: j.e.Record, Observe: j.observe(b.base),
		Keep: keep, Control: j.e.Control, Breakers: j.e.Breakers, Now: j.p.Now,
	}, nil
}

// observe returns what reports the cases of one side that have ended.
func (j *judging) observe(base bool) func(run.Event) {
	hide := j.p.redact()
	return func(ev run.Event) {
		if j.e.Observe == nil || ev.Outcome == nil {
			return
		}
		j.progress.Done++
		j.progress.Outcome, j.progress.Base = redact.In(ev.Outcome, hide), base
		j.e.Observe(j.progress)
	}
}

// collect keeps the outcomes of a batch, which are in the order of its jobs.
func (j *judging) collect(b jobBatch, outcomes []run.Outcome) {
	into := j.in.Head
	if b.base {
		into = j.in.Base
	} else {
		j.p.unfinished = slices.ContainsFunc(outcomes, func(o run.Outcome) bool { return o.Stopped || o.Unrun != "" })
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
			j.e.unrecorded(o.Key)
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
