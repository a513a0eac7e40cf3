package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gavel-evals/gavel/controller/clock"
	"github.com/gavel-evals/gavel/controller/config"
	"github.com/gavel-evals/gavel/controller/confirm"
	"github.com/gavel-evals/gavel/controller/ledger"
	"github.com/gavel-evals/gavel/controller/plan"
	"github.com/gavel-evals/gavel/controller/redact"
	"github.com/gavel-evals/gavel/controller/report"
	"github.com/gavel-evals/gavel/controller/run"
	"github.com/gavel-evals/gavel/controller/run/limit"
	"github.com/gavel-evals/gavel/controller/target"
	"github.com/gavel-evals/gavel/controller/verdict"
)

// A judging is the part of an execution that calls targets.
type judging struct {
	e          *execution
	head, base *side
	// budget is shared by both sides: both are judged because of head. It is set by the
	// configuration that decides for head.
	budget *run.Budget
	// limiters keep the calls of all batches within the targets' limits.
	limiters *limit.Limiters
	breakers *limit.Breakers
	// run pays for the calls.
	run      ledger.Run
	progress observed
	// controls are judged after everything that decides.
	controls step
	// judge judges sides at the same time, in this process or in others. Outcomes
	// have the order of the jobs.
	judge func(ctx context.Context, sides []run.Side) ([][]run.Outcome, error)
}

// A side is head or base during judging.
type side struct {
	Checkout
	is     confirm.Side
	roster *run.Roster
	// revisions is nil if agents have to run the commit of the side.
	revisions *treeRevisions
	trust     ledger.Trust
}

// A jobBatch is a set of jobs of one side.
type jobBatch struct {
	side *side
	jobs []run.Job
}

// newJudging returns the judging of both sides.
func (e *execution) newJudging() *judging {
	p := e.p
	j := &judging{e: e, limiters: &limit.Limiters{}, breakers: cmp.Or(e.opts.Breakers, &limit.Breakers{}), budget: run.NewBudget(run.BudgetConfig{
		Budget: p.req.Head.Config.Budget, Now: p.req.Now,
		Repository: p.req.HeadTrust.Repository, PullRequest: p.req.HeadTrust.PullRequest,
	})}
	j.run = ledger.Run{
		ID: e.opts.ID, Repository: e.opts.Repository, PullRequest: e.opts.PullRequest, Base: p.Plan.Base, Head: p.Plan.Head, Started: p.req.Now(),
	}
	j.progress = observed{tell: e.opts.Observe, hide: p.redact(), step: Progress{Held: j.limiters.Held}}
	j.head = e.side(confirm.Head, p.req.Head)
	if p.req.Base != nil {
		j.base = e.side(confirm.Base, *p.req.Base)
	}
	return j
}

func (e *execution) side(is confirm.Side, c Checkout) *side {
	return &side{
		Checkout: c, is: is, trust: e.p.trust(c), revisions: e.p.newTreeRevisions(c),
		roster: run.NewRoster(c.Config, func(t config.Target) (target.Target, error) { return e.host.Open(t, c) }),
	}
}

// begin returns what is judged, in order; nothing if nothing may be run.
func (e *execution) begin(ctx context.Context, j *judging) ([]step, error) {
	if e.opts.NotRun != "" {
		return nil, nil
	}
	if e.p.req.Invocation != nil && len(e.p.reuseSince) > 0 {
		if err := e.p.req.Invocation.Begin(ctx); err != nil {
			return nil, err
		}
	}
	e.withhold()
	steps := j.steps()
	total := len(j.controls.head) + len(j.controls.base)
	for _, s := range steps {
		total += len(s.head) + len(s.base)
	}
	j.progress.begin(total)
	return steps, nil
}

// A step is what is judged at the same time.
type step struct{ head, base []run.Job }

// steps returns the open jobs of the plan in order. Cases that are open on both sides are
// judged in chunks of the same cases at the same time, so that a bad minute of a provider
// reaches both sides alike. Questions shared by both sides run first at base, since head
// may always read base's samples, while base may not read the ones stored by a stranger's
// head. The budget is for affected cases: cases that only the gate requests come last.
func (j *judging) steps() []step {
	p, known := j.e.p, j.e.in
	head := slices.DeleteFunc(p.headJobs(), p.lacksVerdict(known.Head))
	base := slices.DeleteFunc(p.baseJobs(known.Base), p.lacksVerdict(known.Head))
	askedAtBase := slices.DeleteFunc(p.askedAtBase(), p.lacksVerdict(known.Head))
	head, j.controls.head = p.withoutControls(head)
	askedAtBase, j.controls.base = p.withoutControls(askedAtBase)
	p.setNeeds(head, base)
	p.setNeeds(nil, askedAtBase)
	affected, asked := p.withoutAsked(head)
	alike, others := split(base, head)
	both, alone, rest := p.pair(affected, others)
	size := j.chunkSize(affected)
	var steps []step
	for i := range (len(both.head) + size - 1) / size {
		from, to := i*size, min((i+1)*size, len(both.head))
		steps = append(steps, step{both.head[from:to], both.base[from:to]})
	}
	for chunk := range slices.Chunk(alike, size) {
		shared, others := split(alone, chunk)
		steps, alone = append(steps, step{base: chunk}, step{head: shared}), others
	}
	return append(steps, step{alone, rest}, step{base: askedAtBase}, step{head: asked})
}

// checkTargets returns an error if nothing is known of head and no target of its jobs can be
// opened. Otherwise the cases of such a target are errors. A worker opens its targets itself.
func (j *judging) checkTargets(steps []step) error {
	reused := func(r plan.Row) bool { return r.Action == plan.Reuse }
	if j.e.p.elsewhere || slices.ContainsFunc(j.e.p.Plan.Rows, reused) {
		return nil
	}
	return fault(confirm.Head.String(), j.head.roster.Check(func(yield func(run.Job) bool) {
		for _, s := range steps {
			for _, job := range s.head {
				if !yield(job) {
					return
				}
			}
		}
	}))
}

// chunkSize returns the number of cases in a chunk, which keeps the targets busy.
func (j *judging) chunkSize(jobs []run.Job) int {
	size, counted := 8, map[string]bool{}
	for _, job := range jobs {
		if !counted[job.Target] {
			counted[job.Target] = true
			size += 4 * limit.Concurrency(j.head.Config.Targets[job.Target])
		}
	}
	return size
}

// batches returns a step's jobs by side, without cases of base that have no verdict at head
// by now. Those of the step itself are judged at the same time.
func (j *judging) batches(s step) []jobBatch {
	left := slices.DeleteFunc(s.base, j.e.p.lacksVerdict(j.e.in.Head))
	j.progress.leaveOut(len(s.base) - len(left))
	return slices.DeleteFunc([]jobBatch{{j.head, s.head}, {j.base, left}}, func(b jobBatch) bool { return len(b.jobs) == 0 })
}

// A measuring sets what a run does with the outcomes of a side.
type measuring func(*run.Config, confirm.Side)

// first is the measuring of first measurements.
func (j *judging) first(cfg *run.Config, is confirm.Side) { cfg.Observe = j.progress.ended(is) }

// further is the measuring of further measurements, which are not recorded.
func (j *judging) further(cfg *run.Config, is confirm.Side) {
	cfg.Record, cfg.Observe = nil, j.progress.measured(is)
}

// sides returns the batches with their configurations of the run.
func (j *judging) sides(batches []jobBatch, as measuring) ([]run.Side, error) {
	sides := make([]run.Side, len(batches))
	for i, b := range batches {
		cfg, err := j.config(b)
		if err != nil {
			return nil, fault(b.side.is.String(), err)
		}
		as(&cfg, b.side.is)
		sides[i] = run.Side{Name: b.side.is.String(), Config: cfg, Jobs: b.jobs}
	}
	return sides, nil
}

// again runs batches as further measurements. Outcomes have the order of the jobs.
func (j *judging) again(ctx context.Context, batches []jobBatch) ([][]run.Outcome, error) {
	sides, err := j.sides(batches, j.further)
	if err != nil {
		return make([][]run.Outcome, len(batches)), err
	}
	return j.judge(ctx, sides)
}

// fault says of which sides an error is.
func fault(sides string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("judge %s: %w", sides, err)
}

// config returns a batch's configuration of the run, with its targets opened.
func (j *judging) config(b jobBatch) (run.Config, error) {
	targets, err := b.side.roster.Targets(b.jobs)
	if err != nil {
		return run.Config{}, err
	}
	e := j.e
	var atBase map[string][]string
	if b.side == j.head {
		atBase = e.atBase
	}
	var deployed func(context.Context, config.Target, string) error
	if b.side.revisions != nil {
		deployed = b.side.revisions.check
	}
	return run.Config{
		Ledger: e.p.req.Ledger, Run: j.run, Trust: b.side.trust, Programs: e.host.Programs(b.side.Checkout), Targets: targets, Roles: b.side.Config.Roles.Targets(),
		Budget: j.budget, Revision: revision(b.side.Commit), Deployed: deployed, AtBase: atBase, Scrub: e.p.Scrub(), Record: e.recorder(),
		Keep: j.keep(b.side), Control: e.opts.Control, Breakers: j.breakers, Limiters: j.limiters, Clock: clock.Funcs{NowFunc: e.p.req.Now},
	}, nil
}

// keep returns a function that selects the outcomes of a side whose transcripts are
// needed.
func (j *judging) keep(s *side) func(run.Job, verdict.Result) bool {
	switch {
	case s == j.base:
		return func(run.Job, verdict.Result) bool { return false } // a report shows head's
	case j.e.opts.Results:
		return nil // all
	}
	return j.e.p.keepTranscript(j.e.in.Base)
}

// An observed reports the progress of judging. Both sides may be measured at the same
// time.
type observed struct {
	tell func(Progress) // may be nil
	hide func(string) string
	mu   sync.Mutex
	step Progress // guarded by mu
}

// begin reports the number of cases, unless there are none.
func (o *observed) begin(total int) {
	if o.step.Total = total; o.tell != nil && total > 0 {
		o.tell(o.step)
	}
}

// leaveOut reduces the number of cases by n.
func (o *observed) leaveOut(n int) { o.step.Total -= n }

// ended returns a function that reports the finished cases of a side, and measured one
// that reports the finished further measurements.
func (o *observed) ended(is confirm.Side) func(run.Event) {
	return o.report(is, func(s *Progress) { s.Done++ })
}

func (o *observed) measured(is confirm.Side) func(run.Event) {
	return o.report(is, func(s *Progress) { s.Again++ })
}

func (o *observed) report(is confirm.Side, count func(*Progress)) func(run.Event) {
	return func(ev run.Event) {
		if o.tell == nil || ev.Outcome == nil {
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		count(&o.step)
		o.step.Outcome, o.step.Base = redact.Apply(ev.Outcome, o.hide), is == confirm.Base
		o.tell(o.step)
	}
}

// collectAll collects the outcomes of batches.
func (e *execution) collectAll(batches []jobBatch, outcomes [][]run.Outcome) (complete bool) {
	complete = true
	for i, b := range batches {
		complete = e.collect(b, outcomes[i]) && complete
	}
	return complete
}

// collect adds a batch's outcomes, in the order of its jobs, to its side. It reports
// whether nothing is left for the next run.
func (e *execution) collect(b jobBatch, outcomes []run.Outcome) (complete bool) {
	complete = true
	known := e.in.Head
	if b.side.is == confirm.Base {
		known = e.in.Base
	}
	for i, o := range outcomes {
		out := &report.Outcome{Result: o.Result, Usage: o.Spent, Saved: o.Saved, Effort: o.Effort, Duration: o.Duration, Unrun: o.Unrun, Failed: o.Fault.At, Retry: o.Fault.Retry}
		out.EffortUSD = run.EffortCost(o.Effort, b.side.Config.Targets[b.jobs[i].Target].Price)
		if o.Stopped {
			out.Unrun = o.Result.Reason
		}
		if len(o.Transcripts) > 0 {
			out.Transcript = &o.Transcripts[0]
		}
		known[b.jobs[i].Case.ID()] = out
		complete = complete && (b.side.is == confirm.Base || !o.Stopped && o.Unrun == "")
		if o.Unrecorded {
			e.unrecorded(o.Key)
		}
	}
	return complete
}

// keepTranscript returns a function that reports whether the report may explain the
// verdict of a job of head. It explains no passing case, except one with another
// verdict at base under the same digests, which is known by now.
func (p *Prepared) keepTranscript(base map[string]*report.Outcome) func(run.Job, verdict.Result) bool {
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
